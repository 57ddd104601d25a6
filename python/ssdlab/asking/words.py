"""Parses a load and needs in words and numbers.

`70/30 8K random, 20 K IOPS` and `4TB, 5y, p99=2ms`. A table of patterns recognises each piece; the
error for an unknown piece lists the known ones.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from ssdlab._core import InputError
from ssdlab.costing.need import is_latency
from ssdlab.units import TIME

#: Forms of a load, for messages.
AS_LOAD = '"70/30 8K random, 20 K IOPS" or "4K writes, sequential, QD 16, over 200 GB"'
AS_NEED = '"4TB,5y,p99=2ms" or "read.p99.9=1ms"'

_NUMBER = r"(\d+(?:[.,]\d+)?)"
_POWERS = {"": 1, "k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12, "p": 1e15}
#: Separators of pieces.
_FILL = re.compile(r"(?:[\s,;+]|\b(?:and|at|with|of|in|about|the|a|blocks?|load|workload|mix)\b)+")


@dataclass
class Said:
    """Values of a text's pieces, each given once."""

    source: str
    found: dict[str, float | str] = field(default_factory=dict)
    by: dict[str, str] = field(default_factory=dict)

    def put(self, name: str, value: float | str, piece: str) -> None:
        """Record a piece. Raises `InputError` if an earlier piece set the same value."""
        if name in self.found:
            once = f'"{self.by[name]}" and "{piece.strip()}"'
            same = "say the same thing twice" if self.found[name] == value else "contradict"
            raise InputError(f"{self.source}: {once} {same} each other; keep one".replace(
                "twice each other", "twice"))  # fmt: skip
        self.found[name], self.by[name] = value, piece.strip()


#: Handler of a piece with its match.
Taken = Callable[[Said, "re.Match[str]"], None]


def _number(text: str) -> float:
    return float(text.replace(",", "."))


def _reads(said: Said, match: re.Match[str]) -> None:
    first, second = _number(match[1]), _number(match[2])
    if abs(first + second - 100) > 0.5:
        raise InputError(
            f'{said.source}: "{match[0].strip()}" is {first + second:g} % in all; reads and writes '
            "are 100 % together, as in 70/30"
        )
    said.put("read_share", first / 100, match[0])


def _share(said: Said, match: re.Match[str]) -> None:
    percent = _number(match[1])
    if percent > 100:
        raise InputError(f'{said.source}: "{match[0].strip()}": a share is at most 100 %')
    share, word = percent / 100, match[2]
    if word.startswith("ra"):
        said.put("random_share", share, match[0])
    elif word.startswith("s"):
        said.put("random_share", 1 - share, match[0])
    else:
        said.put("read_share", share if word.startswith("re") else 1 - share, match[0])


def _direction(said: Said, match: re.Match[str]) -> None:
    prefix, word = match[1], match[2]
    if prefix:
        said.put("random_share", 1.0 if prefix == "rand" else 0.0, match[0])
    if word != "rw":
        said.put("read_share", 1.0 if word.startswith("r") else 0.0, match[0])


def _pattern(said: Said, match: re.Match[str]) -> None:
    said.put("random_share", 1.0 if match[0].strip().startswith("rand") else 0.0, match[0])


def _block(said: Said, match: re.Match[str]) -> None:
    size = _number(match[1]) * {"k": 2**10, "m": 2**20, "": 1}[(match[2] or "").lower()]
    if size < 512 or size % 512:
        raise InputError(
            f'{said.source}: "{match[0].strip()}": a block is a multiple of 512 B, such as 8K'
        )
    said.put("block_bytes", size, match[0])


def _sized_share(said: Said, match: re.Match[str]) -> None:
    """A share with a size and a pattern between: 100% 512B random read."""
    percent, size, pattern, direction = match.groups()
    text = f"{size}, {percent}% {direction}, {pattern or ''}"
    for name, value in load(text, said.source).items():
        said.put(name, value, match[0])


def _rate(said: Said, match: re.Match[str]) -> None:
    said.put("iops", _number(match[1]) * _POWERS[(match[2] or "").lower()], match[0])


def _throughput(said: Said, match: re.Match[str]) -> None:
    factor = 1024 if match[3] else 1000
    power = {"": 0, "k": 1, "m": 2, "g": 3}[(match[2] or "").lower()]
    said.put("bytes_per_s", _number(match[1]) * factor**power, match[0])


def _put(name: str, factor: float = 1.0) -> Taken:
    return lambda said, match: said.put(name, _number(match[1]) * factor, match[0])


def _zipf(said: Said, match: re.Match[str]) -> None:
    said.put("locality", f"zipf({_number(match[1] or '0.99'):g})", match[0])


def _hot(said: Said, match: re.Match[str]) -> None:
    first, second = (_number(it) / 100 for it in (match[1], match[2]))
    said.put("locality", f"hot-cold({first:g}, {second:g})", match[0])


def _touched(said: Said, match: re.Match[str]) -> None:
    said.put("touches_bytes", _size(match[1], match[2], match[3]), match[0])


def _size(number: str, power: str | None, binary: str | None) -> float:
    exponent = " kmgtp".index((power or " ").lower())
    return _number(number) * float(1024 if binary else 1000) ** exponent


