"""Reads out of Rust who changes what: fields that other files write, circles of calls between the
methods of a type, and numbers that stand for variants.

Nothing here knows the types of expressions. A write is of a field that has this name anywhere in
the crate, and a file that declares such a field is believed to write its own. So some writes are
missed, and what is found is nearly always one.
"""

import re
from collections import defaultdict
from pathlib import PurePosixPath

from house import circles

#: Methods that change what they are called on, whatever its type.
CHANGING = re.compile(
    "append|clear|drain|entry|extend|fill|get_mut|get_or_insert|insert|iter_mut|last_mut|pop"
    "|pop_back|pop_first|pop_front|push|push_back|push_front|remove|replace|resize|retain|set|sort"
    "|swap|swap_remove|take|truncate|values_mut"
)


def closing(words, n):
    """Where the bracket that opens at the `n`-th word closes."""
    depth = 0
    while True:
        depth += (words[n] in "([{") - (words[n] in ")]}")
        if depth == 0:
            return n
        n += 1


def owned(path, by):
    """A type is written by its file, or by the folder whose `mod.rs` (or namesake) declares it."""
    at = PurePosixPath(by)
    folder = at.parent if at.name == "mod.rs" else at.with_suffix("")
    return path == by or (at.name != "lib.rs" and folder in PurePosixPath(path).parents)


def restricted(words):
    """How many items are `pub(super)`, `pub(crate)` or `pub(in ..)`."""
    following = zip(words, words[1:], words[2:], strict=False)
    return sum(it[:2] == ("pub", "(") and it[2] in ("super", "crate", "in") for it in following)


def fields(words):
    """The names of the fields of all structs of a file."""
    for n, word in enumerate(words):
        if word != "struct" or not words[n + 1].isidentifier():
            continue
        start = next(i for i in range(n, len(words)) if words[i] in "{;(")
        if words[start] != "{":
            continue
        depth = 0
        for i in range(start + 1, closing(words, start)):
            depth += (words[i] in "([{") - (words[i] in ")]}")
            if depth == 0 and words[i + 1] == ":" and words[i].isidentifier():
                yield words[i]


def writes(words):
    """The fields that a file assigns to, borrows mutably, or changes by a method."""
    words = [*words, "", "", ""]
    for n, word in enumerate(words[:-3]):
        if word != "." or not words[n + 1].isidentifier() or words[n - 1] == ".":
            continue
        field, i = words[n + 1], n + 2
        while words[i] == "[":
            i = closing(words, i) + 1
        a, b, c = words[i : i + 3]
        assigned = (a == "=" and b not in ("=", ">")) or (a in tuple("+-*/%^&|") and b == "=")
        shifted = a == b and a in ("<", ">") and c == "="
        called = a == "." and CHANGING.fullmatch(b) and c in ("(", "::")
        if assigned or shifted or called or (a not in ("(", "::", ".", "?") and lent(words, n)):
            yield field


def lent(words, n):
    """Whether the path that the dot at `n` continues begins with `&mut`."""
    while n > 0:
        n -= 1
        if words[n] in "])":
            depth = 0
            while True:
                depth += (words[n] in ")]}") - (words[n] in "([{")
                if depth == 0:
                    break
                n -= 1
            continue
        if words[n] == "mut":
            return words[n - 1] == "&"
        if words[n] != "." and not words[n].isidentifier():
            return False
        if words[n].isidentifier() and words[n - 1] not in (".", "mut"):
            return False
    return False


def foreign_writes(crate):
    """What files write of types of other files: the file, the field, where it is declared."""
    at = defaultdict(set)
    for module, words in crate.words.items():
        for field in fields(words):
            at[field].add(crate.files[module])
    for module, words in crate.words.items():
        path = crate.files[module]
        for field in writes(words):
            if at[field] and not any(owned(path, by) for by in at[field]):
                yield path, field, sorted(at[field])


