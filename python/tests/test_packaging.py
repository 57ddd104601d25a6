"""What is published: what a release would contain, and what the page on installing says of it."""

import importlib.metadata
import importlib.util
import json
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from ssdlab import _core, toml

ROOT = Path(__file__).parents[2]
PROJECT = toml.parse("it", (ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
#: Extras for those who work on ssdlab.
OURS = {"dev", "docs", "notebook"}


@pytest.fixture(scope="module")
def third_party():
    place = ROOT / "packaging" / "third_party.py"
    spec = importlib.util.spec_from_file_location("third_party", place)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("expression", "is_permissive"),
    [
        ("MIT", True),
        ("MIT/Apache-2.0", True),
        ("GPL-3.0-only", False),
        ("MIT OR GPL-3.0-only", True),
        ("MIT AND GPL-3.0-only", False),
        ("(MIT OR Apache-2.0) AND Unicode-3.0", True),
        ("Apache-2.0 WITH LLVM-exception OR Apache-2.0", True),
        ("none", False),
    ],
)
def test_licences_are_read(third_party, expression, is_permissive):
    assert third_party.is_permissive(expression) == is_permissive


def test_every_library_in_the_extension_module_is_permissive(third_party):
    found = list(third_party.linked(third_party.metadata("x86_64-unknown-linux-gnu")))
    names = {package["name"] for package in found}
    assert {"pyo3", "serde", "zstd-sys", "rustix"} <= names
    assert not names & {"proptest", "serde_derive", "cc", "ssdlab-bindings", "ssdlab-nbd"}
    for package in found:
        assert third_party.is_permissive(package["license"]), package["name"]
        # Some say which licences they have and bring no text.
    (zstd,) = (package for package in found if package["name"] == "zstd-sys")
    assert not any("GNU GENERAL PUBLIC" in text[:80] for text in third_party.texts(zstd))
    assert any("Meta Platforms" in text for text in third_party.texts(zstd))


def test_a_source_distribution_holds_what_a_build_needs(tmp_path):
    maturin = shutil.which("maturin", path=str(Path(sys.executable).parent)) or "maturin"
    if shutil.which(maturin) is None:
        pytest.skip("maturin is not installed")
    words = [maturin, "sdist", "--out", tmp_path]
    subprocess.run(words, cwd=ROOT, check=True, capture_output=True, timeout=120)
    (archive,) = tmp_path.iterdir()
    top = f"ssdlab-{_core.version}/"
    with tarfile.open(archive) as packed:
        names = [member.name for member in packed.getmembers()]
        about = packed.extractfile(f"{top}PKG-INFO").read().decode()
    assert all(name.startswith(top) for name in names)
    inside = {name.removeprefix(top) for name in names}
    assert {"Cargo.lock", "LICENSE-APACHE", "LICENSE-MIT", "README.md", "PKG-INFO"} <= inside
    assert not [name for name in inside if name.startswith(("python/tests", "notebooks", "."))]
    assert not [name for name in inside if name.endswith((".so", ".pyc"))]
    pages = {str(page.relative_to(ROOT)) for page in (ROOT / "docs").rglob("*.md")}
    assert {f"python/ssdlab/catalogue/{page}" for page in pages} <= inside
    listed = subprocess.check_output(["git", "ls-files", "examples", "notebooks"], cwd=ROOT)
    assert {f"python/ssdlab/catalogue/{path}" for path in listed.decode().split()} <= inside
    assert archive.stat().st_size < 3_000_000
    assert "License-Expression: Apache-2.0 OR MIT\n" in about
    assert f"Requires-Python: {PROJECT['requires-python']}\n" in about


def test_every_crate_has_the_version_and_licence_of_the_package():
    words = ["cargo", "metadata", "--format-version=1", "--no-deps", "--locked"]
    done = subprocess.run(words, cwd=ROOT, check=True, capture_output=True)
    packages = json.loads(done.stdout)["packages"]
    found = {(it["version"], it["license"]) for it in packages}
    assert found == {(_core.version, PROJECT["license"])}


def test_every_crate_that_is_a_library_can_be_packaged(tmp_path):
    words = [
        "cargo", "package", "--workspace", "--exclude=ssdlab-bindings", "--exclude=ssdlab-capi",
    ]  # fmt: skip
    words += ["--no-verify", "--allow-dirty", "--offline", f"--target-dir={tmp_path}"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0 and "warning" not in done.stderr, done.stderr
    made = {it.name for it in (tmp_path / "package").glob("*.crate")}
    assert {
        f"ssdlab-{it}-{_core.version}.crate" for it in ("engine", "ssd", "devices", "lab")
    } <= made


def test_the_page_on_installing_is_of_this_version_and_names_every_extra():
    page = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
    assert set(re.findall(r"ssdlab-(\d+\.\d+\.\d+)-", page)) == {_core.version}
    table = page.partition("| extra | for |")[2].partition("\n\n")[0]
    extras = {name for row in table.splitlines() for name in re.findall(r"`(\w+)`", row)}
    assert extras == set(PROJECT["optional-dependencies"]) - OURS
    (least,) = re.findall(r">=(.*)", PROJECT["requires-python"])
    assert f"Python {least} or newer" in page


def test_a_target_that_cannot_be_had_is_not_counted_as_checked(tmp_path):
    fakes = {
        "rustc": "echo /nowhere",
        "rustup": 'test "$3" != x86_64-apple-darwin || { echo no such thing >&2; exit 1; }',
        "cargo-zigbuild": 'case "$*" in *windows*) exit 3;; esac',
        "cargo": "true",
    }
    for name, what in fakes.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{what}\n")
        (tmp_path / name).chmod(0o755)
    words = [ROOT / "packaging" / "check-targets", tmp_path]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert "compiles: aarch64-apple-darwin\n" in done.stdout
    assert "compiles: x86_64-apple-darwin" not in done.stdout
    assert re.search("NOT CHECKED: x86_64-apple-darwin: .*: no such thing\n", done.stderr)
    assert "FAILED: x86_64-pc-windows-gnu\n" in done.stderr


# Locks, licences and advisories


@pytest.fixture(scope="module")
def audit():
    place = ROOT / "packaging" / "audit.py"
    spec = importlib.util.spec_from_file_location("audit", place)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_package_of_the_tests_is_locked_with_its_hashes(audit):
    assert [*audit.of_locks()] == []
    locked = audit.pinned("requirements-dev.txt")
    extras = PROJECT["optional-dependencies"].values()
    asked = [it for extra in (PROJECT["dependencies"], *extras) for it in extra]
    names = {re.match(r"[A-Za-z0-9-]+", it)[0].lower() for it in asked} - {"ssdlab"}
    assert names <= locked.keys()
    for name in ("release", "build"):
        text = (ROOT / "packaging" / f"requirements-{name}.in").read_text()
        lines = [line for line in text.splitlines() if not line.startswith("#")]
        asked = {re.match(r"[A-Za-z0-9-]+", line)[0] for line in lines}
        assert asked <= audit.pinned(f"requirements-{name}.txt").keys()


def test_a_lock_without_a_hash_or_with_a_place_is_a_problem(audit, tmp_path, monkeypatch):
    (tmp_path / "packaging").mkdir()
    for name in audit.LOCKS:
        (tmp_path / "packaging" / name).write_text("--index-url nowhere\nclick==8.1\n")
    monkeypatch.setattr(audit, "ROOT", tmp_path)
    said = [*audit.of_locks()]
    assert len(said) == 2 * len(audit.LOCKS)
    assert "names a place" in said[0] and "click has no hash" in said[1]


def test_a_licence_that_is_not_permissive_is_a_problem(audit, tmp_path):
    for name, licence in (("click", "GPL-3.0-only"), ("rich", "MIT OR GPL-3.0-only")):
        folder = tmp_path / f"{name}-1.dist-info"
        folder.mkdir()
        text = f"Metadata-Version: 2.4\nName: {name}\nVersion: 1\nLicense-Expression: {licence}\n"
        (folder / "METADATA").write_text(text)
    found = importlib.metadata.distributions(path=[str(tmp_path)])
    assert [*audit.of_packages(found)] == ["package click 1: licence GPL-3.0-only"]


def test_what_is_installed_and_compiled_in_has_good_licences(audit):
    assert [*audit.of_crates(), *audit.of_packages(importlib.metadata.distributions())] == []


def test_without_their_programs_advisories_are_skipped_and_say_so(audit, monkeypatch):
    monkeypatch.setattr(audit.shutil, "which", lambda _: None)
    said = [*audit.advisories()]
    assert len(said) == 2 and all(line.startswith("SKIPPED: advisories about") for line in said)
