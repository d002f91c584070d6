"""Recorded texts on a terminal: control characters are shown instead of executed.

With them, a text could clear a question to the operator, or write another one in its place.
"""

from typing import Final

_PICTURES: Final = 0x2400  # first of the Unicode control pictures
_SAFE_CONTROLS: Final = "\n\t"
_CONTROLS: Final = {code: chr(_PICTURES + code) for code in range(0x20) if chr(code) not in _SAFE_CONTROLS}
_INVISIBLE: Final = dict.fromkeys((*range(0x80, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A)), "\ufffd")
_BREAKS: Final = {
    **{ord(sign): chr(_PICTURES + ord(sign)) for sign in _SAFE_CONTROLS},
    0x2028: "\ufffd",
    0x2029: "\ufffd",
}
_SIGNS: Final = {**_CONTROLS, 0x7F: "\u2421", **_INVISIBLE}


def harmless(text: str) -> str:
    """Replace control characters, and those that change the writing direction, with visible symbols."""
    return text.translate(_SIGNS)


def one_line(text: str) -> str:
    """Replace line breaks and tabs, too: a name could otherwise look like the next line of a report."""
    return harmless(text).translate(_BREAKS)