def blocks(words):
    """Every `impl` block: the name of its type, and the words within."""
    for n, word in enumerate(words):
        if word != "impl" or (n and words[n - 1] not in ("}", ";", "{", "]", "unsafe")):
            continue
        start = n + 1
        if words[start] == "<":
            depth = 0
            while True:
                arrow = words[start - 1] in ("-", "=")
                depth += (words[start] == "<") - (words[start] == ">" and not arrow)
                start += 1
                if depth == 0:
                    break
        end = next(i for i in range(start, len(words)) if words[i] == "{")
        head = words[start:end]
        head = head[: head.index("where")] if "where" in head else head
        if "for" in head:
            head = head[len(head) - head[::-1].index("for") :]
        name = " ".join(head).split(" <")[0].split()[-1] if head else ""
        if name.isidentifier():
            yield name, words[end + 1 : closing(words, end)]


def methods(words):
    """The functions of an `impl` block: name and body."""
    n = 0
    while n < len(words):
        if words[n] == "{":
            n = closing(words, n)
        elif words[n] == "fn":
            name = words[n + 1]
            while words[n] not in ("{", ";"):
                n = closing(words, n) + 1 if words[n] in "([" else n + 1
            if words[n] == "{":
                end = closing(words, n)
                yield name, words[n:end]
                n = end
        n += 1


def called(body):
    """The methods of its own type that a function calls."""
    for a, b, name, c in zip(body, body[1:], body[2:], body[3:], strict=False):
        if (a, b) in (("self", "."), ("Self", "::")) and c in ("(", "::"):
            yield name


def circles_of_calls(crate):
    """The circles of methods that call each other across files, by type."""
    types = defaultdict(lambda: (defaultdict(set), defaultdict(set)))
    for module, words in crate.words.items():
        for name, block in blocks(words):
            calls, files = types[crate.defining((*module, name))]
            for method, body in methods(block):
                calls[method] |= {*called(body)}
                files[method].add(crate.files[module])
    for (_, name), (calls, files) in types.items():
        known = {a: {b: () for b in to if b in calls} for a, to in calls.items()}
        for circle in circles(known):
            # One name alone is a method that calls another type's of the same name.
            if len(circle) > 1 and len(set().union(*(files[it] for it in circle))) > 1:
                yield name, circle


def decodes_numbers(words):
    """Whether a `match` has arms of three consecutive numbers: they stand for variants."""
    for n, word in enumerate(words):
        if word != "match":
            continue
        while words[n] != "{":
            n = closing(words, n) + 1 if words[n] in "([" else n + 1
        arms, end = [], closing(words, n)
        n += 1
        while n < end:
            if words[n] in "([{":
                n = closing(words, n)
            elif words[n].isdecimal() and [words[n - 1] in "{,}", *words[n + 1 : n + 3]] == [
                1,
                "=",
                ">",
            ]:
                arms.append(int(words[n]))
            n += 1
        if any({it, it + 1, it + 2} <= {*arms} for it in arms):
            return True
    return False


TESTS = re.compile(r"^#\[cfg\(test\)\]\n(?:#.*\n)*mod \w+ (?:\{\n(?:.*\n)*?\})", re.M)
BESIDE = re.compile(r"\s*(//.*|#.*)?$|(pub(\([^)]*\))? )?(use|mod|import|from)\b")
TYPE = re.compile(
    r"(?:pub(?:\([^)]*\))? )?(?:unsafe )?(?:struct|enum|trait|class|impl\b(?:.* for)?)"
    r"(?:<.*?>)? (\w+)"
)


def largest_share(text):
    """The share of its code that the largest type of a file has: its declaration and its `impl`s.

    Sources are formatted, so an item ends where another line begins without a blank. Neither tests
    nor comments nor imports are counted.
    """
    of_types, lines, item = defaultdict(int), 0, None
    for line in TESTS.sub("", text).splitlines():
        if BESIDE.match(line):
            continue
        if found := TYPE.match(line):
            item = found[1]
        elif line[0] not in " })":
            item = None
        lines += 1
        of_types[item] += 1
    of_types.pop(None, None)
    return max(of_types.values(), default=0) / max(lines, 1)
