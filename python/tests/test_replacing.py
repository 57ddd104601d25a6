"""No file is replaced that the same command did not make: it is refused before anything runs."""

import json
import os
import shlex
from pathlib import Path

import pytest
from commands import EVERY

import ssdlab as package
from ssdlab import InputError, delivery, files, forms, portable

RUN = "--set workload.requests=300 --set device.blocks_per_plane=32"
FOREIGN = "a letter, a thesis, a password\n"
#: What writes a file quickly, by command and option; FILE is its place.
QUICK = {
    ("run", "--json"): (f"run {RUN} --quiet --json FILE", "a.json"),
    ("run", "--out"): (f"run {RUN} --quiet --out out", "out/results.json"),
    ("run", "--out "): (f"run {RUN} --quiet --out out", "out/experiment.toml"),
    ("run", "--requests"): (f"run {RUN} --quiet --requests FILE", "a.parquet"),
    ("sweep", "--out"): (f"sweep {RUN} --quiet --vary run.seed=1,2 --out FILE", "a.csv"),
    ("sweep", "--out "): (f"sweep {RUN} --quiet --vary run.seed=1,2 --out FILE", "a.parquet"),
    ("sweep", "--json"): (f"sweep {RUN} --quiet --vary run.seed=1,2 --json FILE", "a.json"),
    ("cache", "--json"): ("cache --json FILE", "a.json"),
    ("compare", "--json"): ("compare made made --quiet --json FILE", "a.json"),
    ("compare", "--plot"): ("compare made made --quiet --plot FILE", "a.png"),
    ("compare", "--plot "): ("compare made made --quiet --plot FILE", "a.svg"),
    ("cost", "--json"): ("cost made --device-dollars 9 --json FILE", "a.json"),
    ("cost", "--plot"): ("cost made --device-dollars 9 --plot FILE", "a.pdf"),
    ("paper", "--json"): ("paper gray --json FILE", "a.json"),
    ("paper", "--report"): ("paper gray --report FILE", "a.html"),
    ("reliability", "--json"): (
        "reliability agrawal2008-array-6 --set device.redundancy=parity --groups 2 --years 1 "
        "--quiet --json FILE",
        "a.json",
    ),
    ("report", "--out"): ("report made --out FILE", "a.html"),
    ("report", "--out "): ("report made made --out FILE", "a.html"),
    ("trace info", "--json"): ("trace info t.csv --quiet --json FILE", "a.json"),
    ("trace info", "--plot"): ("trace info t.csv --quiet --plot FILE", "a.png"),
    ("trace head", "--json"): ("trace head t.csv --json FILE", "a.json"),
    ("trace convert", "OUT"): ("trace convert t.csv FILE --quiet", "a.parquet"),
}
#: What takes long, or does not say who wrote it: only the refusal is looked at.
REFUSED = {
    ("cliff", "--json"): ("cliff samsung-980pro --json FILE", "a.json"),
    ("cliff", "--plot"): ("cliff samsung-980pro --plot FILE", "a.png"),
    ("retention", "--json"): ("retention tlc-client --for 1y --json FILE", "a.json"),
    ("retention", "--plot"): ("retention tlc-client --for 1y --plot FILE", "a.png"),
    ("calibrate", "--json"): ("calibrate t.csv --json FILE", "a.json"),
    ("calibrate", "--out"): ("calibrate t.csv --out FILE", "a.toml"),
    ("calibrate", "--plot"): ("calibrate t.csv --plot FILE", "a.png"),
    ("ask", "--json"): ("ask t.csv --json FILE", "a.json"),
    ("pts", "--json"): ("pts samsung-pm9a3 --json FILE", "a.json"),
    ("pts", "--out"): ("pts samsung-pm9a3 --out FILE", "a.html"),
    ("choose", "--json"): ("choose --trace t.csv --json FILE", "a.json"),
    ("plan", "--json"): ("plan --trace t.csv --json FILE", "a.json"),
    ("plan", "--out"): ("plan --trace t.csv --out FILE", "a.html"),
    ("consolidate", "--json"): ("consolidate --tenant t.csv --tenant t.csv --json FILE", "a.json"),
    ("consolidate", "--out"): ("consolidate --tenant t.csv --tenant t.csv --out FILE", "a.html"),
    ("protect", "--json"): ("protect --trace t.csv --json FILE", "a.json"),
    ("protect", "--out"): ("protect --trace t.csv --out FILE", "a.html"),
    ("crash", "--json"): ("crash --app sqlite --json FILE", "a.json"),
    ("device check", "--json"): ("device check samsung-pm9a3 --json FILE", "a.json"),
    ("device compare-sheets", "--json"): ("device compare-sheets s.toml --json FILE", "a.json"),
    ("device from-datasheet", "--json"): ("device from-datasheet s.toml --json FILE", "a.json"),
    ("device from-datasheet", "--out"): ("device from-datasheet s.toml --out FILE", "a.toml"),
    ("endurance", "--json"): ("endurance tlc-client --class enterprise --json FILE", "a.json"),
    ("serve overhead", "FILE"): ("serve overhead FILE", "a.json"),
    ("paper", "--plot"): ("paper gray --plot FILE", "a.png"),
    ("placement", "--json"): ("placement --trace t.csv --json FILE", "a.json"),
    ("placement", "--plot"): ("placement --trace t.csv --plot FILE", "a.png"),
    ("serve", "--json"): ("serve --device null --run true --json FILE", "a.json"),
    ("serve", "--record"): ("serve --device null --run true --record FILE", "a.parquet"),
    ("size", "--json"): ("size --trace t.csv --p99 2ms --json FILE", "a.json"),
    ("size", "--out"): ("size --trace t.csv --p99 2ms --out FILE", "a.toml"),
    ("size", "--plot"): ("size --trace t.csv --p99 2ms --plot FILE", "a.png"),
    ("trace convert", "OUT "): ("trace convert t.csv FILE --to fio", "a.iolog"),
    ("why", "--json"): ("why made --json FILE", "a.json"),
    ("view", "--record"): ("view cleaning --record FILE", "a.html"),
}
LIVE = ("crash", "serve overhead", "serve", "view")


