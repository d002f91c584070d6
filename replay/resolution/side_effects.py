"""Guess from a tool's name and description whether it is safe to run. Pure.

Unsafe words win over safe ones; a tool without known words counts as unsafe.
"""

import re
from dataclasses import dataclass
from typing import Final

UNSAFE_WORDS: Final = ("update", "send", "write", "delete", "email", "payment", "purchase", "post", "create")
SAFE_WORDS: Final = ("read", "get", "search", "find", "list", "fetch")
_READING: Final = frozenset(
    (
        *SAFE_WORDS,
        *("calculate", "calc", "check", "compute", "count", "describe", "load", "look", "lookup", "query"),
        *("retrieve", "show", "summarize", "think", "translate", "validate", "verify", "view"),
    )
)
_PARTS: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


@dataclass(frozen=True, kw_only=True)
class Suggestion:
    """Suggestion from the words; a person decides."""

    safe: bool
    reason: str


def suggest(name: str, description: str = "") -> Suggestion:
    """Look for known words among the parts of snake_case, camelCase and plain text."""
    words = {part.lower() for part in _PARTS.findall(f"{name} {description}")}
    if unsafe := [word for word in UNSAFE_WORDS if word in words]:
        return Suggestion(safe=False, reason=f"contains {', '.join(unsafe)}")
    if safe := [word for word in SAFE_WORDS if word in words]:
        return Suggestion(safe=True, reason=f"contains {', '.join(safe)}")
    return Suggestion(safe=False, reason="contains no known word: a side effect until reviewed")


def looks_like_write(name: str) -> bool:
    """True if the name contains an unsafe word, or no word of reading."""
    words = {part.lower() for part in _PARTS.findall(name)}
    return bool(words & set(UNSAFE_WORDS)) or not words & _READING


def blocked_message(tool: str) -> str:
    return f"[Forkpoint] Tool '{tool}' blocked (side effect, no cache available)"
