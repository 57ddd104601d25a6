"""Looks at what is built and tested with: licences, hashes, and advisories where they can be had.

Licences are read from what is resolved and installed, so that this needs no network. Advisories
come from databases on the network: where the program or its database is missing, a line that begins
with SKIPPED says so, and the exit status does not depend on it.
"""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from importlib.metadata import Distribution, distributions
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from third_party import PERMISSIVE, ROOT, is_permissive

LOCKS = ("requirements-dev.txt", "requirements-release.txt", "requirements-build.txt")
#: What a tool beside the product may have too: its code is not part of what is passed on.
OF_TOOLS = PERMISSIVE | {"MPL-2.0", "PSF-2.0", "Python-2.0", "HPND", "LGPL-3.0-or-later", "MIT-CMU"}
#: Words for licences in the metadata of packages without an SPDX expression.
WORDS = {
    "MIT": "MIT",
    "BSD": "BSD-3-Clause",
    "Apache": "Apache-2.0",
    "ISC": "ISC",
    "Mozilla": "MPL-2.0",
    "MPL": "MPL-2.0",
    "Python Software Foundation": "PSF-2.0",
    "PSF": "PSF-2.0",
    "Historical Permission": "HPND",
    "Unlicense": "Unlicense",
    "zlib": "Zlib",
}
SECONDS = 120


def main() -> int:
    """Prints what was found; 1 if a licence or a lock is not as it should be."""
    problems = [*of_crates(), *of_locks(), *of_packages(distributions())]
    for problem in problems:
        print(f"audit: {problem}")
    for line in advisories():
        print(line)
    print(f"audit: {len(problems)} problems with licences and locks")
    return 1 if problems else 0


def of_crates() -> Iterator[str]:
    """Crates, also those that only build or test, whose licence is not permissive."""
    words = ["cargo", "metadata", "--format-version=1", "--locked", "--offline"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        done = subprocess.run(words[:-1], cwd=ROOT, capture_output=True, text=True, check=True)
    for package in json.loads(done.stdout)["packages"]:
        licence = package["license"] or ""
        if package["source"] is not None and not is_permissive(licence):
            yield f"crate {package['name']} {package['version']}: licence {licence or 'unknown'}"


def pinned(name: str) -> dict[str, list[str]]:
    """The packages of a lock with their hashes."""
    found: dict[str, list[str]] = {}
    text = (ROOT / "packaging" / name).read_text(encoding="utf-8").replace("\\\n", " ")
    for line in text.splitlines():
        if match := re.match(r"([a-z0-9._-]+)(?:\[[^]]*\])?==\S+", line):
            found.setdefault(match[1], []).extend(re.findall(r"--hash=sha256:[0-9a-f]{64}", line))
    return found


def of_locks() -> Iterator[str]:
    """Packages of the locks without a hash, and locks that name a place to install from."""
    for name in LOCKS:
        text = (ROOT / "packaging" / name).read_text(encoding="utf-8")
        if re.search(r"^\s*(-i|--\S*index\S*|-f|--find-links|-e|.* @ )", text, re.MULTILINE):
            yield f"{name}: it names a place to install from"
        for package, hashes in pinned(name).items():
            if not hashes:
                yield f"{name}: {package} has no hash"


def of_packages(found: Iterable[Distribution]) -> Iterator[str]:
    """Installed packages that a lock names and whose licence is not one of `OF_TOOLS`."""
    known = {package for name in LOCKS for package in pinned(name)}
    for package in sorted(found, key=lambda it: str(it.metadata["Name"]).lower()):
        name = re.sub(r"[-_.]+", "-", str(package.metadata["Name"])).lower()
        if name not in known:
            continue
        licences = licences_of(package)
        if not licences & OF_TOOLS:
            yield f"package {name} {package.version}: licence {' or '.join(licences) or 'unknown'}"


def licences_of(package: Distribution) -> set[str]:
    """The licences that a package says it has, in the words of SPDX."""
    said = package.metadata.get("License-Expression")
    if said:
        return {it.strip("() ") for it in re.split(r" OR | AND ", said)}
    lines = [it for it in package.metadata.get_all("Classifier") or [] if it.startswith("License")]
    lines += (package.metadata.get("License") or "").splitlines()[:1]
    return {licence for word, licence in WORDS.items() for line in lines if word in line}


def advisories() -> Iterator[str]:
    """What `cargo audit` and `pip-audit` say, each only where it can say anything."""
    lock = str(ROOT / "packaging" / LOCKS[0])
    for what, words in (
        ("crates", ["cargo-audit", "audit", "--quiet", "--file", str(ROOT / "Cargo.lock")]),
        ("packages", ["pip-audit", "--disable-pip", "--require-hashes", "-r", lock]),
    ):
        if shutil.which(words[0]) is None:
            yield f"SKIPPED: advisories about {what}: no {words[0]}"
            continue
        try:
            done = subprocess.run(words, capture_output=True, text=True, timeout=SECONDS, cwd=ROOT)
        except subprocess.TimeoutExpired:
            yield f"SKIPPED: advisories about {what}: the database was not reached in {SECONDS} s"
            continue
        said = (done.stdout + done.stderr).strip()
        state = "none" if done.returncode == 0 else "see below, or the database was not reached"
        yield f"advisories about {what}: {state}"
        if done.returncode:
            yield said


if __name__ == "__main__":
    sys.exit(main())
