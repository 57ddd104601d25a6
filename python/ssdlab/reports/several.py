"""The page that compares several runs: a colour per run, and shared scales."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import Any, NamedTuple

from ssdlab import lifetime, pages, readable
from ssdlab.charts import svg
from ssdlab.pages import Section
from ssdlab.reports import parts, timeline, trust
from ssdlab.results import Results, figures, over_time
from ssdlab.results.facts import Facts
from ssdlab.results.records import PARTS, part_labels
from ssdlab.results.verdict import verdict
from ssdlab.settings import settings

#: Keys that only change the recording of a run.
RECORDING = ("run.timeline",)
#: Keys by which a run is named.
MAX_NAMED = 2
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


class Row(NamedTuple):
    """A compared figure."""

    name: str
    #: Function from a run to its figure.
    value: Callable[[Results], float | None]
    unit: str
    #: Words for less and more; True if less is better, None if neither is.
    less: str
    more: str
    less_is_better: bool | None


def _host(key: str) -> Callable[[Results], float | None]:
    return lambda it: it.host.all.get(key)


def _quantile(key: str) -> Callable[[Results], float | None]:
    return lambda it: it.host.all.percentiles_us.get(key)


def _endurance(it: Results) -> float | None:
    life = lifetime.of(it)
    return None if life is None else life.host_bytes


ROWS = (
    Row("mean", _host("mean_us"), "us", "shorter", "longer", True),
    Row("median", _quantile("50"), "us", "shorter", "longer", True),
    Row("p99", _quantile("99"), "us", "shorter", "longer", True),
    Row("p99.9", _quantile("99.9"), "us", "shorter", "longer", True),
    Row("slowest", _host("max_us"), "us", "shorter", "longer", True),
    Row("IOPS", _host("iops"), "rate", "fewer", "more", False),
    Row("throughput", _host("mb_per_s"), "mb_per_s", "less", "more", False),
    Row("write amplification", lambda it: it._amplification(), "times", "less", "more", True),
    Row(
        "blocks erased",
        lambda it: (it.get("flash") or {}).get("block_erases"),
        "count",
        "fewer",
        "more",
        None,
    ),
    Row("units busy", lambda it: Facts(it).busy, "share", "less", "more", None),
    Row("endurance", _endurance, "bytes", "less", "more", False),
)


def page(results: Sequence[Results]) -> str:
    """The report of `results` as HTML."""
    named = [*zip(names(results), results, strict=True)]
    letters = [figures.letter(name) for name, _ in named]
    tables = {part: parts.counted(letters, results, part) for part in parts.TABLES}
    sections = [
        Section(
            "differences",
            "Differences",
            _differences(named),
            f"{letters[-1]} as a multiple of {letters[0]}, on a logarithmic scale; within 2 % is "
            "the same."
            if len(named) == 2
            else f"Each as a multiple of {letters[0]}; within 2 % is the same.",
        ),
        Section(
            "latency",
            _latency_heading(named),
            _latency(named),
            "Latency CDF, all requests.",
        ),
        _where(named),
        Section(
            "over-time",
            "Over time",
            svg.strips(over_time.strips(named)),
            "All strips share one axis of simulated time; all runs share each scale.",
        ),
        Section(
            "flash",
            "Flash activity",
            _each(named, parts.flash, lambda it: it._amplification())
            + tables["flash"]
            + tables["buffer"],
        ),
        Section("disk", "Disk activity", tables["disk"]),
        Section("energy", "Energy", tables["energy"]),
        Section("operations", "Flash operations in the recorded windows", timeline.section(named)),
        Section("wear", "Wear", _wear(named) + tables["wear"] + tables["health"]),
        Section("units", "Unit utilisation", _each(named, parts.units, lambda it: Facts(it).busy)),
        Section(
            "experiment",
            "The experiments",
            _settings(named) + "".join(parts.every_key(name, it) for name, it in named),
            "",
            "s7",
        ),
        Section("trust", "How far to trust these numbers", pages.checks(_checks(named)), "", "s5"),
    ]
    titles = dict.fromkeys(it.experiment.title for it in results)
    title = (
        f"{len(results)} runs of {' and '.join(titles)}"
        if len(titles) <= 2
        else f"{len(results)} runs"
    )
    return pages.document(title, _lead(named, title), sections)


def _settings(named: figures.Named) -> str:
    """Keys that differ between the experiments, a column each."""
    changed = differing([it for _, it in named])
    rows = [[key, *map(parts.setting, values)] for key, values in changed.items()]
    head = ["key", *(figures.letter(name) for name, _ in named)]
    return pages.table(head, rows[: parts.MAX_CHANGED], kind="words") if rows else ""


def differing(results: Sequence[Results]) -> dict[str, list[Any]]:
    """Keys that differ between the experiments, with their values; without `RECORDING`."""
    every = [settings(it.experiment.to_dict()) for it in results]
    keys = dict.fromkeys(key for found in every for key in found)
    return {
        key: [found.get(key) for found in every]
        for key in keys
        if key not in RECORDING and len({str(found.get(key)) for found in every}) > 1
    }


def short_key(key: str) -> str:
    """Short form of a key that `--set` accepts."""
    for prefix in ("device.", "workload."):
        key = key.removeprefix(prefix)
    return key


def names(results: Sequence[Results]) -> list[str]:
    """Name of each run: a letter, and its differing keys."""
    changed = differing(results)
    found = []
    for n, it in enumerate(results):
        letter = LETTERS[n] if n < len(LETTERS) else str(n)
        titles = {other.experiment.title for other in results}
        stated = [
            f"{short_key(key)}={parts.setting(values[n])}"
            for key, values in changed.items()
            if values[n] is not None
        ]
        words = ", ".join(stated)
        if not stated or len(changed) > MAX_NAMED:
            words = (
                it.experiment.title
                if len(titles) > 1 or not stated
                else ", ".join(stated[:MAX_NAMED]) + ", …"
            )
        found.append(f"{letter} {words}")
    return found


def _lead(named: figures.Named, title: str) -> str:
    chips = " ".join(
        f'<span class="chip r-{figures.run_role(n)}">{escape(name)}</span>'
        for n, (name, _) in enumerate(named)
    )
    results = [it for _, it in named]
    changed = differing(results)
    what = "Their experiments do not differ"
    if len(changed) == 1:
        what = f"One key differs, <code>{escape(next(iter(changed)))}</code>"
    elif changed:
        what = f"{len(changed)} keys differ"
    limits = "".join(
        f'<p><b class="r-{figures.run_role(n)}">{escape(figures.letter(name))}</b> '
        f"{escape(verdict(it).sentence)}</p>"
        for n, (name, it) in enumerate(named)
    )
    warned = [
        f"{figures.letter(name)} {message}"
        for name, it in named
        for message in [*it.warning_messages(), *trust.behind(it)]
    ]
    return (
        f'<p class="over">Comparison · {escape(title)}</p><h1>{escape(_sentence(named))}</h1>'
        f'<p class="lede">{what}: {chips}</p>{limits}{pages.warnings(warned)}'
    )


def _sentence(named: figures.Named) -> str:
    """Sentence on the faster run, the ratio, and its cost."""
    done = [(n, it) for n, it in named if it.host.all.requests and it.host.all.mean_us is not None]
    if len(done) < 2:
        return "Too few of these runs completed requests to compare them."
    if len(named) > 2:
        order = sorted(done, key=lambda pair: pair[1].host.all.mean_us)
        (best, fast), (worst, slow) = order[0], order[-1]
        if readable.same(fast.host.all.mean_us, slow.host.all.mean_us):
            return f"All {len(named)} runs have the same mean latency."
        low, high = (readable.time(it.host.all.mean_us) for it in (fast, slow))
        return f"{best} has the lowest mean latency, {low}; {worst} the highest, {high}."
    (a_name, a), (b_name, b) = named
    closed = Facts(a).outstanding is not None and Facts(b).outstanding is not None
    row = ROWS[5] if closed else ROWS[0]
    left, right = row.value(a) or 0.0, row.value(b) or 0.0
    if not left or not right:
        both = (f"{n} {readable.value(v, row.unit)}" for n, v in ((a_name, left), (b_name, right)))
        return f"{row.name[0].upper()}{row.name[1:]}: {', '.join(both)}."
    if readable.same(left, right):
        what = f"the same {'IOPS' if closed else 'mean latency'}, {readable.value(right, row.unit)}"
        return f"{b_name} and {a_name} have {what}{_tails(a, b)}."
    better = (right < left) == bool(row.less_is_better)
    ratio = max(left, right) / min(left, right)
    how = f"{readable.grouped(ratio)} times"
    values = f"{readable.value(right, row.unit)} instead of {readable.value(left, row.unit)}"
    if closed:
        said = f"{b_name} serves {how} {'as many' if better else 'fewer'} IOPS, {values}"
    else:
        said = f"{b_name} is {how} {'faster' if better else 'slower'}, {values} mean latency"
    return f"{said}{_cost(a, b, better)}."


def _tails(a: Results, b: Results) -> str:
    """Sentence on runs of equal mean whose p99 differ."""
    left, right = (it.host.all.percentiles_us["99"] for it in (a, b))
    if not left or not right or readable.same(left, right):
        return ""
    return f", and p99 {readable.time(right)} instead of {readable.time(left)}"


def _cost(a: Results, b: Results, better: bool) -> str:
    """Other changes between the runs."""
    worse, found = [], 0
    for row in ROWS[2:]:
        left, right = row.value(a), row.value(b)
        if row.less_is_better is None or not left or not right:
            continue
        found += 1
        if not readable.same(left, right) and (right < left) != row.less_is_better:
            worse.append(row.name)
    if not better or not found:
        return ""
    if not worse and (trust.reserve(a) or trust.reserve(b)):
        return ""
    return f"; worse is {' and '.join(worse[:2])}" if worse else ", and nothing else is worse"


def _differences(named: figures.Named) -> str:
    results = [it for _, it in named]
    rows = [(row, [row.value(it) for it in results]) for row in ROWS]
    rows = [(row, values) for row, values in rows if any(values)]
    ratios = [
        value / values[0] for _, values in rows for value in values[1:] if value and values[0]
    ]
    ends = (min([1.0, *ratios]) / 1.3, max([1.0, *ratios]) * 1.3)
    heads = "".join(
        f'<th scope="col" class="r-{figures.run_role(n)}">{escape(figures.letter(name))}'
        f'<span class="more"> {escape(name.partition(" ")[2])}</span></th>'
        for n, (name, _) in enumerate(named)
    )
    letters = [figures.letter(name) for name, _ in named]
    pair = len(named) == 2
    low, high = f"1/{readable.grouped(1 / ends[0])}", readable.grouped(ends[1])
    last = f'<th scope="col" class="more">{low} to {high}</th>' if pair else ""
    last += "".join(f'<th scope="col">{escape(letter)} is</th>' for letter in letters[1:])
    body = ""
    for row, values in rows:
        cells = "".join(f"<td>{escape(_text(value, row.unit))}</td>" for value in values)
        first = values[0]
        for position, value in enumerate(values[1:], start=1):
            if pair:
                drawn = ""
                if first and value:
                    same = readable.same(first, value)
                    role = "context" if same else figures.run_role(position)
                    drawn = svg.ratio(value / first, ends, role)
                cells += f'<td class="more">{drawn}</td>'
            cells += _factor(row, first, value)
        body += f'<tr><th scope="row">{escape(row.name)}</th>{cells}</tr>'
    return (
        '<div class="wide"><table class="ends-in-words">'
        f"<thead><tr><th></th>{heads}{last}</tr></thead>"
        f"<tbody>{body}</tbody></table></div>"
    )


def _text(value: float | None, unit: str) -> str:
    return readable.value(value, unit)


def _factor(row: Row, first: float | None, value: float | None) -> str:
    """The ratio, and whether it is an improvement."""
    if not first or not value:
        return f"<td>{readable.ABSENT}</td>"
    if readable.same(first, value):
        return '<td class="info">same</td>'
    word = row.less if value < first else row.more
    ratio = max(first, value) / min(first, value)
    text = f"{readable.grouped(ratio)}\u202f× {word}"
    if row.less_is_better is None:
        return f"<td>{text}</td>"
    better = (value < first) == row.less_is_better
    kind, word = ("pass", "better") if better else ("fail", "worse")
    return f'<td>{text}, <span class="{kind}">{word}</span></td>'


def _latency_heading(named: figures.Named) -> str:
    done = [
        (figures.letter(name), it.host.all)
        for name, it in named
        if it.host.all.requests >= figures.FEWEST_REQUESTS
    ]
    for name, host in done:
        for other, slower in done:
            if name != other and host.max_us and host.max_us < slower.percentiles_us["50"]:
                return f"The maximum latency of {name} is below the median of {other}"
    for name, host in done:
        for other, slower in done:
            tail = slower.percentiles_us["50"]
            if name != other and parts.enough(host, "99") and host.percentiles_us["99"] < tail:
                return f"The p99 of {name} is below the median of {other}"
    known = [(name, host) for name, host in done if parts.enough(host, "99")]
    said = (f"{name} {readable.time(host.percentiles_us['99'])}" for name, host in known)
    return f"p99 latency: {', '.join(said)}" if known else "Latency"


def _latency(named: figures.Named) -> str:
    drawn = figures.latency(named)
    columns = [(figures.letter(name), it.host.all) for name, it in named if it.host.all.requests]
    if not columns:
        return ""
    curves = "" if drawn.empty() else f"<figure>{svg.draw(drawn)}</figure>"
    table = parts.latency_table(columns)
    classes = [(f"{name} {label}", host) for name, label, host in figures.of_classes(named)]
    more = f"<h3>By class of the workload</h3>{parts.latency_table(classes)}" if classes else ""
    return (
        f'<div class="row"><div class="s7">{curves}</div><div class="s5">{table}</div></div>{more}'
    )


def _where(named: figures.Named) -> Section:
    drawn = figures.breakdown(named)
    if drawn.empty() or not any(drawn.values()):
        return Section("time", "", "")
    body = svg.draw(drawn)
    note = "Breakdown of the mean latency, on one scale."
    ranks = ""
    for n, (name, it) in enumerate(named):
        by_rank = figures.bands(it.host.all, labels=part_labels([it]))
        if not by_rank.empty() and any(by_rank.values()):
            ranks += (
                f'<h3 class="r-{figures.run_role(n)}">{escape(name)}, by latency percentile</h3>'
            )
            # Components and colours match the means above.
            ranks += svg.stacks(by_rank, legend=False)
    return Section("time", _part_heading(named), body + ranks, note)


def _part_heading(named: figures.Named) -> str:
    """The component with the largest difference between the first two runs."""
    hosts = [it.host.all for _, it in named[:2]]
    if len(named) > 2 or not all(host.requests for host in hosts):
        return "Where the time goes"
    times = {part: [host.breakdown_us.get(part) or 0.0 for host in hosts] for part in PARTS}
    part = max(times, key=lambda name: abs(times[name][0] - times[name][1]))
    before, after = times[part]
    if readable.same(before, after):
        return "The latency breakdown is the same"
    label = parts.spent(part_labels([it for _, it in named[:2]])[part])
    verb = "falls" if after < before else "grows"
    change = f"from {readable.time(before)} to {readable.time(after)}"
    return f"{label[0].upper()}{label[1:]} {verb} {change}"


def _each(
    named: figures.Named,
    describe: Callable[[Results], tuple[str, str]],
    value: Callable[[Results], float | None],
) -> str:
    """The section of each run, collapsed if `value` does not differ."""
    values = [value(it) for _, it in named]
    first = values[0]
    if first is not None and all(it is not None and readable.same(first, it) for it in values):
        heading = describe(named[0][1])[0]
        shown = _runs(named, describe)
        return (
            f"<p>{escape(heading)}: the same in all runs, within 2 %.</p>"
            f"<details><summary>Per run</summary>{shown}</details>"
        )
    return _runs(named, describe)


def _runs(named: figures.Named, describe: Callable[[Results], tuple[str, str]]) -> str:
    text = ""
    for n, (name, it) in enumerate(named):
        heading, body = describe(it)
        if body or heading:
            letter = figures.letter(name)
            text += f'<h3><span class="r-{figures.run_role(n)}">{escape(letter)}</span> '
            text += f"{escape(heading)}</h3>{body}"
    return text


def _erases(it: Results) -> float | None:
    return (it.get("wear") or {}).get("mean_erases")


def _wear(named: figures.Named) -> str:
    found = {id(it): parts.wear(name, it) for name, it in named}
    return _each(named, lambda it: found[id(it)], _erases)


def _checks(named: figures.Named) -> list[trust.Check]:
    found: list[trust.Check] = []
    for name, it in named:
        letter = figures.letter(name)
        found += [(kind, f"{letter} {what}", stated) for kind, what, stated in trust.checks(it)]
    changed = differing([it for _, it in named])
    seeds: Mapping[str, Any] = {key: values for key, values in changed.items() if key == "run.seed"}
    if seeds:
        found.append(("w", "Different seeds", "the runs do not see the same requests."))
    stated = "for confidence intervals, ssdlab compare A.toml B.toml --repeat 10."
    found.append(("i", "One run each", stated))
    order = {"w": 0, "i": 2}
    return sorted(found, key=lambda check: order.get(check[0], 1))
