"""The recipes of CONTRIBUTING.md are followed: `recipes/` has an example of some of them, a diff
with what is written by hand. Each applies; at night, all are applied to one copy of the checkout,
which must compile, its tables are refreshed as the recipes say, its tests pass, and what was added
works.

The copy lies in the build directory and stays there: only crates that have changed since are
compiled again, into the same directory as everything else. They have a version of their own: what
is compiled of two checkouts of one version has one name, and either would pass for the other.
"""

import contextlib
import fcntl
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from house import ROOT

TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
RECIPES = sorted((ROOT / "recipes").glob("*.diff"), key=lambda it: it.stem)
#: The words with which CONTRIBUTING.md begins the recipe of each example.
TITLES = {
    "cleaner": "A cleaning policy",
    "counter": "A counter",
    "device": "A kind of device",
    "trace-format": "A trace format",
    "warning": "A warning",
}


def run(*words, cwd, **variables):
    """Runs a command to its end; what it printed."""
    environment = os.environ | {"CARGO_TARGET_DIR": str(TARGET)} | variables
    done = subprocess.run(words, cwd=cwd, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, f"{' '.join(words)}\n{done.stdout[-8000:]}\n{done.stderr[-8000:]}"
    return done.stdout


def cargo(*words, cwd, **variables):
    return run("cargo", *words, cwd=cwd, **variables)


def write_changes(source, copy):
    """Makes `copy` the same as `source`; files that are the same already keep their time."""
    wanted = {it.relative_to(source) for it in source.rglob("*") if it.is_file()}
    for path in {it.relative_to(copy) for it in copy.rglob("*") if it.is_file()} - wanted:
        (copy / path).unlink()
    for path in wanted:
        text, file = (source / path).read_bytes(), copy / path
        if not file.exists() or file.read_bytes() != text:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(text)


def _set_version(checkout):
    """Gives the crates of a checkout a version that no other has."""
    manifest, lock = checkout / "Cargo.toml", checkout / "Cargo.lock"
    own = re.search(r'\[workspace\.package\]\nversion = "(.*)"', manifest.read_text())[1]
    manifest.write_text(manifest.read_text().replace(f'"{own}"', f'"{own}-recipes"', 1))
    crate = rf'(name = "ssdlab-[a-z-]+"\nversion = "{re.escape(own)})"\n(?!source)'
    lock.write_text(re.sub(crate, r'\1-recipes"\n', lock.read_text()))


@pytest.fixture
def followed(tmp_path):
    """A copy of the checkout in which every recipe was followed; one at a time."""
    if shutil.which("cargo") is None or not (ROOT / ".git").exists():
        pytest.skip("needs cargo and a checkout")
    fresh, copy = tmp_path / "fresh", TARGET / "recipes"
    names = run("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", cwd=ROOT)
    for name in filter(None, names.split("\0")):
        if (ROOT / name).is_file():
            (fresh / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, fresh / name)
    for recipe in RECIPES:
        run("git", "apply", str(recipe), cwd=fresh, GIT_CEILING_DIRECTORIES=str(tmp_path))
    _set_version(fresh)
    copy.mkdir(parents=True, exist_ok=True)
    with (TARGET / "recipes.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        write_changes(fresh, copy)
        yield copy


def written(recipe):
    """The files that a recipe's example touches."""
    return re.findall(r"^\+\+\+ b/(.*)$", recipe.read_text(), re.M)


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda it: it.stem)
def test_a_recipe_names_every_file_that_its_example_touches(recipe):
    text = (ROOT / "CONTRIBUTING.md").read_text()
    paragraph = re.search(rf"^\*\*{TITLES[recipe.stem]}\.\*\*.*?(?=\n\n|\Z)", text, re.M | re.S)[0]
    assert f"recipes/{recipe.name}" in paragraph
    for path in written(recipe):
        # Named from any folder on, a new file as NAME, one that depends on the case as its folder.
        named = {path, re.sub(r"[^/]*(\.\w+)$", r"NAME\1", path), f"{Path(path).parent}/"}
        ends = {it[n.start() :] for it in named for n in re.finditer(r"(?<![^/])\w[^/]*/?", it)}
        assert any(f"`{it}`" in paragraph for it in ends), f"{paragraph}\ndoes not name {path}"


def test_every_example_is_of_a_recipe():
    assert [it.stem for it in RECIPES] == sorted(TITLES)


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda it: it.stem)
def test_an_example_applies_to_this_checkout(recipe):
    if not (ROOT / ".git").exists():
        pytest.skip("needs a checkout")
    run("git", "apply", "--check", str(recipe), cwd=ROOT)


def test_a_checkout_in_which_the_recipes_were_followed_compiles(followed):
    cargo(
        "check",
        "--quiet",
        "--locked",
        *packages("ssdlab-devices", "ssdlab-workloads", "ssdlab-lab"),
        cwd=followed,
    )


def packages(*names):
    return [word for name in names for word in ("--package", name)]


@pytest.mark.nightly
def test_a_checkout_in_which_the_recipes_were_followed_works(followed):
    tables = [
        "test", "--locked", "-p", "ssdlab-lab", "--test", "tests", "--", "reference::", "traces::",
    ]  # fmt: skip
    cargo(*tables, cwd=followed, SSDLAB_UPDATE="1")
    cargo(
        "test",
        "--locked",
        *packages("ssdlab-devices", "ssdlab-workloads", "ssdlab-lab"),
        cwd=followed,
    )
    cargo("build", "--locked", "-p", "ssdlab-bindings", cwd=followed)
    shutil.copy(TARGET / "debug" / "lib_core.so", followed / "python" / "ssdlab" / "_core.abi3.so")

    def ssdlab(*words):
        return run(sys.executable, "-m", "ssdlab", *words, cwd=followed / "python")

    assert "least-worn" in ssdlab("list", "cleaners")
    assert "diskmon" in ssdlab("list", "formats")
    assert "partial_writes" in ssdlab("list", "warnings")
    small = ["run", "--json", "-", "--set", "workload.requests=2000", "--set"]
    results = json.loads(ssdlab(*small, "device.blocks_per_plane=64"))
    assert results["flash"]["blocks_opened"] > 0
    results = json.loads(ssdlab(*small, "device.kind=fixed"))
    assert results["host"]["read"]["mean_us"] > 0
    tests = [f"python/tests/test_{it}.py" for it in ("counters", "results", "docstrings", "house")]
    words = [sys.executable, "-m", "pytest", "--quiet", "-p", "no:xdist", *tests]
    with contextlib.chdir(followed):
        run(*words, cwd=followed, PYTHONPATH=str(followed / "python"))
