"""Makes what is published and checks it: wheels, a source distribution, SHA256SUMS.

They come into dist/release/; nothing is published. `make release` calls it with the Python that has
the tools (`.cache/release`); it needs `rustup target add` for both targets, and refuses a tag with
another version. The wheels, for Linux on x86-64 and on Arm, are linked by zig against the C library
of 2014.

They are checked with auditwheel, twine and check-wheel-contents; the wheel and the source
distribution are installed into empty environments and run, and their results of `bits.py` compared
bit for bit. The wheel for Arm runs where qemu-aarch64 and apt-get are available (`python-for-arm`),
or by a Python that PYTHONS names. A target that cannot be built ends it with status 1; skipped
checks are listed at the end. `LICENSE-THIRD-PARTY` is made each time (`third_party.py`), and a
licence that is not permissive stops the release.
"""

import argparse
import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
OUT = ROOT / "dist" / "release"
BIN = Path(sys.executable).parent
#: The machine of each wheel and, by name, what Rust calls it.
TARGETS = {
    "x86_64": "x86_64-unknown-linux-gnu",
    "aarch64": "aarch64-unknown-linux-gnu",
}
#: The C library of CentOS 7: PEP 600.
C_LIBRARY = 17
PLATFORM = f"manylinux_2_{C_LIBRARY}"
HERE = os.uname().machine
LICENCES = ("LICENSE-APACHE", "LICENSE-MIT", "LICENSE-THIRD-PARTY")
#: A source distribution is text; more than this means that something has slipped in.
MOST_SOURCE_BYTES = 3_000_000

not_checked: list[str] = []


def say(text: str) -> None:
    """A line on what is done now."""
    print(f"release: {text}", flush=True)


def fail(text: str) -> None:
    """End it: nothing that is not whole is left as a release."""
    for sums in OUT.glob("SHA256SUMS"):
        sums.unlink()
    sys.exit(f"release: {text}")


def call(*words: object, **options: object) -> str:
    """What a command prints; its failure ends the release."""
    settings = {"cwd": ROOT, "stdout": subprocess.PIPE, "text": True, **options}
    done = subprocess.run([str(word) for word in words], check=False, **settings)
    if done.returncode:
        print(done.stdout or "", end="")
        fail(f"{Path(str(words[0])).name} {words[1]} failed with status {done.returncode}")
    return str(done.stdout)


def refuse_what_is_missing() -> None:
    """Name every tool and target that is missing, each with the line that brings it."""
    missing = [
        f"{tool}: call it by `make release`, which installs it"
        for tool in ("maturin", "auditwheel", "twine", "check-wheel-contents")
        if not (BIN / tool).exists()
    ]
    installed = call("rustc", "--print", "sysroot").strip()
    missing += [
        f"Rust's {target}: rustup target add {target}"
        for target in TARGETS.values()
        if not Path(installed, "lib", "rustlib", target, "lib").is_dir()
    ]
    if missing:
        fail("it needs\n  " + "\n  ".join(missing))


def version() -> str:
    """The version of the workspace, which is that of everything; it must agree with a tag."""
    found = json.loads(call("cargo", "metadata", "--format-version=1", "--no-deps", "--locked"))
    versions = {package["version"] for package in found["packages"]}
    if len(versions) != 1:
        fail(f"the crates have several versions: {', '.join(sorted(versions))}")
    (one,) = versions
    for tag in call("git", "tag", "--points-at", "HEAD").split():
        if tag.startswith("v") and tag != f"v{one}":
            fail(f"this commit is tagged {tag}, and Cargo.toml says {one}")
    if call("git", "status", "--porcelain").strip():
        not_checked.append("that it is made of a commit: there are changes that are in none")
    return one


def build_wheel(machine: str) -> Path:
    """The wheel of a machine, linked against the old C library."""
    say(f"the wheel for {machine}, {PLATFORM}")
    options = ["--release", "--locked", "--zig", "--compatibility", PLATFORM, "--out", OUT]
    call(BIN / "maturin", "build", *options, "--target", TARGETS[machine], env=environment())
    (wheel,) = OUT.glob(f"*{machine}.whl")
    return wheel


def environment() -> dict[str, str]:
    """In which the tools find each other."""
    return os.environ | {"PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"}


def check_wheel(wheel: Path, machine: str, one: str) -> None:
    """What can be said of a wheel without running it."""
    said = call(BIN / "auditwheel", "show", wheel, stderr=subprocess.STDOUT, env=environment())
    needed = [int(it) for it in re.findall(rf"manylinux_2_(\d+)_{machine}", said)]
    if not needed or max(needed) > C_LIBRARY:
        fail(f"{wheel.name}: not for {PLATFORM}:\n{said}")
    call(BIN / "check-wheel-contents", wheel)
    names = zipfile.ZipFile(wheel).namelist()
    for licence in LICENCES:
        if not any(name.endswith(f".dist-info/licenses/{licence}") for name in names):
            fail(f"{wheel.name}: {licence} is not in it")
    alien = [name for name in names if not name.startswith(("ssdlab/", f"ssdlab-{one}.dist-info/"))]
    if alien or any("tests" in Path(name).parts for name in names):
        fail(f"{wheel.name}: it holds what is not of the package: {alien or 'tests'}")


def stranger() -> dict[str, str]:
    """The environment of somebody who knows nothing of this checkout."""
    ours = ("PYTHON", "VIRTUAL_ENV", "SSDLAB_", "MAKE", "RUSTFLAGS", "CARGO_TARGET_DIR")
    return {name: value for name, value in os.environ.items() if not name.startswith(ours)}


