"""Values as `console.dir` of Node.js prints them, translated to JSON.

{ name: 'chat', attributes: { 'gen_ai.request.model': 'gpt-5', tags: [ 'a', 'b' ] }, parent: undefined }
"""

import re
from dataclasses import dataclass, field
from typing import Final

import orjson

_TOKEN: Final = re.compile(
    r"""\s*(?:
        (?P<string>'(?:[^'\\]|\\.)*' | "(?:[^"\\]|\\.)*" | `(?:[^`\\]|\\.)*`)
      | (?P<prefix>\[Object:\ null\ prototype\] | <ref\ \*\d+>)
      | (?P<omission>\[(?:Object|Array|Circular\ \*\d+|Function[^\]\n]*|Getter[^\]\n]*)\])
      | (?P<more>\.\.\.\ \d+\ more\ \w+)
      | (?P<date>\d{4}-\d\d-\d\dT[\d:.]+Z)
      | (?P<number>-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)n?
      | (?P<name>[A-Za-z_$][\w$]*)
      | (?P<mark>[{}\[\]:,+])
    )""",
    re.X | re.S,
)
_ESCAPE: Final = re.compile(r"\\(?:x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|(.))", re.S)
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0", "\n": ""}
_WORDS: Final = {"true": "true", "false": "false"}
_NULL: Final = "null"


@dataclass(kw_only=True)
class _Output:
    """Tokens of JSON; a name or the pieces of a string wait for the token after them."""

    tokens: list[str] = field(default_factory=list)
    pieces: list[str] = field(default_factory=list)
    name: str = ""

    def add(self, kind: str, value: str) -> None:
        if kind == "string":
            self.pieces.append(_unescape(value[1:-1]))
        elif kind == "more" and self.pieces:
            # Of a long text, Node.js prints the beginning only.
            self.pieces.append(value)
        elif value != "+" and kind != "prefix":
            self.finish(value)
            if kind == "name":
                self.name = value
            else:
                self.tokens.append({"mark": value, "number": value, "date": f'"{value}"'}.get(kind, _NULL))

    def finish(self, following: str) -> None:
        """Add the name or string before another token: a name is a key, the class of an object, or a word."""
        if self.pieces:
            self.tokens.append(orjson.dumps("".join(self.pieces)).decode())
        elif self.name and following == ":":
            self.tokens.append(f'"{self.name}"')
        elif self.name and following not in {"{", "["}:
            self.tokens.append(_WORDS.get(self.name, _NULL))
        self.pieces, self.name = [], ""


def to_json(text: str) -> str | None:
    """Return a printed value as JSON; None for any other text. What was not printed becomes null."""
    output, position, end = _Output(), 0, len(text.rstrip())
    while position < end:
        match = _TOKEN.match(text, position)
        if match is None or match.lastgroup is None:
            return None
        position = match.end()
        output.add(match.lastgroup, match[match.lastgroup])
    output.finish("")
    return "".join(output.tokens)


def _unescape(text: str) -> str:
    return _ESCAPE.sub(_character, text) if "\\" in text else text


def _character(match: re.Match[str]) -> str:
    code = match[1] or match[2]
    if code is None:
        return _ESCAPES.get(match[3], match[3])
    number = int(code, 16)
    # Half of a pair, which no text may have.
    return "\ufffd" if 0xD800 <= number <= 0xDFFF else chr(number)
