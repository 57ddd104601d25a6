"""Presets and files named by the user, as layers."""

from __future__ import annotations

import os

from ssdlab import _core, layers
from ssdlab._core import InputError
from ssdlab.layers import Layer

#: Experiment files of other programs: fio, DiskSpd, MQSim, DiskSim.
OTHERS = (".fio", ".job", ".ini", ".diskspd", ".cmd", ".bat", ".xml", ".parv")
#: Drive files of other programs: FEMU, SimpleSSD and NVMeVirt.
DRIVES = (".sh", ".cfg", ".h")
#: Letters of a file by which it is recognised.
HEAD = 65_536
#: Top-level keys of every data sheet, which experiments only have in sections.
SHEET = {"name", "capacity"}


def is_experiment(path: str | os.PathLike[str]) -> bool:
    """True for a file of an experiment, as opposed to results, by its extension."""
    return os.path.splitext(path)[1] in (".toml", *OTHERS)


def from_experiment(path: str | os.PathLike[str], *, has_other_load: bool = False) -> list[Layer]:
    """Layers of an experiment: TOML, results, a file of fio, DiskSpd, MQSim, DiskSim.

    Results are a file, or the directory of `ssdlab run --out`. If another load replaces a file's
    load, that need not be convertible. A data sheet is its drive under the default load. Raises
    `InputError`.
    """
    from ssdlab import foreign

    if has_other_load and (drive := foreign.drive_of(path)) is not None:
        return drive

    if (read := foreign.reader(path)) is not None:
        from pathlib import Path

        return read(Path(path))
    return [_own_file(path)]


def _own_file(path: str | os.PathLike[str]) -> Layer:
    """A file of this program, a data sheet, or commands of fio; another is refused by its name."""
    layer = layers.from_file(path)
    if os.path.splitext(path)[1] == ".toml":
        return _solved(layer) if is_sheet(layer.text) else layer
    from ssdlab.foreign import fio_command

    beginning = layer.text[:HEAD]
    if fio_command.is_one(beginning):
        from pathlib import Path

        job = fio_command.job(Path(path), layer.text)
        return layers.from_mapping(layer.source, {"workload": {"kind": "fio", "job": job}})[0]
    if (what := _core.known_as(beginning.encode())) is not None:
        raise InputError(f"{path}: this is {what.replace('FILE', os.fspath(path))}")
    return layer


def from_name(section: str, name: str | os.PathLike[str], called: str | None = None) -> Layer:
    """The layer of a preset or, where there is no preset of that name, of a file.

    `called` is its name on the command line, if not the option of that section. Raises
    `InputError`, which lists the presets, for a name that is neither.
    """
    if isinstance(name, str) and (layer := _core.preset_layer(section, name)) is not None:
        return Layer(*layer) if called is None else Layer(f"{called} {name}", layer[1])
    if section == "device" and isinstance(name, str) and "@" in name and not os.path.lexists(name):
        from ssdlab import market

        return market.layer(name, f"{called or '--device'} {name}")
    if isinstance(name, str) and not _looks_like_path(name):
        if section == "device":
            from ssdlab import plugins

            if (path := plugins.device(name)) is not None:
                return Layer(f"{called or '--device'} {name}", layers.from_file(path).text)
        message = _core.unknown_preset(section, name)
        raise InputError(message.replace(f"--{section}", called, 1) if called else message)
    if os.path.splitext(name)[1] in (*OTHERS, *DRIVES):
        from ssdlab import foreign

        part = {"device": foreign.drive_of, "workload": foreign.load_of}[section](name)
        return (from_experiment(name) if part is None else part)[0]
    if os.path.splitext(name)[1] == ".json":
        from ssdlab.results import Results

        Results.load(name)  # names the command for a file without results
        raise InputError(f"{name}: results, not a file of a {section}")
    layer = _own_file(name)
    return _solved(layer) if section == "device" and is_sheet(layer.text) else layer


def is_sheet(text: str) -> bool:
    """True if a text is a data sheet, from which a drive can be derived."""
    lines = [line.strip() for line in text.splitlines()]
    keys = {line.partition("=")[0].strip() for line in lines}
    return keys >= SHEET and not any(line.startswith("[") for line in lines)


def _solved(sheet: Layer) -> Layer:
    """The drive of a data sheet. Raises `InputError` for one that contradicts itself."""
    from ssdlab.datasheet import contradictions, given
    from ssdlab.datasheet.solve import solve

    found = given.parse(sheet.source, sheet.text)
    contradictions.refuse(found)
    return Layer(sheet.source, solve(found).file([f"Solved from {sheet.source}"]))


def _looks_like_path(name: str) -> bool:
    endings = (".toml", *OTHERS, *DRIVES)
    return os.path.lexists(name) or os.sep in name or "/" in name or name.endswith(endings)