def run_here(package: Path, one: str) -> str:
    """Install a wheel or a source as a stranger does, and use it; the checksums of its results."""
    with tempfile.TemporaryDirectory(prefix="ssdlab-release-") as directory:
        there = {"cwd": directory, "env": stranger()}
        call(sys.executable, "-m", "venv", f"{directory}/venv", **there)
        python = f"{directory}/venv/bin/python"
        call(python, "-m", "pip", "install", "--quiet", package, **there)
        command = f"{directory}/venv/bin/ssdlab"
        said = call(command, "--version", **there).split()
        if one not in said:
            fail(f"{package.name}: it says of itself {' '.join(said)}, not {one}")
        call(command, "run", "--workload", "random-read", "--quiet", "--out", "first", **there)
        run = [command, "run", "--set", "workload.requests=20000", "--quiet", "--check"]
        call(*run, "--out", "second", **there)
        call(python, "-m", "ssdlab", "report", "first", "--out", "first.html", **there)
        return call(python, "-I", ROOT / "packaging" / "bits.py", **there)


def find_python(machine: str) -> list[str]:
    """The words that start a Python of another machine, if one can be had here."""
    script = ROOT / "packaging" / "python-for-arm"
    if machine != "aarch64" or not (shutil.which("apt-get") and shutil.which("dpkg-deb")):
        return []
    if not (shutil.which("qemu-aarch64-static") or shutil.which("qemu-aarch64")):
        return []
    say(f"a Python for {machine}, of Debian's packages")
    words = [str(script), str(ROOT / ".cache" / machine)]
    done = subprocess.run(words, check=False, stdout=subprocess.PIPE, text=True)
    return shlex.split(done.stdout) if done.returncode == 0 else []


def run_elsewhere(wheel: Path, python: list[str]) -> str:
    """The checksums of a wheel of another machine, by a Python of that machine."""
    with tempfile.TemporaryDirectory(prefix="ssdlab-release-") as directory:
        zipfile.ZipFile(wheel).extractall(directory)
        packages = ["click", "rich", "tomli"]
        call(sys.executable, "-m", "pip", "install", "--quiet", "--target", directory, *packages)
        run = [*python, "-m", "ssdlab", "run", "--set", "workload.requests=2000", "--quiet"]
        there = stranger() | {"PYTHONPATH": directory}
        call(*run, "--out", "first", cwd=directory, env=there)
        return call(*python, ROOT / "packaging" / "bits.py", cwd=directory, env=there)


def check_source(archive: Path, one: str) -> str:
    """Build and use a source distribution as a stranger does; the checksums of its results."""
    say("the source distribution builds and runs")
    with tarfile.open(archive) as packed:
        members = packed.getmembers()
        top = f"ssdlab-{one}/"
        for member in members:
            if not member.name.startswith(top) or ".." in member.name or not member.isfile():
                fail(f"{archive.name}: {member.name} does not belong there")
        names = {member.name.removeprefix(top) for member in members}
        for needed in ("Cargo.lock", "LICENSE-APACHE", "LICENSE-MIT", "PKG-INFO", "README.md"):
            if needed not in names:
                fail(f"{archive.name}: {needed} is not in it")
        if archive.stat().st_size > MOST_SOURCE_BYTES:
            fail(f"{archive.name}: {archive.stat().st_size} bytes, at most {MOST_SOURCE_BYTES}")
    # In a target directory of its own: its files have an old time of change, so cargo would take
    # what was compiled from another archive for the present.
    return run_here(archive, one)


def main() -> None:
    """Make a release, and check it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--python",
        metavar="MACHINE=COMMAND",
        action="append",
        default=[],
        help="a Python of another machine, such as aarch64='qemu-aarch64 -L ROOT ROOT/bin/python3'",
    )
    pythons = dict(word.partition("=")[::2] for word in parser.parse_args().python)
    refuse_what_is_missing()
    one = version()
    shutil.rmtree(OUT, ignore_errors=True)
    OUT.mkdir(parents=True)
    say(call(sys.executable, ROOT / "packaging" / "third_party.py").strip())
    archive = OUT / f"ssdlab-{one}.tar.gz"
    call(BIN / "maturin", "sdist", "--out", OUT, stderr=subprocess.DEVNULL, env=environment())
    wheels = {machine: build_wheel(machine) for machine in TARGETS}
    for machine, wheel in wheels.items():
        check_wheel(wheel, machine, one)
    call(BIN / "twine", "check", "--strict", archive, *wheels.values())
    bits = {}
    for machine, wheel in wheels.items():
        if machine == HERE:
            say(f"the wheel for {machine} runs")
            bits[machine] = run_here(wheel, one)
        elif python := shlex.split(pythons.get(machine, "")) or find_python(machine):
            say(f"the wheel for {machine} runs, by {python[0]}")
            bits[machine] = run_elsewhere(wheel, python)
        else:
            not_checked.append(f"that the wheel for {machine} runs: no Python of it (--python)")
    bits["source"] = check_source(archive, one)
    if len(set(bits.values())) > 1:
        fail(f"results differ between {', '.join(bits)}:\n" + "\n".join(bits.values()))
    count = len(bits["source"].splitlines())
    say(f"{count} experiments have the same bits: {', '.join(bits)}")
    published = sorted([archive, *wheels.values()])
    sums = [f"{hashlib.sha256(it.read_bytes()).hexdigest()}  {it.name}\n" for it in published]
    (OUT / "SHA256SUMS").write_text("".join(sums), encoding="utf-8")
    for file in published:
        say(f"{file.relative_to(ROOT)} ({file.stat().st_size / 1e6:.1f} MB)")
    for what in not_checked:
        say(f"NOT CHECKED: {what}")


if __name__ == "__main__":
    main()
