"""Mistakes planted in the engine and the devices, in one build: `make mutants COUNT=150 SEED=1`.

A copy of the crates gets switches: at each place that the seed draws, and at each row of
`mistakes.tsv`, the code asks for the number of the mistake that the environment chooses. One build
so serves all. Each test runs once alone and notes which switches it reaches; a mistake is then
tried with the tests that reach it, the quickest first, until one fails. Digests and references
run after all others: a mistake that they alone find is not found by a law.

The report, `planted_in_rust.tsv`, has a row for each mistake and the test that finds it.
"""

import argparse
import collections
import concurrent.futures
import json
import os
import random
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

from rust_source import Source

TESTS = Path(__file__).resolve().parents[1]
TREE = TESTS.parents[1]
STAGE = TREE / ".cache" / "mutants"
MISTAKES = TESTS / "mistakes.tsv"
REPORT = TESTS / "planted_in_rust.tsv"
#: Crates and how large their part of the draw is.
CRATES = {"ssd": 5, "array": 2, "cache_device": 2, "engine": 2, "workloads": 2}
#: Tests that hold what was, not what must be.
DIGESTS = re.compile(r"\b(digests|reference|peers)::")
#: Tests that count instructions, look at the process, or wait for other programs.
LEFT_OUT = re.compile(r"\b(instructions|speed|memory|threads|compare)::|widths|planted")
SWITCH = """
#[doc(hidden)]
pub mod planted_switch {
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicBool, Ordering};
    static CHOSEN: OnceLock<(usize, Option<String>)> = OnceLock::new();
    static REACHED: [AtomicBool; COUNT] = [const { AtomicBool::new(false) }; COUNT];
    /// True if the mistake of this number is chosen; else it is noted that its place was reached.
    pub fn on(number: usize) -> bool {
        let (chosen, notes) = CHOSEN.get_or_init(|| {
            let chosen = std::env::var("MISTAKE").ok().and_then(|it| it.parse().ok());
            (chosen.unwrap_or(0), std::env::var("REACHED").ok())
        });
        if let Some(notes) = notes
            && !REACHED[number].swap(true, Ordering::Relaxed)
        {
            use std::io::Write;
            let file = std::fs::OpenOptions::new().append(true).create(true).open(notes);
            let mut file = file.unwrap();
            writeln!(file, "{number}").unwrap();
        }
        *chosen == number
    }
}
"""


def line_of(text, place):
    return text.count("\n", 0, place) + 1


def candidates(crate):
    """All changes that the rules allow in a crate."""
    found = []
    for path in sorted((TREE / "crates" / crate / "src").rglob("*.rs")):
        if "tests" in path.relative_to(TREE / "crates").parts or path.stem in (
            "tests",
            "planted",
            "widths",
        ):
            continue
        source = Source(path)
        for rule in (source.binary, source.statements, source.returns):
            for start, end, new, what, at in rule():
                name = (
                    source.function[at]
                    or source.function[min(at + 1, len(source.function) - 1)]
                    or "?"
                )
                found.append((path, start, end, new, what, name))
    return found


def by_hand():
    """The rows of the table."""
    for row in MISTAKES.read_text().splitlines() if MISTAKES.exists() else ():
        if row.startswith("#") or not row.strip():
            continue
        file, old, new, what = row.split("\t")
        path = TREE / "crates" / file
        text = path.read_text()
        if text.count(old) != 1:
            sys.exit(f"{MISTAKES.name}: {file} has {text.count(old)} times: {old}")
        start = text.index(old)
        if old.endswith(";"):
            change = f"if SWITCH {{ {new} }} else {{ {old} }}"
        else:
            change = f"(if SWITCH {{ {new} }} else {{ {old} }})"
        yield path, start, start + len(old), change, f"{old} | {what}", "by hand"


def draw(count, seed):
    """So many changes, of which no two overlap; the rows of the table first."""
    rng = random.Random(seed)
    chosen = list(by_hand())
    whole = sum(CRATES.values())
    for crate, share in CRATES.items():
        pool = candidates(crate)
        # As many of each kind: else sums would be half of them.
        kinds = collections.defaultdict(list)
        for it in pool:
            kind = it[4].rpartition(" | ")[2]
            kinds[kind if kind.startswith(("is ", "answers")) else "operator " + kind].append(it)
        for some in kinds.values():
            rng.shuffle(some)
        wanted, names = round(count * share / whole), sorted(kinds)
        while wanted and any(kinds.values()):
            for name in names:
                while kinds[name] and wanted:
                    it = kinds[name].pop()
                    if all(it[0] != o[0] or it[2] < o[1] or o[2] < it[1] for o in chosen):
                        chosen.append(it)
                        wanted -= 1
                        break
    return chosen


