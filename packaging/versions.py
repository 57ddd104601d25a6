"""Puts the site of the docs beside those of other versions: dist/docs/VERSION/.

`make docs-versions` calls it after `make docs`. What is in dist/docs already stays: older versions
are kept there, or fetched into it from where they are published. `versions.json` lists them for a
page that offers them, the newest first, and `index.html` leads to the newest.
"""

import json
import re
import shutil
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SITE, OUT = ROOT / "site", ROOT / "dist" / "docs"
REDIRECT = """<!doctype html>
<meta charset="utf-8">
<title>ssdlab</title>
<meta http-equiv="refresh" content="0; url={0}/index.html">
<a href="{0}/index.html">ssdlab {0}</a>
"""


def version() -> str:
    """The version of the workspace."""
    text = (ROOT / "Cargo.toml").read_text(encoding="utf-8")
    return re.search(r'^version = "(\d+\.\d+\.\d+)"$', text, re.MULTILINE)[1]


def versions(out: Path) -> list[str]:
    """The versions that are there, the newest first."""
    found = [it.name for it in out.iterdir() if re.fullmatch(r"\d+\.\d+\.\d+", it.name)]
    return sorted(found, key=lambda name: [*map(int, name.split("."))], reverse=True)


def publish(site: Path, out: Path, one: str) -> list[str]:
    """Put `site` into `out` as version `one`; every version that is there then."""
    out.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(out / one, ignore_errors=True)
    shutil.copytree(site, out / one)
    found = versions(out)
    rows = [{"version": it, "title": it, "aliases": ["latest"] * (it == found[0])} for it in found]
    (out / "versions.json").write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")
    (out / "index.html").write_text(REDIRECT.format(found[0]), encoding="utf-8")
    return found


if __name__ == "__main__":
    print(f"dist/docs has version {', '.join(publish(SITE, OUT, version()))}")
