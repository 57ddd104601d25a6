"""The laws of the house that are counts, each with a function that counts.

The table `house_laws.tsv` has a row for each law and place: today's figure, and what it is to
become. A figure only falls. `python python/tests/support/house_laws.py` prints the table with the
figures of the tree beside it; `--lower` writes those that have fallen. A figure that must rise is
written by hand, in a commit of its own that says who needs it.

No comment and no other word for the same thing changes a count: all that is marked `pub` counts
alike, whatever stands in its brackets.
"""

import ast
import re
import sys
from collections import Counter, defaultdict
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import figures
import house
import house_pairs
import house_prose
import house_types

TABLE = Path(__file__).resolve().parents[1] / "house_laws.tsv"
HEAD = "law\tof what\tfigure\taim"

#: By law: what counts it, as figures by place.
LAWS = {}


def law(name):
    """Registers a function that returns the figures of a law by place."""

    def register(count):
        LAWS[name] = cache(count)
        return count

    return register


@dataclass(frozen=True)
class Law:
    """A row of the table."""

    law: str
    place: str
    figure: int
    aim: int | None


def rows(text):
    """The rows of a table."""
    found = []
    for line in text.splitlines()[1:]:
        name, place, figure, aim = line.split("\t")
        found.append(Law(name, place, int(figure), int(aim) if aim != "-" else None))
    return found


def compared(table, counts, of):
    """What is wrong with the rows of the law `of`, in a sentence each."""
    known = {row.place: row.figure for row in table if row.law == of}
    for place in sorted({*known, *counts}):
        figure, count = known.get(place, 0), counts.get(place, 0)
        if count > figure:
            yield f"{of}, {place}: {count}, and the table allows {figure}"
        elif count < figure:
            yield (
                f"{of}, {place}: {count}, and the table still has {figure}: "
                "python python/tests/support/house_laws.py --lower"
            )


law("sentences to rewrite")(house_prose.found)


@law("figures of pages that no command gives")
def loose_figures():
    found = Counter()
    for row in figures.rows(figures.TABLE.read_text(encoding="utf-8")):
        if row.origin in ("given", "measured"):
            found[row.origin] += len(row.figures)
    return found


# Rust


def every_file():
    """Each file of Rust that is no test: its path and its words."""
    for src, crate in house.crates().items():
        for module, words in crate.words.items():
            yield f"{src}/{crate.files[module]}", words


def name_of(src):
    return src.removeprefix("crates/").removesuffix("/src")


def visible(words):
    """The items and fields that are visible outside of their file, and what is handed on."""
    count = 0
    for n, word in enumerate(words):
        if word == "pub":
            after = n + 1
            if words[after : after + 1] == ["("]:
                after = house_types.closing(words, after) + 1
            # A name that is handed on, and the path to it, are counted where the item is declared.
            count += words[after : after + 1] not in (["use"], ["mod"])
    return count


@law("visible items")
def visible_items():
    return {
        name_of(src): sum(visible(words) for words in crate.words.values())
        for src, crate in house.crates().items()
    }


