"""Words of payloads and queries. Both sides use the same rules, so the databases only compare whole words. Pure.

A word is a run of letters and digits in lower case: `get_order("A-1042")` has the words get, order, a and 1042. Each
character of a script without spaces between words is a word.
"""

import re
from collections.abc import Iterable
from typing import Final

# In characters; longer ones are encoded data.
MAX_LENGTH: Final = 40
# Names of members that almost every message has.
_STRUCTURE: Final = re.compile(
    rb'"(?:role|type)":"\w*"|'
    rb'"(?:arguments|content|finish_reason|function|id|input|message|messages|name|output|parameters|properties|required'
    rb'|result|role|text|tool_calls|tools|type)":'
)
_REFERENCE: Final = re.compile(rb'\{"\$part":"[0-9a-f]{64}"\}|"\$(?:blocks|literal)":')
_ESCAPE: Final = re.compile(rb"\\(?:u[0-9a-f]{4}|.)")
_IDEOGRAPHS: Final = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
_WORD: Final = re.compile(rf"[{_IDEOGRAPHS}]|[^\W_{_IDEOGRAPHS}]+")
_TABLE: Final = bytes(code if chr(code).isalnum() else 32 for code in range(128)) + bytes(range(128, 256))


def words_of_json(data: bytes) -> set[str]:
    """Return the words in the texts of a JSON value, given as canonical bytes."""
    if b'"$' in data:
        data = _REFERENCE.sub(b" ", data)
    if b":" in data:
        data = _STRUCTURE.sub(b" ", data)
    if b"\\" in data:
        data = _ESCAPE.sub(b" ", data)
    if data.isascii():
        return set(data.translate(_TABLE).lower().decode("ascii").split())
    return words_of_text(data.decode(errors="replace"))


def words_of_text(text: str) -> set[str]:
    return set(_WORD.findall(text.lower()))


def query_words(words: Iterable[str]) -> list[str]:
    """Return the words of a query in order, each once. What is longer than any indexed word is cut."""
    tokens = (token[:MAX_LENGTH] for word in words for token in _WORD.findall(word.lower()))
    return list(dict.fromkeys(tokens))


def word_pattern(words: Iterable[str]) -> re.Pattern[str]:
    """Return a pattern that finds these words in a text. The last one may be the beginning of a word."""
    *whole, last = map(re.escape, words)
    ends = [*(rf"{word}(?![^\W_])" for word in whole), rf"{last}[^\W_]*"]
    return re.compile(rf"(?<![^\W_])(?:{'|'.join(ends)})", re.IGNORECASE)
