"""Writes packaging/registry.md: README.md as a package registry shows it, with whole addresses.

A registry shows a page without the repository around it, so that relative links and pictures lead
nowhere. The address comes from `[project.urls]` of pyproject.toml. A test holds the file fresh.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TARGET = ROOT / "packaging" / "registry.md"
_LINK = re.compile(r"(\]\()([^)#:\s]+)(#[^)\s]*)?\)")
_PICTURES = (".png", ".svg", ".gif")


def address() -> str:
    """The address of the repository, as pyproject.toml has it."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    return re.search(r'^Repository = "(.+)"$', text, re.MULTILINE)[1]


def whole(text: str, base: str) -> str:
    """`text` with each relative link made whole, and without the comments meant for tests."""

    def link(found: re.Match[str]) -> str:
        before, path, anchor = found.group(1, 2, 3)
        kind = "raw" if path.endswith(_PICTURES) else "blob"
        return f"{before}{base}/{kind}/main/{path}{anchor or ''})"

    text = re.sub(r"^<!--.*?-->\n", "", text, flags=re.MULTILINE | re.DOTALL)
    return _LINK.sub(link, text)


def text() -> str:
    """What the file has to be."""
    return whole((ROOT / "README.md").read_text(encoding="utf-8"), address())


if __name__ == "__main__":
    TARGET.write_text(text(), encoding="utf-8")
    sys.exit(0)
