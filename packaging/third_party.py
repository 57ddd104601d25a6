"""Writes LICENSE-THIRD-PARTY: the libraries in the extension module, and their licences.

A wheel holds their code compiled, and their licences ask that they go with it. The file is made
anew for each release from what cargo has resolved. A licence that is not on the list of permissive
ones ends it.
"""

import json
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
TARGETS = ("x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu")
PERMISSIVE = {
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "CDLA-Permissive-2.0",
    "ISC",
    "MIT",
    "MIT-0",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
    "bzip2-1.0.6",
}
TEXTS = re.compile(r"(LICEN[CS]E|COPYING|COPYRIGHT|NOTICE|UNLICENSE)\b.*", re.IGNORECASE)


def is_permissive(expression: str) -> bool:
    """Whether an SPDX expression offers permissive licences alone, for each of its parts."""
    parts = expression.replace("/", " OR ").split(" AND ")
    return all(any(it.strip("() ") in PERMISSIVE for it in part.split(" OR ")) for part in parts)


def metadata(target: str) -> Mapping[str, Any]:
    """What cargo has resolved for a target."""
    words = ["cargo", "metadata", "--format-version=1", "--locked", f"--filter-platform={target}"]
    done = subprocess.run(words, cwd=ROOT, check=True, capture_output=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def linked(found: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The packages whose code is in the extension module: not what only builds or tests it."""
    packages = {package["id"]: package for package in found["packages"]}
    nodes = {node["id"]: node for node in found["resolve"]["nodes"]}
    waiting = [it["id"] for it in found["packages"] if it["name"] == "ssdlab-bindings"]
    seen = set(waiting)
    while waiting:
        node = nodes[waiting.pop()]
        for needed in node["deps"]:
            package = packages[needed["pkg"]]
            is_normal = any(kind["kind"] is None for kind in needed["dep_kinds"])
            is_macro = any("proc-macro" in target["kind"] for target in package["targets"])
            if is_normal and not is_macro and needed["pkg"] not in seen:
                seen.add(needed["pkg"])
                waiting.append(needed["pkg"])
    return (packages[it] for it in seen if packages[it]["source"] is not None)


def texts(package: Mapping[str, Any]) -> list[str]:
    """The licence texts of a package, and of the C sources that it brings.

    Those of the GNU are for programs beside the library, or are not the one that is chosen.
    """
    root = Path(package["manifest_path"]).parent
    files = sorted(it for it in [*root.iterdir(), *root.glob("*/*")] if TEXTS.fullmatch(it.name))
    found = [
        it.read_text(encoding="utf-8", errors="replace").strip() for it in files if it.is_file()
    ]
    return [text for text in found if not re.match(r"\s*GNU (LESSER )?GENERAL PUBLIC", text)]


def main() -> int:
    """Write it; 1 if something must not be in a wheel."""
    packages = {it["id"]: it for target in TARGETS for it in linked(metadata(target))}
    ordered = sorted(packages.values(), key=lambda it: (it["name"], it["version"]))
    refused = [it for it in ordered if not is_permissive(it["license"] or "none")]
    for package in refused:
        print(f"{package['name']}: its licence is {package['license']}", file=sys.stderr)
    belongs: dict[str, list[str]] = {}
    out = [
        "The extension module of ssdlab contains these libraries, under the licences that follow.",
        "",
    ]
    for package in ordered:
        name = f"{package['name']} {package['version']}"
        out.append(f"{name}: {package['license']}")
        for text in texts(package):
            belongs.setdefault(text, []).append(name)
    for text, names in belongs.items():
        out += ["", "=" * 80, ", ".join(names), "=" * 80, "", text]
    (ROOT / "LICENSE-THIRD-PARTY").write_text("\n".join(out) + "\n", encoding="utf-8")
    print(f"LICENSE-THIRD-PARTY: {len(ordered)} libraries, {len(belongs)} texts")
    return 1 if refused else 0


if __name__ == "__main__":
    sys.exit(main())