_END = r"(?![\w.])"
_LOAD: list[tuple[str, Taken]] = [
    (rf"hot(?:[- ]cold)? {_NUMBER}\s*/\s*{_NUMBER}", _hot),
    (rf"{_NUMBER}\s*/\s*{_NUMBER}\s*(?:hot(?:[- ]cold)?){_END}", _hot),
    (rf"r?{_NUMBER}\s*[/:w]\s*{_NUMBER}\s*(?:%|reads?/writes?|r/?w)?{_END}", _reads),
    (rf"{_NUMBER}\s*(?:%|percent)\s*(\d+\s*[kKmM]?(?:i?[bB])?)"
     rf"\s+(?:(random|rand|sequential|seq)\s*)?(reads?|writes?){_END}", _sized_share),
    (rf"{_NUMBER}\s*(?:%|percent)\s*(reads?|writes?|random|seq(?:uential)?){_END}", _share),
    (rf"{_NUMBER}\s*([kKmM]?)\s*(?:iops|io/s|ios/s|requests/s|req/s|/s){_END}", _rate),
    (rf"{_NUMBER}\s*([kKmMgG]?)(i?)(?:B/s|Bps|b/s){_END}", _throughput),
    (rf"(?:over|working set|footprint|touching|data)\s*{_NUMBER}\s*([kKmMgGtT])(i?)[bB]{_END}",
     _touched),
    (rf"(?:qd|queue depth|depth|iodepth|outstanding)\s*=?\s*{_NUMBER}{_END}", _put("depth")),
    (rf"{_NUMBER}\s*(?:outstanding|deep){_END}", _put("depth")),
    (rf"{_NUMBER}\s*(?:threads|thread|jobs|job|workers){_END}", _put("threads")),
    (rf"(?:threads|jobs|numjobs)\s*=?\s*{_NUMBER}{_END}", _put("threads")),
    (rf"zipf(?:ian)?\s*(?:\(|=)?\s*{_NUMBER}?\s*\)?{_END}", _zipf),
    (rf"{_NUMBER}\s*([kKmM]?)(?:i?[bB])?{_END}", _block),
    (rf"(rand|seq)?(rw|reads?|writes?)(?:[- ]only| only)?{_END}", _direction),
    (rf"(?:random|sequential|rand|seq){_END}", _pattern),
]  # fmt: skip


def _capacity(said: Said, match: re.Match[str]) -> None:
    said.put("gb", _size(match[1], match[2], match[3]) / 1e9, match[0])


def _latency(said: Said, match: re.Match[str]) -> None:
    kind, figure = match[1], match[2]
    name = figure if kind is None else f"{kind.rstrip('s')}.{figure}"
    if not is_latency(name):
        raise InputError(
            f'{said.source}: "{match[0].strip()}": no result has {name}; there are mean, p50, p90, '
            "p95, p99, p99.9, p99.99, p99.999 and max"
        )
    said.put(name, 1e6 * TIME.parse(f"{said.source}: {name}", match[3]), match[0])


_NEED: list[tuple[str, Taken]] = [
    (rf"gb\s*=\s*{_NUMBER}{_END}", _put("gb")),
    (rf"{_NUMBER}\s*([gGtTpP])(i?)[bB]{_END}", _capacity),
    (rf"(?:years\s*=\s*)?{_NUMBER}\s*(?:years|year|y){_END}", _put("years")),
    (rf"years\s*=\s*{_NUMBER}{_END}", _put("years")),
    (r"(?:(reads?|writes?)[. ])?(mean|max|p[0-9.]*[0-9])\s*(?:<=|=|<|≤|below|under)?\s*"
     rf"([0-9.]+\s*(?:ns|us|µs|μs|ms|s)?){_END}", _latency),
]  # fmt: skip


def load(text: str, source: str = "--load") -> Mapping[str, float | str]:
    """Keys of a load in words: read_share, random_share, block_bytes, iops and so on.

    >>> sorted(load("70/30 8K random, 20 K IOPS").items())[:2]
    [('block_bytes', 8192.0), ('iops', 20000.0)]
    """
    return _pieces(text, source, _LOAD, f"a load is said as in {AS_LOAD}")


def need(text: str, source: str = "--need") -> Mapping[str, float | str]:
    """Values of needs in words: gb, years, latencies in us.

    >>> need("4TB,5y,p99=2ms")
    {'gb': 4000.0, 'years': 5.0, 'p99': 2000.0}
    """
    found = _pieces(text, source, _NEED, f"needs are said as in {AS_NEED}")
    for name in ("years", "gb"):
        if name in found and not float(found[name]) > 0:
            raise InputError(f"{source}: {name} is more than 0")
    _refuse_reversed(found, source)
    return found


def _pieces(
    text: str, source: str, rows: list[tuple[str, Taken]], example: str
) -> Mapping[str, float | str]:
    stated, at = Said(f'{source} "{text}"'), 0
    while at < len(text):
        if gap := _FILL.match(text, at):
            at = gap.end()
            continue
        for pattern, used in rows:
            if match := re.compile(pattern, re.IGNORECASE).match(text, at):
                used(stated, match)
                at = match.end()
                break
        else:
            word = re.match(r"[^\s,;]+", text[at:])
            rest = word[0] if word else text[at:]
            raise InputError(f'{source}: "{rest}" is not understood; {example}')
    if not stated.found:
        raise InputError(f"{source} is empty; {example}")
    return stated.found


def _refuse_reversed(found: Mapping[str, float | str], source: str) -> None:
    """Raise `InputError` if a higher percentile is required to be lower than a smaller one."""
    ranks = {"p50": 50, "p90": 90, "p95": 95, "p99": 99, "p99.9": 99.9, "p99.99": 99.99,
             "p99.999": 99.999, "max": 100}  # fmt: skip
    for kind in ("", "read.", "write."):
        known = [(rank, name) for name, rank in ranks.items() if kind + name in found]
        for (_, low), (_, high) in zip(known, known[1:], strict=False):
            if float(found[kind + high]) < float(found[kind + low]):
                raise InputError(
                    f"{source}: {kind}{high} below {kind}{low} contradicts itself: {high} is never "
                    f"less than {low}; keep one of the two"
                )
