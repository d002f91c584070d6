"""Guess from a tool's name and description whether it is safe to run. Pure.

Unsafe words win over safe ones. A tool with neither is unknown, which counts as a side effect until it is reviewed.
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
    """Suggestion from the words; a person decides. `safe` is None without a known word."""

    safe: bool | None
    reason: str


def suggest(name: str, description: str = "") -> Suggestion:
    """Look for known words among the parts of snake_case, camelCase and plain text."""
    for vocabulary, safe in ((UNSAFE_WORDS, False), (SAFE_WORDS, True)):
        if places := _places(vocabulary, name, description):
            return Suggestion(safe=safe, reason=places)
    return Suggestion(safe=None, reason="treated as a side effect until reviewed")


def looks_like_write(name: str) -> bool:
    """True if the name contains an unsafe word, or no word of reading."""
    words = _words(name)
    return bool(words & set(UNSAFE_WORDS)) or not words & _READING


def _places(vocabulary: tuple[str, ...], name: str, description: str) -> str:
    """Quote the words of the name and, beyond those, of the description; empty if there are none."""
    in_name, in_description = _words(name), _words(description)
    matches = {
        "name": [word for word in vocabulary if word in in_name],
        "description": [word for word in vocabulary if word in in_description - in_name],
    }
    return "; ".join(
        f"{place} contains {', '.join(f'“{word}”' for word in words)}" for place, words in matches.items() if words
    )


def _words(text: str) -> set[str]:
    return {part.lower() for part in _PARTS.findall(text)}


def blocked_message(tool: str) -> str:
    return f"[Forkpoint] Tool '{tool}' blocked (side effect, no cache available)"