def write(chosen, dropped):
    """The copy of the crates with the switches of all changes that compile."""
    STAGE.mkdir(parents=True, exist_ok=True)
    tracked = subprocess.run(
        [
            "git",
            "ls-files",
            "crates",
            "Cargo.toml",
            "Cargo.lock",
            "rustfmt.toml",
            "clippy.toml",
            "README.md",
            "docs",
            "examples",
            "python/ssdlab",
        ],
        cwd=TREE,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    texts = {TREE / it: None for it in tracked}
    changes = collections.defaultdict(list)
    for number, it in enumerate(chosen, 1):
        if number not in dropped:
            changes[it[0]].append(
                (it[1], it[2], it[3].replace("SWITCH", f"crate::planted_switch::on({number})"))
            )
    for path in texts:
        if not path.is_file():
            continue
        to = STAGE / path.relative_to(TREE)
        if path.suffix != ".rs":
            if not to.exists() or to.stat().st_mtime < path.stat().st_mtime:
                to.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(path, to)
            continue
        text = path.read_text()
        for start, end, new in sorted(changes[path], reverse=True):
            text = text[:start] + new + text[end:]
        for crate in CRATES:
            if path == TREE / "crates" / crate / "src" / "lib.rs":
                text += SWITCH.replace("COUNT", str(len(chosen) + 1))
        to.parent.mkdir(parents=True, exist_ok=True)
        if not to.exists() or to.read_text() != text:
            to.write_text(text)


def cargo(*words):
    env = os.environ | {
        "CARGO_TARGET_DIR": os.fspath(STAGE / "target"),
        "CARGO_INCREMENTAL": "0",
        "RUSTFLAGS": "-A warnings",
    }
    return subprocess.run(
        ["cargo", words[0], "--quiet", "--locked", "--message-format=json", *words[1:]],
        cwd=STAGE,
        capture_output=True,
        text=True,
        env=env,
    )


PACKAGES = [
    f"-p=ssdlab-{it}"
    for it in ("engine", "ssd", "array", "cache-device", "workloads", "devices", "lab")
]


def build(chosen):
    """The programs of tests, and the numbers of changes that did not compile."""
    dropped = set()
    write(chosen, dropped)
    while True:
        ran = cargo("check", *(it for it in PACKAGES), "--lib")
        bad = wrong_places(ran.stdout, chosen, dropped)
        if ran.returncode == 0:
            break
        if not bad:
            sys.exit(ran.stderr + ran.stdout[-4000:])
        dropped |= bad
        write(chosen, dropped)
    ran = cargo("test", *PACKAGES, "--no-run", "--lib", "--tests")
    if ran.returncode:
        sys.exit(ran.stderr + ran.stdout[-4000:])
    programs = []
    for line in ran.stdout.splitlines():
        said = json.loads(line)
        if (
            said.get("reason") == "compiler-artifact"
            and said["executable"]
            and said["profile"]["test"]
        ):
            programs.append((said["executable"], os.path.dirname(said["manifest_path"])))
    return programs, dropped


def wrong_places(said, chosen, dropped):
    """The changes on the lines of which the compiler found errors."""
    bad = set()
    for line in said.splitlines():
        said = json.loads(line)
        message = said.get("message") or {}
        if said.get("reason") != "compiler-message" or message.get("level") != "error":
            continue
        for span in message["spans"]:
            file = STAGE / span["file_name"]
            shown = "\n".join(
                file.read_text().splitlines()[max(0, span["line_start"] - 3) : span["line_end"]]
            )
            bad |= {int(it) for it in re.findall(r"planted_switch::on\((\d+)\)", shown)}
    return bad - dropped


def run(program, home, names, mistake=0, notes=None, patience=600):
    """True if these tests pass."""
    env = os.environ | {"MISTAKE": str(mistake), "SSDLAB_DEPTH": "commit", "RUST_BACKTRACE": "0"}
    if notes:
        env["REACHED"] = os.fspath(notes)
    try:
        return (
            subprocess.run(
                [program, "--exact", "--test-threads=1", "--quiet", *names],
                cwd=home,
                env=env,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=patience,
            ).returncode
            == 0
        )
    except subprocess.TimeoutExpired:
        return False


def tests_of(program, home):
    listed = subprocess.run(
        [program, "--list", "--format", "terse"],
        cwd=home,
        capture_output=True,
        text=True,
        check=True,
    )
    ignored = subprocess.run(
        [program, "--list", "--format", "terse", "--ignored"],
        cwd=home,
        capture_output=True,
        text=True,
        check=True,
    )
    skip = set(ignored.stdout.splitlines())
    return [
        it.removesuffix(": test")
        for it in listed.stdout.splitlines()
        if it.endswith(": test") and it not in skip
    ]


def measure(programs, jobs):
    """Of each test what it reaches and how long it takes."""
    notes = STAGE / "reached"
    shutil.rmtree(notes, ignore_errors=True)
    notes.mkdir()
    all_ = [(p, h, t) for p, h in programs for t in tests_of(p, h) if not LEFT_OUT.search(t)]

    def one(number):
        program, home, name = all_[number]
        began = time.monotonic()
        passed = run(program, home, [name], notes=notes / str(number))
        took = time.monotonic() - began
        file = notes / str(number)
        reached = {int(it) for it in file.read_text().split()} if file.exists() else set()
        return passed, took, reached

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        found = list(pool.map(one, range(len(all_))))
    table = []
    for (program, home, name), (passed, took, reached) in zip(all_, found, strict=True):
        if not passed:
            print(f"left out, because it fails without a mistake: {name}")
        elif reached:
            table.append((took, program, home, name, reached))
    table.sort(key=lambda it: it[0])
    return table


def try_one(number, table, most_seconds):
    """The test that finds a mistake, or "a digest", "nothing", "not reached"."""
    reaching = [it for it in table if number in it[4]]
    laws = [it for it in reaching if not DIGESTS.search(it[3])]
    if not reaching:
        return "not reached", ""
    spent = 0
    for kind, some in ("law", laws), ("digest", [it for it in reaching if DIGESTS.search(it[3])]):
        for took, program, home, name, _ in some:
            if kind == "law" and spent > most_seconds:
                break
            spent += took
            if not run(program, home, [name], mistake=number, patience=10 * took + 20):
                return kind, name
    return "nothing", f"{len(reaching)} tests"


def main():
    """Plants every mistake; prints and writes the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("count", type=int, nargs="?", default=150)
    parser.add_argument("seed", type=int, nargs="?", default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--seconds", type=float, default=120, help="of tests for a mistake at most")
    parser.add_argument("--list", action="store_true", help="show what would be planted")
    asked = parser.parse_args()
    chosen = draw(asked.count, asked.seed)
    if asked.list:
        for path, start, _, _, what, name in chosen:
            print(
                path.relative_to(TREE / "crates"),
                line_of(path.read_text(), start),
                name,
                what,
                sep="\t",
            )
        return 0
    programs, dropped = build(chosen)
    print(f"{len(chosen)} mistakes, of which {len(dropped)} do not compile", flush=True)
    table = measure(programs, asked.jobs)
    print(f"{len(table)} tests reach a mistake, in {sum(it[0] for it in table):.0f} s", flush=True)
    rows = []

    def one(number):
        path, start, _, _, what, name = chosen[number - 1]
        how, by = try_one(number, table, asked.seconds)
        row = (
            path.relative_to(TREE / "crates"),
            line_of(path.read_text(), start),
            name,
            " ".join(what.split()),
            how,
            by,
        )
        print(*row, sep="\t", flush=True)
        return row

    numbers = [it for it in range(1, len(chosen) + 1) if it not in dropped]
    with concurrent.futures.ThreadPoolExecutor(asked.jobs) as pool:
        rows = list(pool.map(one, numbers))
    named = "\n".join("\t".join(map(str, (row[0], *row[2:]))) for row in rows)
    REPORT.write_text(f"file\tfunction\tmistake\tfound by\ttest\n{named}\n")
    counts = collections.defaultdict(collections.Counter)
    for row in rows:
        counts[row[0].parts[0]][row[4]] += 1
    print("crate", "law", "digest", "nothing", "not reached", sep="\t")
    for crate, some in counts.items():
        print(crate, *(some[it] for it in ("law", "digest", "nothing", "not reached")), sep="\t")
    return 0


if __name__ == "__main__":
    sys.exit(main())