@pytest.fixture
def place(tmp_path, ssdlab):
    """A directory with what the commands read, beside which they write."""
    (tmp_path / "t.csv").write_text("128166372003061629,host,0,Read,0,4096,100\n" * 3)
    assert ssdlab(*f"run {RUN} --quiet --out made".split()).returncode == 0
    return tmp_path


def words(row, *more):
    line, name = row
    return [*shlex.split(line.replace("FILE", name)), *more]


def needs(words):
    if words in LIVE and not portable.HAS_LIVE_DEVICE:
        pytest.skip("this build has no live device")


def test_every_option_that_writes_a_file_is_looked_at():
    """It is whatever comes with --force; the option --keep makes a directory that is new."""
    found = set()
    for command, it in EVERY:
        options = {param.opts[-1] for param in it.params}
        if "--force" in options:
            outputs = {"--json", "--plot", "--report", "--record", "--out"}
            found |= {(" ".join(command), option) for option in outputs & options}
    found.add(("run", "--requests"))  # elsewhere this says how many
    known = {(name, option.strip()) for name, option in QUICK | REFUSED}
    assert {it for it in known if it[1].startswith("--")} == found


@pytest.mark.parametrize(("of", "option"), [*QUICK, *REFUSED])
def test_a_file_of_somebody_else_is_refused_before_anything_runs(place, ssdlab, of, option):
    row = (QUICK | REFUSED)[of, option]
    needs(of)
    file = place / row[1]
    file.parent.mkdir(exist_ok=True)
    file.write_text(FOREIGN)
    before = sorted(os.listdir(place))
    done = ssdlab(*words(row))
    assert done.returncode == 2, done
    assert done.stderr.count("\n") == 1 and done.stdout == ""
    assert str(row[1]) in done.stderr and "--force" in done.stderr
    assert "seems to be text" in done.stderr and "password" not in done.stderr
    assert file.read_text() == FOREIGN and sorted(os.listdir(place)) == before


@pytest.mark.parametrize(("of", "option"), QUICK)
def test_what_the_same_command_made_is_replaced_and_the_rest_by_force(place, ssdlab, of, option):
    row = QUICK[of, option]
    file = place / row[1]
    for _ in range(2):
        done = ssdlab(*words(row))
        assert done.returncode in (0, 1) and done.stderr == "", done
    made = file.read_bytes()
    file.write_text(FOREIGN)
    done = ssdlab(*words(row, "--force"))
    assert done.returncode in (0, 1) and done.stderr == "", done
    assert abs(len(file.read_bytes()) - len(made)) < 200
    # What is empty may be replaced: so is what mktemp makes.
    file.write_bytes(b"")
    assert ssdlab(*words(row)).stderr == ""


@pytest.mark.parametrize("one", QUICK)
def test_one_command_does_not_replace_what_another_made(place, ssdlab, one):
    other = ("sweep" if one[0] == "run" else "run", "--json")
    row, line = QUICK[one], QUICK[other][0]
    assert ssdlab(*words((line, "x.json"))).returncode == 0
    file = place / row[1]
    file.parent.mkdir(exist_ok=True)
    os.rename(place / "x.json", file)
    before = file.read_bytes()
    done = ssdlab(*words(row))
    assert done.returncode == 2 and f"ssdlab {other[0]}" in done.stderr, done
    assert file.read_bytes() == before


# Sweeps


def sweep(ssdlab, *more):
    return ssdlab("sweep", *RUN.split(), "--quiet", "--out", "s.csv", *more)


