"""Rust as tokens, and the places where a rule puts a wrong operator, value or nothing.

Formatted code has blanks around operators of two operands, and none in generics.
"""

import re

_TOKEN = re.compile(
    r"""//[^\n]*|/\*.*?\*/|r(?P<h>\#*)".*?"(?P=h)|b?"(?:\\.|[^"\\])*"|b?'(?:\\.[^']*|[^'\\])'|'\w+"""
    r"""|[A-Za-z_]\w*!?(?![=\w])|\d[\w.]*(?<!\.)|<<=|>>=|\.\.=|\.\.\.|[-+*/%^&|=!<>]=|&&|\|\||=>|->|::|\.\.|\s+|.""",
    re.S,
)
COMPARED = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}
REASONED = {"&&": "||", "||": "&&"}
SUMMED = {"+": "-", "-": "+"}
MULTIPLIED = {"*": "/", "/": "*", "%": "/"}
#: What ends an operand, the loosest first: each line also ends at those before it.
_LOOSE = (
    """( [ { } ) ] , ; = => return if while match let in else break | += -= *= /= |= &= .. ..= ->"""
)
_ENDS = set(_LOOSE.split())
_ENDS_REASONED = {"&&": _ENDS | {"||"}, "||": _ENDS}
_ENDS_COMPARED = _ENDS | {"&&", "||"}
_ENDS_SUMMED = _ENDS_COMPARED | set(COMPARED) | {"&", "^", "<<", ">>"}
#: Words that no statement to leave out begins with.
_BEGINNINGS = "let return if for while loop match use break continue unsafe else const static fn"
_KEYWORDS = frozenset(_BEGINNINGS.split())
_OPEN, _CLOSE = "([{", ")]}"


