"""Validates files that ssdlab wrote and reads again. A file may be truncated, edited, or from
another program.

So numbers must be finite and within bounds, sections complete, and the invariants of every run are
checked: percentiles ascend between minimum and maximum, kinds of request add up, shares are at most
1.
"""

from __future__ import annotations

import contextlib
import io
import json
import math
import os
import select
import stat
from collections.abc import Callable, Iterator, Mapping
from typing import IO, TYPE_CHECKING, Any

from ssdlab._core import InputError

if TYPE_CHECKING:
    from pathlib import Path

#: Maximum value in results; its square is still finite.
LARGEST = 1e30
#: Tolerance of sums of floating-point numbers.
ROUNDING = 1e-6
#: Figures that may be negative, by the end of their name.
SIGNED = ("error_percent", "difference", "percent", "slope", "change", "shift", "drift", "first_us")
#: Ratios to a mean, which may exceed 1.
RATIOS = ("range_share", "slope_share")
#: Maximum wait for the writer of a named pipe, seconds.
MOST_WAITED = 10
#: Maximum size of a file, to protect memory.
MOST_BYTES = 1 << 31


class Broken(ValueError):
    """A wrong figure, without the name of its file."""


def opened(path: str | os.PathLike[str]) -> IO[bytes]:
    """An open file; a named pipe needs a writer, as reading would never end without one."""
    file = open(path, "rb", opener=_open)  # noqa: SIM115
    if not stat.S_ISFIFO(os.fstat(file.fileno()).st_mode):
        return file
    os.set_blocking(file.fileno(), True)
    if select.select([file], [], [], MOST_WAITED)[0]:
        return file
    file.close()
    raise InputError(f"{path}: it is a named pipe, and no program writes to it")


