"""Marks of recorders in place of content that they removed: two equal marks may hide different content. Pure.

Example: `OPENINFERENCE_HIDE_INPUTS` records every input as `__REDACTED__`. So an input that repeats an earlier one may
be another, and nothing shows what it came from.
"""

import re
from typing import Final

_LONGEST: Final = 200
# A marker with a keyed digest keeps the identity of what it replaces.
_NO_DIGEST: Final = r"(?!\[redacted:[a-z0-9-]+:[0-9a-f]{16}\])"
_WORDS: Final = r"(?:redact(?:ed|ion)|masked|scrubbed|dropped)\b[^\]>\n]{0,80}?"
# Each of these words begins with one.
_STEMS: Final = ("redact", "masked", "scrubbed", "dropped")
_MARK: Final = rf"{_NO_DIGEST}\[{_WORDS}\]|<{_WORDS}>"
_GAP: Final = re.compile(_MARK, re.IGNORECASE)
# Only as a whole text, because agents write the same into longer ones.
_WHOLE: Final = re.compile(
    rf"{_MARK}|__redacted__|[\[<]?(?:redacted|masked|hidden)[\]>]?|<truncated\b[^>\n]*>|\*{{3,}}", re.IGNORECASE
)


def is_hidden(text: str) -> bool:
    """True if a text is nothing but a mark."""
    return len(text) <= _LONGEST and _WHOLE.fullmatch(text.strip()) is not None


def has_gap(text: str) -> bool:
    """True if content was removed from a text, or all of it."""
    if is_hidden(text):
        return True
    if "[" not in text and "<" not in text:
        return False
    # Ten times as fast as the pattern, which few texts need.
    lowercase_text = text.lower()
    return any(stem in lowercase_text for stem in _STEMS) and _GAP.search(text) is not None
