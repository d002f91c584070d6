"""Words of payloads and queries. Both sides use the same rules, so the databases only compare whole words. Pure.

A word is a run of letters and digits without case and accents: `get_order("A-1042")` has the words get, order, a and
1042, and `Crème` is creme. Each character of a script without spaces between words is a word, and so is each emoji.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Final

# In characters; longer ones are encoded data. A digest in hexadecimal digits has 64.
MAX_LENGTH: Final = 64
# Names of members that almost every message has.
_STRUCTURE: Final = re.compile(
    rb'"(?:role|type)":"\w*"|'
    rb'"(?:arguments|content|finish_reason|function|id|input|message|messages|name|output|parameters|properties|required'
    rb'|result|role|text|tool_calls|tools|type)":'
)
_REFERENCE: Final = re.compile(rb'\{"\$part":"[0-9a-f]{64}"\}|"\$(?:blocks|literal)":')
_ESCAPE: Final = re.compile(rb"\\(?:u[0-9a-f]{4}|.)")
_ACCENT: Final = re.compile("[\u0300-\u036f]")
# Of Thai, Lao, Burmese, Khmer, Japanese, Chinese and Korean.
_LETTERS: Final = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
    "\U00020000-\U0003ffff"
)
_EMOJI: Final = "\u2600-\u27bf\U0001f000-\U0001faff"
_SINGLES: Final = _LETTERS + _EMOJI
_SINGLE: Final = re.compile(f"[{_SINGLES}]")
_WORD: Final = re.compile(rf"[{_SINGLES}]|[^\W_{_SINGLES}]+")
_LETTER: Final = rf"[^\W_{_SINGLES}]"
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
    return set(_WORD.findall(fold(text)))


def query_words(words: Iterable[str]) -> list[str]:
    """Return the words of a query in order, each once. What is longer than any indexed word is cut."""
    tokens = (token[:MAX_LENGTH] for word in words for token in _WORD.findall(fold(word)))
    return list(dict.fromkeys(tokens))


def word_pattern(words: Iterable[str]) -> re.Pattern[str]:
    """Return a pattern that finds these words in a folded text. The last one may be the beginning of a word."""
    *whole, last = words
    ends = [*(_whole_word(word) for word in whole), _whole_word(last, rest=f"{_LETTER}*")]
    return re.compile("|".join(ends))


def _whole_word(word: str, rest: str = "") -> str:
    is_single = _SINGLE.match(word)
    return re.escape(word) if is_single else rf"(?<!{_LETTER}){re.escape(word)}{rest or f'(?!{_LETTER})'}"


def fold(text: str) -> str:
    """Return a text without case, accents and variants of characters: `Crème` and `CREME` are equal."""
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFC", _ACCENT.sub("", unicodedata.normalize("NFKD", text))).casefold()


def fold_places(text: str) -> Sequence[int]:
    """Return the index in a text of each character of the folded text, and its length. The text is in NFC."""
    if text.isascii():
        return range(len(text) + 1)
    return [*(index for index, character in enumerate(text) for _ in fold(character)), len(text)]