def _open(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def text(path: Path) -> str:
    """The text of a file. Raises `InputError` for unreadable files and other content."""
    try:
        if path.stat().st_size > MOST_BYTES:
            raise InputError(f"{path}: larger than {MOST_BYTES >> 30} GiB")
        with opened(path) as file:
            return io.TextIOWrapper(file, encoding="utf-8").read()
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 text (at byte {error.start})") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    except ValueError as error:  # a NUL in the path
        raise InputError(f"{path}: cannot be read: {error}") from None


def parsed(source: object, content: str | bytes) -> Any:
    """JSON with finite, bounded numbers. Raises `InputError`, which names `source`."""
    try:
        return json.loads(
            content, parse_float=_float, parse_int=_whole, parse_constant=_refuse_number
        )
    except Broken as error:
        raise InputError(f"{source}: {error}") from None
    except RecursionError:
        raise InputError(f"{source}: not JSON: it is nested too deep") from None
    except ValueError as error:
        raise InputError(f"{source}: not JSON: {error}") from None


def _float(digits: str) -> float:
    number = float(digits)
    return number if abs(number) < LARGEST else _refuse_number(digits)


def _whole(digits: str) -> int:
    return int(digits) if len(digits) < 31 else _refuse_number(digits)


def _refuse_number(digits: str) -> Any:
    shown = digits if len(digits) <= 20 else f"{digits[:20]}..."
    raise Broken(f"{shown} is no figure of a run")


def refuse_broken_results(source: object, data: Mapping[str, Any]) -> None:
    """Raise `InputError` if results violate an invariant of all runs."""
    try:
        _check(data)
    except Broken as error:
        raise InputError(f"{source}: {error}; the file is damaged or was edited") from None
    except (LookupError, TypeError, AttributeError, RecursionError) as error:
        what = f"{type(error).__name__}: {error}"
        raise InputError(f"{source}: not written by ssdlab, or not whole ({what})") from None


@contextlib.contextmanager
def of_files(*paths: str | os.PathLike[str]) -> Iterator[None]:
    """Context that turns exceptions from malformed files into errors about these files."""
    try:
        yield
    except InputError:
        raise
    except (LookupError, TypeError, AttributeError, ValueError, ArithmeticError) as error:
        what = f"{type(error).__name__}: {error}"
        names = ", ".join(map(str, paths))
        if not names:
            raise
        raise InputError(f"{names}: not written by ssdlab, or not whole ({what})") from error


def _check(data: Mapping[str, Any]) -> None:
    for name, kind in (("version", str), ("experiment", dict), ("host", dict)):
        if not isinstance(data.get(name), kind):
            raise Broken(f"{name} is missing, or has another form than in results")
    _number(data, "simulated_seconds")
    _number(data, "capacity_bytes", lambda bytes_: bytes_ > 0)
    for name, section in data.items():
        if name not in ("experiment", "live"):
            _numbers(name, section)
    sections = (
        "flash", "wear", "energy", "buffer", "map", "disk", "zones", "commands", "array",
        "cache", "power", "elapsed",
    )  # fmt: skip
    for name in sections:
        if name in data and not isinstance(data[name], dict | None):
            raise Broken(f"{name} is no section")
    for name, host in data["host"].items():
        _kind(f"host.{name}", host, data["simulated_seconds"])
    _adds_up(data["host"])
    _flash(data.get("flash") or {})
    _wear(data.get("wear") or {})
    for warning in data.get("warnings") or []:
        if not all(isinstance(warning.get(key), str) for key in ("name", "message")):
            raise Broken("warnings: each has a name and a message")


def _numbers(path: str, value: Any) -> None:
    """Check that figures are non-negative numbers, except `SIGNED` ones, and shares at most 1."""
    if isinstance(value, dict):
        for key, item in value.items():
            _numbers(f"{path}.{key}", item)
    elif isinstance(value, list):
        for item in value:
            _numbers(path, item)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        if value < 0 and not path.endswith(SIGNED):
            raise Broken(f"{path} is {value}, and cannot be below 0")
        is_share = path.endswith(("_share", ".busy", ".efficiency"))
        if is_share and not path.endswith(RATIOS) and value > 1 + ROUNDING:
            raise Broken(f"{path} is {value}, and a share is at most 1")


def _number(data: Mapping[str, Any], key: str, holds: Callable[[Any], bool] = bool) -> None:
    value = data.get(key)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not (value == 0 and holds is bool or holds(value)):
        raise Broken(f"{key} is {_shown(value)}, which is impossible")


def _kind(path: str, kind: Mapping[str, Any], seconds: float) -> None:
    for key in ("requests", "bytes", "failed"):
        if not isinstance(kind.get(key, 0), int):
            raise Broken(f"{path}.{key} is {_shown(kind[key])}, not a whole number")
    for key in ("mean_us", "std_us", "min_us", "max_us", "iops", "mb_per_s"):
        if not isinstance(kind[key], int | float | None):
            raise Broken(f"{path}.{key} is {_shown(kind[key])}, not a number")
    percentiles = kind["percentiles_us"]
    ranks = sorted(percentiles, key=float)
    names = ["min_us", *(f"p{rank}" for rank in ranks), "max_us"]
    values = [kind["min_us"], *(percentiles[rank] for rank in ranks), kind["max_us"]]
    if not kind["requests"]:
        if any(value is not None for value in [*values, kind["mean_us"]]):
            raise Broken(f"{path} has latencies and no requests")
        if kind["iops"]:
            raise Broken(f"{path} has {kind['iops']} requests a second and no requests")
        return
    missing = [name for name, value in zip(names, values, strict=True) if value is None]
    if missing or kind["mean_us"] is None:
        raise Broken(f"{path} has requests and no {(missing or ['mean_us'])[0]}")
    for place in range(1, len(values)):
        if values[place] < values[place - 1] * (1 - ROUNDING):
            below, above = names[place - 1], names[place]
            raise Broken(
                f"{path}: {above} is {values[place]}, less than {below}, {values[place - 1]}"
            )
    low, mean, high = kind["min_us"], kind["mean_us"], kind["max_us"]
    if not low * (1 - ROUNDING) <= mean <= high * (1 + ROUNDING):
        raise Broken(f"{path}: mean_us is {mean}, not between {low} and {high}")
    if kind["std_us"] is not None and kind["std_us"] > (high - low) * (1 + ROUNDING) + ROUNDING:
        raise Broken(f"{path}: std_us is {kind['std_us']}, more than from {low} to {high}")
    parts = [part for part in kind.get("breakdown_us", {}).values() if part is not None]
    if parts and not math.isclose(math.fsum(parts), mean, rel_tol=1e-3, abs_tol=1e-3):
        raise Broken(f"{path}: breakdown_us adds up to {math.fsum(parts)}, and mean_us is {mean}")
    histogram = kind.get("histogram")
    if histogram is not None and sum(histogram["requests"]) != kind["requests"]:
        raise Broken(f"{path}: the histogram has {sum(histogram['requests'])} requests")
    for key, count in (("iops", kind["requests"]), ("mb_per_s", kind.get("bytes", 0) / 1e6)):
        said = kind[key]
        if said is not None and not math.isclose(said * seconds, count, rel_tol=ROUNDING):
            raise Broken(f"{path}.{key} is {said}, and {count:,} in {seconds} s are another rate")


def _adds_up(host: Mapping[str, Any]) -> None:
    for key in ("requests", "bytes"):
        parts = sum(kind[key] for name, kind in host.items() if name != "all")
        if parts != host["all"][key]:
            raise Broken(f"host.all.{key} is {host['all'][key]}, and its kinds have {parts}")


def _flash(flash: Mapping[str, Any]) -> None:
    written, programmed = flash.get("host_bytes_written"), flash.get("bytes_programmed")
    said = flash.get("write_amplification_bytes")
    if written and programmed is not None and said is not None:
        found = programmed / written
        if not math.isclose(said, found, rel_tol=ROUNDING):
            raise Broken(
                f"flash.write_amplification_bytes is {said}, and {programmed} bytes programmed for "
                f"{written} written are {found:.6g}"
            )
    cleaning = flash.get("cleaning") or {}
    if (cleaning.get("victim_pages_moved") or 0) > (cleaning.get("victim_pages") or 0):
        raise Broken("flash.cleaning moved more pages than its victims had")


def _wear(wear: Mapping[str, Any]) -> None:
    mean, most = wear.get("mean_erases"), wear.get("max_erases")
    if mean is not None and most is not None and mean > most * (1 + ROUNDING):
        raise Broken(f"wear.mean_erases is {mean}, more than max_erases, {most}")


def _shown(value: object) -> str:
    if isinstance(value, int | float | bool | None):
        return json.dumps(value)
    return f"a {type(value).__name__}"
