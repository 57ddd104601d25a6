"""XML of configuration files: elements and text, without entities and document types."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.parsers import expat

from ssdlab import reading
from ssdlab._core import InputError

#: Maximum size of a configuration, and maximum depth of its elements.
LARGEST, DEEPEST = 1 << 20, 64
#: Comments, instructions and tags.
_MARKUP = re.compile(
    rb"<!--.*?-->|<\?.*?\?>|<(?P<end>/?)(?P<name><?[^<>/!?\s][^<>/\s]*)[^<>]*>", re.S
)


@dataclass
class Element:
    """An element: name, text and children."""

    name: str
    text: str = ""
    inside: list[Element] = field(default_factory=list)

    def leaves(self) -> dict[str, str]:
        """Texts of all leaf elements, by name, at any depth."""
        found: dict[str, str] = {}
        for element in self.inside:
            if element.inside:
                found |= element.leaves()
            else:
                found[element.name] = element.text.strip()
        return found


def read(path: Path) -> Element:
    """The root of the file `path`. Raises `InputError` for invalid or extended XML."""
    try:
        with reading.opened(path) as file:
            content = file.read(LARGEST + 1)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    if len(content) > LARGEST:
        raise InputError(f"{path}: more than {LARGEST:,} bytes are too many for a configuration")
    content = _closed(content)
    top = Element("")
    open_ = [top]
    parser = expat.ParserCreate()

    def refuse(*_: Any) -> None:
        raise InputError(f"{path}: document types and entities are not read")

    def start(name: str, _: Any) -> None:
        if len(open_) > DEEPEST:
            raise InputError(f"{path}: not read: more than {DEEPEST} elements in each other")
        element = Element(name)
        open_[-1].inside.append(element)
        open_.append(element)

    def end(_: str) -> None:
        open_.pop()

    def text(data: str) -> None:
        open_[-1].text += data

    parser.StartDoctypeDeclHandler = refuse
    parser.EntityDeclHandler = refuse
    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = text
    try:
        parser.Parse(content, True)
    except (expat.ExpatError, LookupError, ValueError) as error:
        # Other errors concern unknown encodings.
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path}: not XML: {error}") from None
    return top.inside[0]


def _closed(content: bytes) -> bytes:
    """The text with closing tags corrected: MQSim's reader ignores their names."""
    open_: list[bytes] = []

    def tag(found: re.Match[bytes]) -> bytes:
        if not found["name"] or found[0].endswith(b"/>"):
            return found[0]
        if not found["end"]:
            open_.append(found["name"])
            return found[0]
        return b"</%s>" % open_.pop() if open_ else found[0]

    return _MARKUP.sub(tag, content)
