"""Reads out of Rust what types consist of and who changes what: fields that other files write,
circles of calls between the methods of a type, and numbers that stand for variants.

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


def structs(words):
    """Every struct with named fields of a file, and how many it has."""
    for name, inside in declared(words):
        yield name, len([*named_fields(inside)])


def fields(words):
    """The names of the fields of all structs of a file."""
    for _, inside in declared(words):
        yield from named_fields(inside)


def declared(words):
    """Every struct with named fields, and the words of its braces."""
    for n, word in enumerate(words):
        if word != "struct" or not words[n + 1].isidentifier():
            continue
        start = next(i for i in range(n, len(words)) if words[i] in "{;(")
        if words[start] == "{":
            yield words[n + 1], words[start + 1 : closing(words, start)]


def named_fields(inside):
    depth = 0
    for word, following in zip(inside, [*inside[1:], ""], strict=True):
        depth += (word in "([{") - (word in ")]}")
        if depth == 0 and following == ":" and word.isidentifier():
            yield word


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


def patterns(words):
    """The variants that a body matches on: the enum, the variant, and the words of its arm."""
    for n, word in enumerate(words):
        if word != "match" or words[n - 1] in (".", "::"):
            continue
        while words[n] != "{":
            n = closing(words, n) + 1 if words[n] in "([" else n + 1
        end = closing(words, n)
        n += 1
        while n < end:
            arrow = n
            while arrow < end and words[arrow : arrow + 2] != ["=", ">"]:
                arrow = closing(words, arrow) + 1 if words[arrow] in "([{" else arrow + 1
            heads, n = words[n:arrow], arrow + 2
            begin = n
            if n < end and words[n] == "{":
                n = closing(words, n) + 1
            while n < end and words[n] != "," and words[begin] != "{":
                n = closing(words, n) + 1 if words[n] in "([{" else n + 1
            body = words[begin:n]
            n += n < end and words[n] == ","
            for a, b, c in zip(heads, heads[1:], heads[2:], strict=False):
                if b == "::" and a[:1].isupper():
                    yield a, c, body


def queued(words):
    """The enums of which values are put on a list to be worked on in this instant.

    What is put there with a time comes later: an event may bring about the next one of its kind.
    """
    for n in range(len(words) - 4):
        if words[n] == "." and words[n + 1] in ("push", "push_back", "push_front"):
            call, enum, path = words[n + 2 : n + 5]
            if call == "(" and path == "::" and enum[:1].isupper():
                yield enum


def methods_of(crate):
    """By type: its methods, each with its bodies and files. A name can have several, of traits."""
    types = defaultdict(lambda: defaultdict(list))
    for module, words in crate.words.items():
        for name, block in blocks(words):
            for method, body in methods(block):
                types[crate.defining((*module, name))][method].append((body, crate.files[module]))
    return types


def named_variants(words):
    for a, b, c in zip(words, words[1:], words[2:], strict=False):
        if b == "::" and a[:1].isupper():
            yield a, c


def circles_of_calls(crate):
    """By type: circles of its methods, where putting a message on a queue is a call of its handler.

    A message is an enum of which a method puts values on a list, and on which one matches.
    """
    for (_, name), known in methods_of(crate).items():
        bodies = {method: [body for body, _ in found] for method, found in known.items()}
        every = [body for found in bodies.values() for body in found]
        put = {it for body in every for it in queued(body)}
        # Of a body that matches on messages, the arms are the handlers'.
        arms = [[it for it in patterns(body) if it[0] in put] for body in every]
        handled = {(enum, variant) for found in arms for enum, variant, _ in found}
        messages = {enum for enum, _ in handled}

        def edges(words, handled=handled, bodies=bodies):
            reached = {it for it in called(words) if it in bodies}
            return reached | {f"{a}::{b}" for a, b in named_variants(words) if (a, b) in handled}

        calls = defaultdict(set)
        for method, found in bodies.items():
            for body in found:
                own = [it for it in patterns(body) if it[0] in messages]
                reached = edges(body)
                if own:
                    within = [arm for *_, arm in own]
                    reached = edges(outside(body, within))
                    reached -= {f"{enum}::{variant}" for enum, variant, _ in own}
                    for enum, variant, arm in own:
                        calls[f"{enum}::{variant}"] |= edges(arm)
                calls[method] |= reached
        graph = {a: dict.fromkeys(to, ()) for a, to in calls.items()}
        for circle in circles(graph):
            # One name alone is a method that calls another type's of the same name.
            if len(circle) > 1:
                yield name, circle


def outside(body, arms):
    """The words of a body that belong to none of these arms."""
    n, kept = 0, []
    todo = [arm for arm in arms if arm]
    while n < len(body):
        if todo and body[n : n + len(todo[0])] == todo[0]:
            n += len(todo.pop(0))
        else:
            kept.append(body[n])
            n += 1
    return kept


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
