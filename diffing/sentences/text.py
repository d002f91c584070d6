"""Values and phrases as parts of a sentence. Pure."""

import json
from typing import Final

from diffing.sequences.text_diff import shorten
from traces.core.json_types import JSONValue
from traces.core.json_walk import pointer_tokens

# Characters of a value.
VALUE: Final = 60


def format_value(value: JSONValue) -> str:
    """A value as text in a sentence."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    if isinstance(value, str):
        return f"“{shorten(value, VALUE)}”" if " " in value or not value else shorten(value, VALUE)
    if isinstance(value, dict):
        return f"{{{', '.join(list(value)[:4])}{'…' if len(value) > 4 else ''}}}"
    if isinstance(value, list):
        return (
            f"{len(value)} item{'' if len(value) == 1 else 's'}"
            if len(value) > 3
            else ", ".join(map(format_value, value))
        )
    return "nothing" if value is None else str(value)


def format_values(base: JSONValue, candidate: JSONValue) -> tuple[str, str]:
    """Two differing values as texts in a sentence; as JSON if they would look the same, like 1 and "1"."""
    texts = format_value(base), format_value(candidate)
    return texts if texts[0] != texts[1] else (_as_json(base), _as_json(candidate))


def _as_json(value: JSONValue) -> str:
    return shorten(json.dumps(value, ensure_ascii=False, sort_keys=True), VALUE)


def pointer_name(path: str) -> str:
    """The last name of a JSON pointer; for an item, the name of its list and its number from 1."""
    parts = pointer_tokens(path)
    if parts and parts[-1].isdecimal():
        holder = next((part for part in reversed(parts) if not part.isdecimal()), "item")
        return f"{holder} {int(parts[-1]) + 1}"
    return parts[-1] if parts else ""


def display_text(value: JSONValue) -> str:
    return value if isinstance(value, str) else "" if value is None else format_value(value)


def end_sentence(sentence: str) -> str:
    """Add the full stop, unless a quotation at the end of the sentence has one."""
    return sentence if sentence.endswith((".”", "?”", "!”", "…”")) else f"{sentence}."


def capitalize(text: str) -> str:
    return text[:1].upper() + text[1:]


def inside_sentence(text: str) -> str:
    """A title as part of a sentence: in lower case, without a trailing comma."""
    return (text[:1].lower() + text[1:]).rstrip(",")


def count_noun(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
