"""Files that are changed and stay files of their kind: most are accepted, and so reach deep.

A change takes a token of the text, a number or a word, and puts another there: a neighbouring
number, a boundary, or a token of the same column of another line. Lines are dropped, doubled and
exchanged. What holds a text, such as gzip, is opened before and closed after the change; JSON is
changed in its leaves.
"""

import json
import random
import re

_TOKEN = re.compile(rb"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|[A-Za-z_]+")
_NUMBER = re.compile(rb"^-?\d")
#: How a text is written, by the name of the kind; all others by tokens.
JSON = {"results", "fio json", "iostat json", "smart", "nvme smart"}
JSON_LINES = {"journal"}


def number(text, draw):
    """A number near another, or at a boundary that its form allows."""
    value = float(text)
    near = (
        *(value + 1, value * 2, value / 2, value * draw.uniform(0.5, 2), value * 10),
        *(0, 1, 4096, 2**31, 2**63 - 1 if draw.random() < 0.2 else value),
    )
    changed = draw.choice(near)
    if b"." in text or b"e" in text.lower():
        return repr(float(changed)).encode()
    return str(int(min(changed, 2**63))).encode()


def tokens(content, draw):
    """One token of a text is another."""
    lines = content.splitlines(keepends=True)
    at = draw.randrange(len(lines))
    found = [*_TOKEN.finditer(lines[at])]
    if not found:
        return content
    column = draw.randrange(len(found))
    here = found[column]
    if _NUMBER.match(here[0]) and draw.random() < 0.8:
        new = number(here[0], draw)
    else:
        # What stands in its place in another line of as many tokens.
        likes = [_TOKEN.findall(line) for line in draw.choices(lines, k=20)]
        likes = [it[column] for it in likes if len(it) == len(found)]
        new = draw.choice(likes or [here[0]])
    lines[at] = lines[at][: here.start()] + new + lines[at][here.end() :]
    return b"".join(lines)


def order(content, draw):
    """A line is dropped, doubled or exchanged; the first, which may have names, stays."""
    lines = content.splitlines(keepends=True)
    if len(lines) < 3:
        return content
    at, to = (draw.randrange(1, len(lines)) for _ in range(2))
    match draw.randrange(3):
        case 0:
            del lines[at]
        case 1:
            lines.insert(at, lines[at])
        case _:
            lines[at], lines[to] = lines[to], lines[at]
    return b"".join(lines)


def _leaves(value, at=()):
    if isinstance(value, dict | list):
        pairs = value.items() if isinstance(value, dict) else enumerate(value)
        for key, inner in pairs:
            yield from _leaves(inner, (*at, key))
    else:
        yield at


def tree(content, draw):
    """One leaf of a JSON value has another value of its type, or is gone."""
    value = json.loads(content)
    leaves = [it for it in _leaves(value) if it]
    *way, last = draw.choice(leaves)
    inner = value
    for key in way:
        inner = inner[key]
    old = inner[last]
    if draw.random() < 0.1:
        del inner[last]
    elif isinstance(old, bool) or old is None:
        inner[last] = draw.choice((True, False, None))
    elif isinstance(old, int | float):
        inner[last] = json.loads(number(json.dumps(old).encode(), draw))
    else:
        inner[last] = draw.choice([old[::-1], old + "x", old.upper(), ""])
    return json.dumps(value).encode()


def once(kind, content, draw):
    """A text of a kind with one change."""
    if kind in JSON:
        return tree(content, draw)
    if kind in JSON_LINES:
        return order(content, draw)
    return draw.choice((tokens, tokens, tokens, order))(content, draw)


def mutated(kind, content, seed, open_=bytes, close=bytes):
    """A file of a kind with one to three changes to the text within it."""
    draw = random.Random(f"{kind} {seed}")
    text = open_(content)
    for _ in range(draw.choice((1, 1, 2, 3))):
        text = once(kind, text, draw)
    return close(text)
