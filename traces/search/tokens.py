"""Words of payloads and queries. Both sides use the same rules, so the databases only compare whole words. Pure.

A word is a run of letters and digits without case and accents: `get_order("A-1042")` has the words get, order, a and
1042, and `Crème` is creme. Each character of a script without spaces between words is a word, and so is each emoji.

Two words with only a joint between them, one with a digit, are a reference, and also a word together. A query for
`A-1042` asks for that word, so it does not find texts in which *a* and *1042* are apart.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
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
_LETTER: Final = rf"[^\W_{_SINGLES}]"
# Hyphens and dashes, and the other signs inside references.
_JOINT: Final = "[-_./\u2010-\u2015\u2212]"
_JOINTS: Final = re.compile(_JOINT)
# Words with joints between them.
_CHAIN: Final = re.compile(rf"[{_SINGLES}]|{_LETTER}+(?:{_JOINT}{_LETTER}+)*")
# The joint of references in the index. Both databases take it for a letter.
_HYPHEN: Final = "\u2010"
_SEPARATORS: Final = {code: 45 if chr(code) in "-_./" else 32 for code in range(128) if not chr(code).isalnum()}
_TABLE: Final = bytes(_SEPARATORS.get(code, code) for code in range(256))


def words_of_json(data: bytes) -> set[str]:
    """Return the words in the texts of a JSON value, given as canonical bytes."""
    if b'"$' in data:
        data = _REFERENCE.sub(b" ", data)
    if b":" in data:
        data = _STRUCTURE.sub(b" ", data)
    if b"\\" in data:
        data = _ESCAPE.sub(b" ", data)
    return _words_of_ascii(data) if data.isascii() else words_of_text(data.decode(errors="replace"))


def words_of_text(text: str) -> set[str]:
    if text.isascii():
        return _words_of_ascii(text.encode())
    return _words_of_chains(set(_CHAIN.findall(_JOINTS.sub("-", fold(text)))))


def _words_of_ascii(data: bytes) -> set[str]:
    # Most joints end a sentence: without them, their words are no chains.
    text = data.translate(_TABLE).lower().replace(b"- ", b" ").decode("ascii")
    return _words_of_chains(set(text.split()))


def _words_of_chains(chains: set[str]) -> set[str]:
    """Return the words of chains with one kind of joint; most chains are a word."""
    joined_chains = [chain for chain in chains if "-" in chain]
    words = chains.difference(joined_chains).union(*map(_words_of_chain, joined_chains))
    words.discard("")
    return words


def _words_of_chain(chain: str) -> list[str]:
    """Return the words and references of a chain, and empty ones."""
    words = chain.split("-")
    return words if "".join(words).isalpha() else words + _references(words)


def _references(words: Sequence[str]) -> list[str]:
    """Return the reference of each word and the next, or an empty text: none, or too long for the index."""
    return [
        first + _HYPHEN + second
        if first and second and not (first + second).isalpha() and len(first + second) < MAX_LENGTH
        else ""
        for first, second in pairwise(words)
    ]


def query_words(words: Iterable[str]) -> list[str]:
    """Return the words of a query in order, each once, and references in place of their words.

    What is longer than any indexed word is cut.
    """
    chains = (chain for word in words for chain in _CHAIN.findall(fold(word)))
    return list(dict.fromkeys(token[:MAX_LENGTH] for chain in chains for token in _query_tokens(_JOINTS.split(chain))))


def _query_tokens(parts: Sequence[str]) -> Iterator[str]:
    """Yield the references of a chain, and the words that are in none of them."""
    is_second = False
    for word, reference in zip(parts, _references([*parts, ""]), strict=True):
        if reference:
            yield reference
        elif not is_second:
            yield word
        is_second = bool(reference)


def word_pattern(words: Iterable[str]) -> re.Pattern[str]:
    """Return a pattern that finds these words in a folded text. The last one may be the beginning of a word."""
    *whole, last = words
    ends = [*(_whole_word(word) for word in whole), _whole_word(last, rest=f"{_LETTER}*")]
    return re.compile("|".join(ends))


def _whole_word(word: str, rest: str = "") -> str:
    if _SINGLE.match(word):
        return re.escape(word)
    text = _JOINT.join(map(re.escape, word.split(_HYPHEN)))
    return rf"(?<!{_LETTER}){text}{rest or f'(?!{_LETTER})'}"


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
