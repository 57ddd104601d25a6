"""The language of DiskSim's parameter files: typed blocks of `several words = value`.

A file is a sequence of blocks (`TYPE NAME { ... }`), instances (`instantiate [ a, b .. d ] as
NAME`), a `topology`, and included files (`source FILE`). Nothing in it is executed. Read after the
manual of DiskSim 4.0 (Bucy, Schindler, Schlosser and Ganger, 2008), chapter 3.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from ssdlab import reading
from ssdlab._core import InputError

#: Maximum size of a parameter file with its includes.
LARGEST = 1 << 20
#: Maximum depth of includes, and of nested blocks.
DEEPEST = 8
#: Maximum number of instances in a range such as `disk0 .. disk99`.
MOST = 4096

#: Message on an included file, which quotes nothing of it.
HIDDEN = (
    "this line is not as in a parameter file of DiskSim; look at it there, for words of a file are "
    "not shown where {by} names it"
)

_TOKEN = re.compile(
    r"\s*(?:#[^\n]*|(\.\.)(?!/)|([{}\[\],=])|((?:(?!\.\.(?!/))[^\s{}\[\],=#])+)|(\Z))"
)


class Value(NamedTuple):
    """A value as written, with its position: a word or number, a list of values, or a block."""

    said: str | list[Value] | Block
    line: int

    def __str__(self) -> str:
        if isinstance(self.said, list):
            return f"[{', '.join(map(str, self.said))}]"
        return f"{self.said.type} {{ ... }}" if isinstance(self.said, Block) else self.said


@dataclass
class Block:
    """A block: type, name (empty if it is a value), parameters and position."""

    path: Path
    type: str
    name: str
    line: int
    given: dict[str, Value] = field(default_factory=dict)
    #: True if it is in an included file: its text is never quoted.
    is_hidden: bool = False


@dataclass
class Parameters:
    """A whole file: its blocks, and the block of each instance."""

    path: Path
    blocks: list[Block] = field(default_factory=list)
    instances: dict[str, str] = field(default_factory=dict)
    #: Missing included files.
    absent: list[str] = field(default_factory=list)
    #: Names and types of instances from included files, which are not quoted.
    hidden: set[str] = field(default_factory=set)

    def of_type(self, type_: str) -> list[Block]:
        """The blocks of a type."""
        return [block for block in self.blocks if block.type == type_]


class _Token(NamedTuple):
    text: str
    line: int


def read(path: Path) -> Parameters:
    """Read the file `path` with its includes. Raises `InputError` that names file and line."""
    parameters = Parameters(path)
    _Reader(path, parameters, deep=0, left=[LARGEST]).file()
    return parameters


class _Reader:
    """Reads one file into `into`; `left` is the remaining byte limit of all files."""

    def __init__(self, path: Path, into: Parameters, deep: int, left: list[int]) -> None:
        self.path, self.into, self.deep, self.left = path, into, deep, left
        self.by = into.path.name if deep == 1 else "another file"
        try:
            with reading.opened(path) as file:
                content = file.read(left[0] + 1)
        except OSError as error:
            raise InputError(f"{path}: cannot be read: {error.strerror}") from None
        left[0] -= len(content)
        if left[0] < 0:
            raise InputError(f"{path}: larger than {LARGEST >> 10} KiB: no parameter file")
        try:
            text = content.decode()
        except UnicodeDecodeError:
            raise InputError(f"{path}: no text: a parameter file of DiskSim is text") from None
        self.tokens = self._tokens(text)
        self.now = next(self.tokens)

    @staticmethod
    def _tokens(text: str) -> Iterator[_Token]:
        position, line = 0, 1
        while (found := _TOKEN.match(text, position)) is not None:
            line += text.count("\n", position, found.end())
            position = found.end()
            token = found[1] or found[2] or found[3]
            if token:
                yield _Token(token, line)
            elif found[4] is not None:
                break
        while True:
            yield _Token("", line)

    def wrong(self, problem: str, line: int | None = None) -> InputError:
        """An error about a line, by default the current one."""
        said = HIDDEN.format(by=self.by) if self.deep else problem
        return InputError(f"{self.path}:{line or self.now.line}: {said}")

    def take(self, wanted: str = "") -> _Token:
        """The next token, which must equal `wanted` if given."""
        token = self.now
        if wanted and token.text != wanted:
            found = repr(token.text) if token.text else "the end of the file"
            raise self.wrong(f"expected {wanted!r}, found {found}")
        if not token.text:
            raise self.wrong("the file ends in the middle of a block; it is probably truncated")
        self.now = next(self.tokens)
        return token

    def file(self) -> None:
        """Parse the whole file."""
        while self.now.text:
            token = self.take()
            if token.text == "instantiate":
                self.instantiate()
            elif token.text == "topology":
                self.topology()
            elif token.text == "source":
                self.source(self.take())
            elif re.fullmatch(r"[A-Za-z_]\w*", token.text):
                name = self.take().text
                self.into.blocks.append(self.block(token, name, deep=0))
            else:
                raise self.wrong(
                    f"expected a block, instantiate, topology or source, found {token.text!r}",
                    token.line,
                )

    def source(self, name: _Token) -> None:
        """Read an included file; if it is missing, only its name is recorded."""
        other = self.path.parent / name.text
        if self.deep >= DEEPEST:
            raise InputError(f"{self.path}:{name.line}: files read files, {DEEPEST} deep")
        if not other.is_file():
            self.into.absent.append("a file that it names" if self.deep else name.text)
            return
        _Reader(other, self.into, self.deep + 1, self.left).file()

    def sourced(self, name: _Token) -> Block | None:
        """The block of an included file, as a value; None if the file is missing."""
        inside = Parameters(self.into.path)
        before, self.into = self.into, inside
        try:
            self.source(name)
        finally:
            self.into = before
        self.into.absent += inside.absent
        return inside.blocks[0] if inside.blocks else None

    def instantiate(self) -> None:
        """Parse `[ names ] as NAME`; `a0 .. a3` are four names."""
        self.take("[")
        names: list[str] = []
        while self.now.text != "]":
            token = self.take()
            if token.text == "..":
                names += self.following(names[-1] if names else "", self.take())
            elif token.text != ",":
                names.append(token.text)
        self.take("]")
        self.take("as")
        of = self.take().text
        self.into.instances |= dict.fromkeys(names, of)
        if self.deep:
            self.into.hidden |= {*names, of}

    def following(self, first: str, last: _Token) -> list[str]:
        """The names after `first`, up to `last`."""
        if not first:
            raise self.wrong("a range without a first name", last.line)
        begins, ends = (re.fullmatch(r"(.*?)(\d+)", it) for it in (first, last.text))
        if begins is None or ends is None or begins[1] != ends[1]:
            raise self.wrong(f"{first} .. {last.text} is no range of numbered names", last.line)
        numbers = range(int(begins[2]) + 1, int(ends[2]) + 1)
        if len(numbers) > MOST:
            raise self.wrong(f"{first} .. {last.text}: more than {MOST} instances", last.line)
        return [f"{begins[1]}{number}" for number in numbers]

    def topology(self) -> None:
        """Skip the topology: only the organization of the devices matters."""
        deep = 0
        while self.now.text != "[":
            self.take()
        while True:
            token = self.take()
            deep += {"[": 1, "]": -1}.get(token.text, 0)
            if deep == 0:
                return

    def block(self, type_: _Token, name: str, deep: int) -> Block:
        """The parameters between braces."""
        if deep > DEEPEST:
            raise self.wrong(f"blocks in blocks, more than {DEEPEST} deep", type_.line)
        block = Block(self.path, type_.text, name, type_.line, is_hidden=self.deep > 0)
        self.take("{")
        while self.now.text != "}":
            words = [self.take()]
            while self.now.text != "=":
                words.append(self.take())
            self.take("=")
            key = " ".join(word.text for word in words)
            if key in block.given:
                raise self.wrong(f"{key} is given twice", words[0].line)
            block.given[key] = self.value(deep)
            if self.now.text != "}":
                self.take(",")
        self.take("}")
        return block

    def value(self, deep: int) -> Value:
        """A word or number, a list, or a block."""
        token = self.take()
        if token.text == "[":
            if deep > DEEPEST:
                raise self.wrong(f"lists in lists, more than {DEEPEST} deep", token.line)
            inside: list[Value] = []
            while self.now.text != "]":
                if self.now.text == ",":
                    self.take()
                elif self.now.text == "..":
                    self.take()
                    first, last = str(inside[-1]) if inside else "", self.take()
                    inside += (Value(it, last.line) for it in self.following(first, last))
                else:
                    inside.append(self.value(deep + 1))
            self.take("]")
            return Value(inside, token.line)
        if token.text in "{}],=":
            raise self.wrong(f"expected a value, found {token.text!r}", token.line)
        words = [token.text]
        while self.now.text not in (",", "}", "]", "{", "=", ".."):
            words.append(self.take().text)
        if words[0] == "source" and len(words) == 2:
            block = self.sourced(_Token(words[1], token.line))
            return Value(" ".join(words) if block is None else block, token.line)
        if self.now.text == "{":
            return Value(self.block(_Token(" ".join(words), token.line), "", deep + 1), token.line)
        return Value(" ".join(words), token.line)