def test_a_sweep_goes_on_is_extended_or_is_refused(ssdlab, tmp_path):
    def points():
        lines = (tmp_path / "s.jsonl").read_text().splitlines()
        return [json.loads(line)["parameters"] for line in lines]

    assert sweep(ssdlab, "--vary", "run.seed=1..3").returncode == 0
    assert sweep(ssdlab, "--vary", "run.seed=1..4").returncode == 0
    assert points() == [{"run.seed": seed} for seed in range(1, 5)]
    for vary, lost in (("run.seed=2..4", 1), ("run.seed=11..40", 4), ("device.channels=2,4", 4)):
        done = sweep(ssdlab, "--vary", vary)
        assert done.returncode == 2 and done.stderr.count("\n") == 1, done
        assert f"s.jsonl: has {lost} point" in done.stderr and "--force" in done.stderr
        assert len(points()) == 4
    assert sweep(ssdlab, "--vary", "run.seed=1..4", "--set", "device.channels=4").returncode == 2
    assert len(points()) == 4
    assert sweep(ssdlab, "--vary", "run.seed=2..4", "--force").returncode == 0
    assert len(points()) == 3


def test_a_search_goes_on_and_is_not_replaced_by_another(ssdlab, tmp_path):
    pytest.importorskip("optuna")
    search = ["--vary", "device.channels=1..8", "--minimize", "p99", "--search"]
    assert sweep(ssdlab, *search, "3").returncode == 0
    assert sweep(ssdlab, *search, "5").returncode == 0
    kept = (tmp_path / "s.jsonl").read_bytes()
    for more in (["4"], ["5", "--set", "run.seed=3"], ["5", "--minimize", "mean_us"]):
        done = sweep(ssdlab, *search, *more)
        assert done.returncode == 2 and "another sweep" in done.stderr, done
        assert (tmp_path / "s.jsonl").read_bytes() == kept


@pytest.mark.parametrize("content", [FOREIGN, '{"a": 1}\n{"a": 2}\n', '{"key": 7}', "\x00\x01"])
def test_a_foreign_journal_stays(ssdlab, tmp_path, content):
    (tmp_path / "s.jsonl").write_text(content)
    done = sweep(ssdlab, "--vary", "run.seed=1,2")
    assert done.returncode == 2 and "s.jsonl: is there already" in done.stderr
    assert (tmp_path / "s.jsonl").read_text() == content
    assert sweep(ssdlab, "--vary", "run.seed=1,2", "--force").returncode == 0


# Files that come while a command runs


def test_a_file_that_has_come_in_the_meantime_stays(ssdlab, tmp_path, monkeypatch):
    from ssdlab.running import command

    real = command.run_layers

    def run(*arguments, **options):
        (tmp_path / "a.json").write_text(FOREIGN)
        return real(*arguments, **options)

    monkeypatch.setattr(command, "run_layers", run)
    done = ssdlab("run", *RUN.split(), "--json", "a.json")
    assert done.returncode == 1 and "requests in" in done.stdout
    assert (tmp_path / "a.json").read_text() == FOREIGN
    instead = done.stderr.partition("it is in ")[2].partition(" instead")[0]
    assert (
        "is there already" in done.stderr and json.loads(Path(instead).read_text())["schema"] == 1
    )


def test_between_two_looks_nothing_is_replaced(tmp_path, monkeypatch):
    path = tmp_path / "a"
    monkeypatch.setattr(forms, "is_replaceable", lambda *_: False)

    def parts():
        yield b"ours"
        path.write_text(FOREIGN)

    with pytest.raises(files.NotWrittenError, match="already"):
        files.write(path, parts(), ())
    assert path.read_text() == FOREIGN and os.listdir(tmp_path) == ["a"]


def test_from_python_it_is_an_error_unless_forced(tmp_path):
    results = package.run(set={"workload.requests": 50})
    path = tmp_path / "a.json"
    path.write_text(FOREIGN)
    with pytest.raises(OSError, match="already"):
        results.save(path)
    assert path.read_text() == FOREIGN
    results.save(path, force=True)
    results.save(path)
    for write in (
        lambda path, **options: package.Experiment().save(path.with_suffix(".toml"), **options),
        lambda path, **options: package.report(results, path.with_suffix(".html"), **options),
        lambda path, **options: package.trace.write(
            path.with_suffix(".parquet"), at_ns=[1], op=["read"], sector=[0], sectors=[8], **options
        ),
    ):
        for ending in (".toml", ".html", ".parquet"):
            path.with_suffix(ending).write_text(FOREIGN)
        with pytest.raises(OSError, match="already"):
            write(path)
        write(path, force=True)
        write(path)


def test_a_saved_drive_replaces_only_a_saved_drive(ssdlab, tmp_path):
    save = ["--set", "run.precondition=random:1", "--set", "run.save_drive=a.drive", "--quiet"]
    (tmp_path / "a.drive").write_text(FOREIGN)
    done = ssdlab("run", *RUN.split(), *save)
    assert done.returncode == 2 and "no drive that ssdlab saved" in done.stderr
    assert (tmp_path / "a.drive").read_text() == FOREIGN
    (tmp_path / "a.drive").write_bytes(b"")
    for _ in range(2):
        assert ssdlab("run", *RUN.split(), *save).returncode == 0


def test_the_way_of_a_command_ends_with_it():
    assert not delivery.is_command() and not delivery.is_forced()
    with delivery.command(force=True):
        assert delivery.is_command() and delivery.is_forced()
        with pytest.raises(InputError, match="does not exist"):
            delivery.refuse(Path("no/such"))
    assert not delivery.is_forced()
