"""Reads what the law of the house is about out of sources: structs, imports and their circles.

Of imports these count: in Python all but those under `TYPE_CHECKING`, also those inside a function;
in Rust every path outside of tests, in a `use` or in line, to the module that defines the name,
through however many re-exports. That a module declares or re-exports its children is no import.

Every file is read, parsed and split into tokens once in a process.
"""

import ast
import re
from collections import defaultdict
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[3]


def sources(*patterns):
    return sorted(path for pattern in patterns for path in ROOT.glob(pattern))


def place(path):
    return path.relative_to(ROOT).as_posix()


@cache
def text_of(path):
    return path.read_text(encoding="utf-8")


@cache
def parsed(text):
    """The tree of a text in Python, which nothing may change."""
    return ast.parse(text)


@cache
def key_reference():
    """The pages of the reference of keys, as one text without marks."""
    pages = sorted(ROOT.joinpath("docs/configuration").glob("*.md"))
    return "".join(page.read_text(encoding="utf-8").replace("**", "") for page in pages)


def package():
    """The modules of the Python package, by name."""
    modules = {"ssdlab._core": ""}
    for path in sources("python/ssdlab/**/*.py"):
        parts = path.relative_to(ROOT / "python").with_suffix("").parts
        modules[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = text_of(path)
    return modules


@cache
def crates():
    """Every crate, by the path of its `src`."""
    return {
        place(src): Crate({path.relative_to(src).as_posix(): text_of(path) for path in files})
        for src in sources("crates/*/src")
        if (files := sorted(src.rglob("*.rs")))
    }


#: Comments, strings, characters and lifetimes.
_HIDDEN = re.compile(
    r"//[^\n]*|/\*.*?\*/|b?r(#*)\".*?\"\1|b?\"(?:\\.|[^\"\\])*\"|b?'(?:\\.[^']*|[^'\\])'|'\w+", re.S
)
_TOKEN = re.compile(r"\$?\w+|::|[^\s\w]")
_OF_TESTS = re.compile(r"#\s*\[\s*cfg\s*\(\s*test\s*\)\s*\]")


def _hide(found):
    text = found[0]
    comment = text[0] == "/" or (text[0] == "'" and text[-1] != "'")
    return (" " if comment else '"') + re.sub(r"[^\n]", " ", text[1:])


def masked(text):
    """Rust of the same length: comments and lifetimes are blank, of a string a mark stays."""
    return _HIDDEN.sub(_hide, text)


def tokens(text):
    """The tokens of Rust without comments; a string or a character is one quotation mark."""
    return _TOKEN.findall(masked(text))


def without_tests(text):
    """The text, masked, without what is compiled for tests only, and the files of its modules."""
    hidden, kept, files, start = masked(text), [], [], 0
    while found := _OF_TESTS.search(hidden, start):
        kept.append(hidden[start : found.start()])
        start = _end_of_item(hidden, found.end())
        item = hidden[found.end() : start]
        if (module := re.search(r"\bmod\s+(\w+)\s*;", item)) is not None:
            path = re.search(r'path\s*=\s*"([^"]*)', text[found.end() : start])
            files.append(path[1] if path else f"{module[1]}.rs")
    return "".join(kept) + hidden[start:], files


def _end_of_item(hidden, start):
    """Where an item ends: a field at its comma, all else at a brace or a semicolon."""
    field = re.match(r"\s*(?:pub\s*(?:\([^)]*\)\s*)?)?\w+\s*:(?!:)", hidden[start:])
    depth = 0
    for found in re.compile(r"[()\[\]{},;]").finditer(hidden, start):
        depth += (found[0] in "([{") - (found[0] in ")]}")
        if depth < 0:
            return found.start()
        if depth == 0 and found[0] in ("," if field else "};"):
            return found.end()
    return len(hidden)


def flattened(words, n):
    """The paths of a `use` from its `n`-th word: segments and binding; and where it ends."""
    paths, prefix, stack, binding = [], [], [], None
    while True:
        word = words[n]
        n += 1
        if word == "{":
            stack.append([*prefix])
        elif word in (",", "}", ";"):
            if prefix and (not stack or prefix != stack[-1]):
                paths.append((prefix, binding or prefix[-1]))
            binding = None
            if word == ";":
                return paths, n
            prefix = [*stack[-1]] if word == "," else [*stack.pop()] and []
        elif word == "as":
            binding = words[n]
            n += 1
        elif word != "::":
            prefix = [*prefix, word]


class Crate:
    """The modules of a crate, by their path from the root, and what they take from each other."""

    def __init__(self, files):
        self.files, self.words, self.lines, tests = {}, {}, {}, set()
        for path, text in files.items():
            code, of_tests = without_tests(text)
            words = _TOKEN.findall(code)
            parts = Path(path).with_suffix("").parts
            name = () if parts == ("lib",) else parts[:-1] if parts[-1] == "mod" else parts
            self.files[name], self.words[name] = path, words
            self.lines[name] = sum(not line.isspace() for line in code.splitlines() if line)
            folder = (
                Path(path).parent if parts[-1] in ("mod", "lib") else Path(path).with_suffix("")
            )
            tests |= {(folder / file).as_posix() for file in of_tests}
            tests |= {(Path(path).parent / file).as_posix() for file in of_tests if "_" in file}
        for name in [name for name, path in self.files.items() if path in tests]:
            del self.files[name], self.words[name], self.lines[name]
        self.modules = set(self.files)
        self.bound = {name: {} for name in self.modules}
        self.globs = defaultdict(list)
        self.defined = {}
        self.taken = []
        self.inline = []
        for name, words in self.words.items():
            self._read(name, words)
        for module, inner, path in self.inline:
            self._take(module, inner, path)

    def _read(self, module, words):
        items = {"fn", "struct", "enum", "trait", "type", "const", "static", "macro_rules"}
        pairs = zip(words, words[1:], strict=False)
        self.defined[module] = {b for a, b in pairs if a in items and b.isidentifier()}
        inner, depth, n = [], 0, 0
        while n < len(words):
            word = words[n]
            if word == "use" and words[n - 1] != "::" and words[n + 1] != "<":
                handed_on = n > 0 and words[n - 1] in ("pub", ")")
                paths, n = flattened(words, n + 1)
                for path, binding in paths:
                    self._use(module, inner, path, binding, handed_on)
                continue
            if word == "mod" and words[n + 2] == "{":
                inner.append((words[n + 1], depth))
            depth += (word == "{") - (word == "}")
            if word == "}" and inner and inner[-1][1] == depth:
                inner.pop()
            visibility = words[max(n - 3, 0) : n] == ["pub", "(", "in"]
            starts = words[n - 1] not in ("::", "mod") and words[n + 1 : n + 2] == ["::"]
            if starts and not visibility:
                path = [word]
                while words[n + 1] == "::" and words[n + 2].isidentifier():
                    path.append(words[n + 2])
                    n += 2
                self.inline.append((module, [*inner], path))
            n += 1

    def _take(self, module, inner, path):
        """A path in line: of a name that was taken before, only where that is a module."""
        known = self.bound[module].get(path[0])
        if known is not None and known in self.modules:
            self.taken.append((module, (*known, *path[1:])))
        elif absolute := self._absolute(module, inner, path):
            self.taken.append((module, absolute))

    def _use(self, module, inner, path, binding, handed_on):
        absolute = self._absolute(module, inner, path)
        if absolute is None:
            return
        if path[-1] == "self":
            absolute, binding = absolute[:-1], path[-2] if binding == "self" else binding
        if binding == "*":
            self.globs[module].append(absolute[:-1])
        elif not inner:
            self.bound[module][binding] = absolute
        child = (
            absolute[: len(module)] == module
            and module + absolute[len(module) :][:1] in self.modules
        )
        if not (handed_on and child):
            self.taken.append((module, absolute))

    def _absolute(self, module, inner, path):
        """The segments from the root; None for what comes from another crate."""
        if path[0] == "crate":
            return tuple(path[1:])
        if module + (path[0],) in self.modules:
            return (*module, *path)
        if path[0] not in ("super", "self"):
            return None
        here, rest = [*module, *(name for name, _ in inner)], [*path]
        while rest and rest[0] in ("super", "self"):
            if rest.pop(0) == "super":
                here.pop()
        return (*here, *rest)

    def defining(self, path, seen=()):
        """The module that defines what a path names, and the name."""
        module, rest = (), [*path]
        while rest and (*module, rest[0]) in self.modules:
            module = (*module, rest.pop(0))
        if not rest:
            return module, module[-1] if module else "crate"
        name, *rest = rest
        if (module, name) in seen or name in self.defined[module]:
            return module, name
        seen = (*seen, (module, name))
        if name in self.bound[module]:
            return self.defining((*self.bound[module][name], *rest), seen)
        for glob in self.globs[module]:
            at, _ = self.defining(glob)
            if name in self.defined[at] or name in self.bound[at]:
                return self.defining((*at, name, *rest), seen)
        return module, name

    def imports(self):
        """What each file takes from each other one, by name."""
        found = defaultdict(lambda: defaultdict(set))
        for module, path in self.taken:
            target, name = self.defining(path)
            if target != module:
                found[self.files[module]][self.files[target]].add(name)
        return found


def python_imports(files):
    """What each module takes from each other one, by name."""
    found = defaultdict(lambda: defaultdict(set))

    def statements(body):
        for it in body:
            if isinstance(it, ast.If) and "TYPE_CHECKING" in ast.unparse(it.test):
                yield from statements(it.orelse)
                continue
            yield it
            for part in ("body", "orelse", "finalbody", "handlers", "cases"):
                yield from statements(getattr(it, part, []))

    for module, text in files.items():
        for it in statements(parsed(text).body):
            taken = []
            if isinstance(it, ast.Import):
                taken = [(name.name, name.name) for name in it.names]
            elif isinstance(it, ast.ImportFrom):
                assert not it.level, f"{module}: imports name the package"
                whole = [f"{it.module}.{name.name}" for name in it.names]
                taken = [(name if name in files else it.module, name) for name in whole]
            for target, name in taken:
                if target in files and target != module:
                    found[module][target].add(name.rpartition(".")[2])
    return found


def circles(imports):
    """The groups of modules that can reach each other."""
    reached = {}
    for start in imports:
        seen, todo = set(), [start]
        while todo:
            new = set(imports.get(todo.pop(), ())) - seen
            seen |= new
            todo += new
        reached[start] = seen
    groups = {
        frozenset(it for it in seen if start in reached.get(it, ()))
        for start, seen in reached.items()
        if start in seen
    }
    return sorted(map(sorted, groups))


def ties(circle, imports, prefix=""):
    """Each module of a circle, with the names that tie it to others."""
    return {
        f"{prefix}{module}": "in a circle: "
        + "; ".join(
            f"takes {', '.join(sorted(names))} from {target}"
            for target, names in sorted(imports[module].items())
            if target in circle
        )
        for module in circle
    }