class Source:
    """A file as tokens, and what of it may be changed."""

    def __init__(self, path):
        self.path = path
        self.text = path.read_text()
        self.tokens = [
            (it.start(), it[0])
            for it in _TOKEN.finditer(self.text)
            if not it[0].isspace() and not it[0].startswith(("//", "/*"))
        ]
        self.partner = self._pair()
        self.function = [None] * len(self.tokens)
        self.free = self._find_functions()

    def _pair(self):
        partner, open_ = {}, []
        for at, (_, word) in enumerate(self.tokens):
            if word in _OPEN:
                open_.append(at)
            elif word in _CLOSE and open_:
                partner[at] = open_.pop()
                partner[partner[at]] = at
        return partner

    def word(self, at):
        return self.tokens[at][1] if 0 <= at < len(self.tokens) else ""

    def _find_functions(self):
        """Which tokens run: bodies of functions outside tests, tables and constants."""
        free = [False] * len(self.tokens)
        self.bodies = []
        at = 0
        while at < len(self.tokens):
            word = self.word(at)
            if word == "#" and self.word(at + 1) == "[":
                end = self.partner[at + 1]
                said = self.text[self.tokens[at][0] : self.tokens[end][0]]
                at = end + 1
                if "cfg(test)" in said or "cfg(kani" in said:
                    while self.word(at) not in "{;":
                        at += 1
                    at = self.partner.get(at, at) + 1
                continue
            if word.endswith("!") and len(word) > 1 and self.word(at + 1) in _OPEN + "m":
                nxt = at + 1
                while self.word(nxt) not in _OPEN:
                    nxt += 1
                at = self.partner[nxt] + 1
                continue
            if word == "fn" and re.match(r"\w", self.word(at + 1)):
                name, start = self.word(at + 1), at
                constant = "const" in (self.word(at - 1), self.word(at - 2), self.word(at - 3))
                while self.word(at) not in ("{", ";"):
                    at = self.partner[at] + 1 if self.word(at) in "([" else at + 1
                if self.word(at) == "{":
                    end = self.partner[at]
                    if not constant:
                        self.bodies.append((name, start, at, end))
                        self._free_body(free, at, end, name)
                    at = end
            at += 1
        return free

    def _free_body(self, free, at, end, name):
        at += 1
        while at < end:
            word = self.word(at)
            if word == "#" and self.word(at + 1) == "[":
                at = self.partner[at + 1] + 1
                continue
            if word in ("const", "static") and re.match(r"[A-Z]", self.word(at + 1)):
                while self.word(at) != ";":
                    at = self.partner[at] if self.word(at) in _OPEN else at
                    at += 1
            if word.endswith("!") and len(word) > 1 and self.word(at + 1) in _OPEN:
                at = self.partner[at + 1] + 1
                continue
            free[at] = True
            self.function[at] = name
            at += 1

    def left(self, at, ends):
        """The first token of the operand that ends before this one."""
        here = at - 1
        while True:
            word = self.word(here)
            if word in _CLOSE and word != "}":
                here = self.partner[here] - 1
                continue
            if word in ends or not word:
                return here + 1
            here -= 1

    def right(self, at, ends):
        """The last token of the operand that begins after this one."""
        here = at + 1
        while True:
            word = self.word(here)
            if word in "([" and word:
                here = self.partner[here] + 1
                continue
            if word in ends or not word:
                return here - 1
            here += 1

    def span(self, first, last):
        """The text of these tokens and where it lies."""
        start = self.tokens[first][0]
        end = self.tokens[last][0] + len(self.tokens[last][1])
        return start, end, self.text[start:end]

    def binary(self):
        for at, (place, word) in enumerate(self.tokens):
            if (
                not self.free[at]
                or self.text[place - 1] != " "
                or self.text[place + len(word)] not in " \n"
            ):
                continue
            if word in COMPARED:
                new, ends, until = COMPARED[word], _ENDS_COMPARED, _ENDS_COMPARED
            elif word in REASONED:
                new, ends = REASONED[word], _ENDS_REASONED[word]
                until = ends | {word}
            elif word in SUMMED:
                new, ends = SUMMED[word], _ENDS_SUMMED
                until = ends | set(SUMMED)
            elif word in MULTIPLIED:
                new, ends = MULTIPLIED[word], _ENDS_SUMMED | set(SUMMED)
                until = ends | set(MULTIPLIED)
            else:
                continue
            first, last = self.left(at, ends), self.right(at, until)
            if first >= at or last <= at:
                continue
            start, end, text = self.span(first, last)
            before, after = self.text[start:place], self.text[place + len(word) : end]
            if (
                " let " in f" {text} "
                or "|" in text.replace("||", "")
                or "{" in text
                or "//" in text
            ):
                continue
            if not before.strip() or not after.strip() or not re.search(r"[\w)\]}?\"']$", after):
                continue
            wrong = f"({before.strip()}) {new} ({after.strip()})"
            right = f"({before.strip()}) {word} ({after.strip()})"
            yield (
                start,
                end,
                f"(if SWITCH {{ {wrong} }} else {{ {right} }})",
                f"{text} | {word} is {new}",
                at,
            )

    def statements(self):
        for at in range(1, len(self.tokens)):
            if not self.free[at] or self.word(at - 1) not in (";", "{", "}"):
                continue
            word = self.word(at)
            if not re.match(r"(self|[a-z_]\w*)$|\*", word) or word in _KEYWORDS:
                continue
            here = at
            while self.word(here) not in (";", "{", "}", ""):
                here = self.partner[here] + 1 if self.word(here) in "([" else here + 1
            if self.word(here) != ";":
                continue
            start, end, text = self.span(at, here)
            if "\n" in text or "?" in text or "//" in text:
                continue
            yield (start, end, f"if !SWITCH {{ {text} }}", f"{text} | is left out", at)

    def returns(self):
        for name, start, at, end in self.bodies:
            head = self.text[self.tokens[start][0] : self.tokens[at][0]]
            said = re.search(r"->\s*([^{]+?)\s*(?:where\b.*)?$", head, re.S)
            said = said[1] if said else "()"
            if end - at < 4:
                continue
            if said == "bool":
                values = ("true", "false")
            elif re.fullmatch(r"u8|u16|u32|u64|usize|i64|Time", said):
                values = ("0",)
            elif said == "f64":
                values = ("0.0",)
            elif said.startswith("Option<"):
                values = ("None",)
            else:
                continue
            place = self.tokens[at][0] + 1
            for value in values:
                yield (
                    place,
                    place,
                    f" if SWITCH {{ return {value}; }} ",
                    f"fn {name} | answers {value}",
                    at + 1,
                )
