"""Mistakes planted in the arithmetic of Python, which laws must find: `make mutants-python`.

mutmut plants them one at a time in a copy under `.cache`, and runs the tests of laws alone: no
digest, and none that simulates for long. How many are not found of each function stands in
`mutants.tsv` with the reason; that number may only fall.
"""

import collections
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import ssdlab

TESTS = Path(__file__).resolve().parent
TREE = TESTS.parents[1]
STAGE = TREE / ".cache" / "mutants-python"
ROOMS = {
    "costing": ("__init__", "design", "need", "prices", "rule"),
    "rating": ("__init__", "closed_form", "lives"),
    "reliability": ("__init__",),
}
#: A mistake by which a test never ends is found as well.
FOUND = ("killed", "timeout")
LAWS = ("test_cost_laws.py", "test_lives_laws.py", "test_rating_laws.py")
SETTINGS = """
[tool.mutmut]
source_paths = ["src"]
only_mutate = {files}
pytest_add_cli_args = ["-p", "no:cacheprovider", "-x"]
[tool.pytest.ini_options]
testpaths = ["tests"]
addopts = "--import-mode=importlib"
"""


def stage():
    """A copy of the package and of the laws, laid out as mutmut wants it."""
    shutil.rmtree(STAGE, ignore_errors=True)
    # The one that is installed: it has the compiled module.
    shutil.copytree(Path(ssdlab.__file__).parent, STAGE / "src/ssdlab")
    (STAGE / "tests").mkdir()
    for name in LAWS:
        shutil.copy(TESTS / name, STAGE / "tests")
    files = [f"src/ssdlab/{room}/{file}.py" for room, all_ in ROOMS.items() for file in all_]
    (STAGE / "pyproject.toml").write_text(SETTINGS.format(files=files))


def mutmut(*words):
    """What mutmut prints."""
    command = [sys.executable, "-m", "mutmut", *words]
    return subprocess.run(command, cwd=STAGE, capture_output=True, text=True, check=True).stdout


def main():
    """Plants every mistake; the exit status."""
    rows = [line.split("\t") for line in (TESTS / "mutants.tsv").read_text().splitlines()]
    most = {row[0]: int(row[1]) for row in rows if not row[0].startswith("#")}
    stage()
    mutmut("run", "--max-children", str(os.cpu_count() or 1))
    table, missed = collections.Counter(), collections.defaultdict(list)
    for line in mutmut("results", "--all", "true").splitlines():
        name, _, status = line.strip().partition(": ")
        room = name.split(".")[1] if name.startswith("ssdlab.") else ""
        if room not in ROOMS:
            continue
        table[room, status] += 1
        if status not in FOUND:
            missed[re.sub(r"__mutmut_\d+$", "", name).replace("ǁ", ".")].append(name)
    for (room, status), count in sorted(table.items()):
        print(f"{room:<14}{status:<12}{count:>6}")
    more = {at: names for at, names in missed.items() if len(names) > most.get(at, 0)}
    for at, names in more.items():
        print(f"\n{at}: {len(names)} are not found, and {most.get(at, 0)} have a reason")
        print(*map(planted, names), sep="\n")
    return 1 if more else 0


def planted(name):
    """The lines of a mistake that were, and those that are."""
    return "\n".join(
        it for it in mutmut("show", name).splitlines() if re.match(r"[-+](?![-+])", it)
    )


if __name__ == "__main__":
    sys.exit(main())
