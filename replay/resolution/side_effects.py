"""Guess from a tool's name and description whether it is safe to run. Pure.

Unsafe words, and an action as the first word of the name, win over safe words. A tool with none of them is unknown,
which counts as a side effect until it is reviewed.
"""

import re
from dataclasses import dataclass
from typing import Final

UNSAFE_WORDS: Final = ("update", "send", "write", "delete", "email", "payment", "purchase", "post", "create")
SAFE_WORDS: Final = ("read", "get", "search", "find", "list", "fetch")
# Descriptions use other forms: `Gets the report and emails it`.
_UNSAFE_FORMS: Final = {"sent": "send", "wrote": "write", "written": "write"} | {
    f"{stem}{ending}": word
    for word in UNSAFE_WORDS
    for stem, endings in ((word, ("", "s")), (word.removesuffix("e"), ("ed", "ing")))
    for ending in endings
}
# Verbs that change something, as the first word of a name. Words that are also common nouns (order, return, store) are
# left out: `order_status` reads.
_ACTIONS: Final = frozenset(
    (
        *("add", "append", "apply", "approve", "assign", "book", "cancel", "charge", "clear", "close", "commit"),
        *("confirm", "deploy", "disable", "dispatch", "drop", "edit", "enable", "exchange", "execute", "forward"),
        *("grant", "insert", "install", "invite", "issue", "kill", "merge", "modify", "move", "notify", "overwrite"),
        *("pay", "publish", "push", "refund", "reject", "remove", "rename", "reply", "reschedule", "reserve"),
        *("reset", "restart", "revoke", "save", "schedule", "submit", "subscribe", "terminate", "transfer"),
        *("trigger", "unsubscribe", "upload", "upsert", "withdraw"),
    )
)
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
    if places := _places(UNSAFE_WORDS, name, description):
        return Suggestion(safe=False, reason=places)
    if (verb := next(iter(_parts(name)), "")) in _ACTIONS:
        return Suggestion(safe=False, reason=f"name begins with “{verb}”")
    if places := _places(SAFE_WORDS, name, description):
        return Suggestion(safe=True, reason=places)
    return Suggestion(safe=None, reason="treated as a side effect until reviewed")


def looks_like_write(name: str) -> bool:
    """True if the name contains an unsafe word, or no word of reading."""
    words = _words(name)
    return bool(words & set(UNSAFE_WORDS)) or not words & _READING


def _places(vocabulary: tuple[str, ...], name: str, description: str) -> str:
    """Quote the words of the name and, beyond those, of the description; empty if there are none."""
    in_name, in_description = ({_UNSAFE_FORMS.get(word, word) for word in _words(text)} for text in (name, description))
    matches = {
        "name": [word for word in vocabulary if word in in_name],
        "description": [word for word in vocabulary if word in in_description - in_name],
    }
    return "; ".join(
        f"{place} contains {', '.join(f'“{word}”' for word in words)}" for place, words in matches.items() if words
    )


def _words(text: str) -> set[str]:
    return {*_parts(text)}


def _parts(text: str) -> list[str]:
    return [part.lower() for part in _PARTS.findall(text)]


def blocked_message(tool: str) -> str:
    return f"[Forkpoint] Tool '{tool}' blocked (side effect, no cache available)"