@law("visible items a 1,000 lines")
def visible_share():
    lines = sum(sum(crate.lines.values()) for crate in house.crates().values())
    return {"all crates": -(-1000 * sum(visible_items().values()) // lines)}


@law("writes to fields of other files' types")
def foreign_writes():
    return +Counter(
        {
            name_of(src): len([*house_types.foreign_writes(crate)])
            for src, crate in house.crates().items()
        }
    )


@law("methods and messages in circles of calls")
def circles():
    found = Counter()
    for src, crate in house.crates().items():
        for name, circle in house_types.circles_of_calls(crate):
            found[f"{name_of(src)}: {name}"] += len(circle)
    return found


#: By feature: the words by which code names it, and those of its folder or files.
FEATURES = {
    "SLC cache": "slc",
    "FDP": "fdp",
    "snapshots": "snapshots?|snapshotting",
    "map cache": "map_cache|look_?ups?|map_reads?",
    "ageing": "ageing|retention|media",
    "patrol": "patrol|scrub",
    "bad blocks": "bad_blocks?|block_retirement|spares",
    "parity": "parity",
    "thermal": "thermal|heat",
    "recovery": "recovery|rebuild|checkpoint",
    "log blocks": "log_blocks?|merging",
    "block buffer": "block_buffer",
    "levelling": "levelling",
    "zones": "zoned|zones",
}


def snake(word):
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", word).lower()


@law("files that name a feature, outside its own")
def named_features():
    snaked = {
        path: {snake(word) for word in words if word[:1].isalpha()}
        for path, words in every_file()
        if path.startswith(("crates/ssd/src/", "crates/lab/src/"))
        and not path.startswith("crates/ssd/src/device/")
    }
    found = {}
    for feature, word in FEATURES.items():
        pattern = re.compile(rf"(?:^|_)(?:{word})(?:_|$)")
        found[feature] = sum(
            any(pattern.search(word) for word in words)
            for path, words in snaked.items()
            if not any(pattern.search(part.removesuffix(".rs")) for part in path.split("/"))
        )
    return found


@law("branches on the kind of drive")
def branches_on_kind():
    found = Counter()
    for _, words in every_file():
        found["is_buffered"] += words.count("is_buffered")
        for n, word in enumerate(words):
            if word == "groups" and words[n - 1] == ".":
                before = words[max(0, n - 4) : n - 1]
                found["geometry.groups"] += "geometry" in before
    return found


@law("methods of the largest type")
def largest_type():
    most = Counter()
    for src, crate in house.crates().items():
        for known in house_types.methods_of(crate).values():
            methods = sum(map(len, known.values()))
            most[name_of(src)] = max(most[name_of(src)], methods)
    return most


def traits(words):
    """The traits of a file: how many methods each declares, and the traits that it asks for."""
    for n, word in enumerate(words):
        if word == "trait" and words[n + 1].isidentifier():
            start = words.index("{", n)
            own = words[start : house_types.closing(words, start)].count("fn")
            yield words[n + 1], own, set(words[n + 2 : start])


def with_those_asked_for(declared):
    """By trait: its methods, and those of the traits that it asks for: a trait cut up is one."""

    def reached(name, seen):
        if name in declared and name not in seen:
            seen.add(name)
            for asked in declared[name][1]:
                reached(asked, seen)
        return seen

    return {it: sum(declared[name][0] for name in reached(it, set())) for it in declared}


@law("methods of the largest trait")
def largest_trait():
    declared = {
        name: (own, asked) for _, words in every_file() for name, own, asked in traits(words)
    }
    return {"all crates": max(with_those_asked_for(declared).values())}


@law("fields of the largest struct")
def largest_struct():
    return {
        "all crates": max(
            count for _, words in every_file() for _, count in house_types.structs(words)
        )
    }


@law("structs of more than 15 fields")
def wide_structs():
    found = Counter()
    for src, crate in house.crates().items():
        for words in crate.words.values():
            found[name_of(src)] += sum(n > 15 for _, n in house_types.structs(words))
    return +found


def parameters(words):
    """The functions of a file, and how many parameters each has."""
    for n, word in enumerate(words):
        if word != "fn" or not words[n + 1].isidentifier():
            continue
        start = words.index("(", n)
        depth, count = 0, 0
        inside = words[start + 1 : house_types.closing(words, start)]
        for at, it in enumerate(inside):
            arrow = it == ">" and inside[at - 1] in ("-", "=")
            depth += (it in "([{<") - (it in ")]}>" and not arrow)
            count += depth == 0 and it == "," and at + 1 < len(inside)
        yield words[n + 1], count + bool(inside)


def python_parameters(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            it = node.args
            yield node.name, len(it.posonlyargs) + len(it.args) + len(it.kwonlyargs)


@law("parameters of the longest list")
def longest_list():
    return {
        "Rust": max(count for _, words in every_file() for _, count in parameters(words)),
        "Python": max(
            count
            for text in house.package().values()
            for _, count in python_parameters(house.parsed(text))
        ),
    }


@law("names of types with two meanings")
def two_meanings():
    at = defaultdict(set)
    for path, words in every_file():
        for before, kind, name in zip(["", *words], words, words[1:], strict=False):
            # A type without a mark is a trait's, which each of its `impl`s names again.
            alias = kind == "type" and before in ("pub", ")")
            if name[:1].isupper() and (alias or kind in ("struct", "enum", "trait")):
                at[name].add(path)
    return {"all crates": sum(len(paths) > 1 for paths in at.values())}


@law("names of files that are used more than twice")
def used_names():
    names = Counter(Path(path).stem for path, _ in every_file())
    return {"all crates": sum(n > 2 for name, n in names.items() if name not in ("mod", "lib"))}


@law("matches on numbers that stand for variants")
def decoded():
    return {"all crates": sum(house_types.decodes_numbers(words) for _, words in every_file())}


@law("lints that are waived")
def waived():
    found = Counter()
    for src, crate in house.crates().items():
        for words in crate.words.values():
            pairs = zip(words, words[1:], strict=False)
            found[name_of(src)] += sum(
                it == "(" and word in ("expect", "allow") and words[n - 1] in ("[", ",")
                for n, (word, it) in enumerate(pairs)
            )
    return +found


# Rust and Python

#: A room, and where it lies. Lines are counted in hundreds, rounded up: of code, without comments.
ROOMS = {
    "what devices share": "crates/ssd/src/device",
    "the drive": "crates/ssd/src",
    "arrays": "crates/array/src",
    "caches": "crates/cache_device/src",
    "the table of kinds": "crates/devices/src",
    "disk": "crates/disk/src",
    "law of service times": "crates/service_law/src",
    "engine": "crates/engine/src",
    "workloads": "crates/workloads/src",
    "lab": "crates/lab/src",
    "served devices": "crates/nbd/src",
    "placement": "crates/placement/src",
    "options": "crates/options/src",
    "bindings": "crates/bindings/src",
    "library for C": "crates/capi/src",
    "tests of Rust": "crates",
    "studies": "python/ssdlab/paper",
    "Python": "python/ssdlab",
    "tests of Python": "python/tests",
}


def code_lines(path):
    mark = "#" if path.suffix == ".py" else "//"
    lines = house.text_of(path).splitlines()
    return sum(bool(line.strip()) and not line.lstrip().startswith(mark) for line in lines)


@law("hundreds of lines of a room")
def lines_of_rooms():
    found = Counter()
    outside = {
        f"{src}/{crate.files[it]}" for src, crate in house.crates().items() for it in crate.files
    }
    for path in house.sources("crates/**/*.rs", "python/ssdlab/**/*.py", "python/tests/**/*.py"):
        place = house.place(path)
        room = next(name for name, at in ROOMS.items() if place.startswith(f"{at}/"))
        if path.suffix == ".rs" and place not in outside:
            room = "tests of Rust"
        found[room] += code_lines(path)
    return {room: -(-lines // 100) for room, lines in found.items()}


@law("files of more than 500 lines")
def long_files():
    found = Counter()
    for path in house.sources("crates/**/*.rs", "python/**/*.py"):
        if len(house.text_of(path).splitlines()) > 500:
            found[house.place(path).split("/")[1]] += 1
    return found


@law("lines of the longest file")
def longest_file():
    paths = house.sources("crates/**/*.rs", "python/**/*.py")
    return {"all": max(len(house.text_of(path).splitlines()) for path in paths)}


# What runs


@law("features that are refused")
def refused_features():
    return {drive: len(alone) for drive, (alone, _) in house_pairs.refused().items()}


@law("pairs of features that are refused")
def refused_pairs():
    return {drive: len(pairs) for drive, (_, pairs) in house_pairs.refused().items()}


def printed(table):
    """The table, with the figures of the tree."""
    lines = [f"{'law':44} {'of what':28} {'figure':>7} {'now':>7} {'aim':>5}"]
    for row in table:
        now = LAWS[row.law]().get(row.place, 0)
        aim = "-" if row.aim is None else f"{row.aim:,}"
        lines.append(f"{row.law:44} {row.place:28} {row.figure:7,} {now:7,} {aim:>5}")
    return "\n".join(lines)


def lowered(table):
    """The table with the figures that have fallen, as text; rows without a place any more go."""
    lines = [HEAD]
    for row in table:
        now = min(row.figure, LAWS[row.law]().get(row.place, 0))
        aim = "-" if row.aim is None else row.aim
        if now or row.place in LAWS[row.law]():
            lines.append(f"{row.law}\t{row.place}\t{now}\t{aim}")
    return "\n".join(lines) + "\n"


def main():
    table = rows(TABLE.read_text(encoding="utf-8"))
    if sys.argv[1:] == ["--lower"]:
        TABLE.write_text(lowered(table), encoding="utf-8")
    elif sys.argv[1:]:
        sys.exit("usage: house_laws.py [--lower]")
    else:
        print(printed(table))


if __name__ == "__main__":
    main()
