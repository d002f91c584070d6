"""Short labels for the changes of a fork. Pure."""

from collections.abc import Iterator
from typing import Final

from diffing.sentences.text import format_value
from replay.overrides.profile import Match, Override, OverrideProfile
from traces.core.json_types import JSONObject

_MAX_LENGTH: Final = 60


def changes(profile: OverrideProfile) -> list[str]:
    """One short text for each value that a profile sets."""
    return [f"{text}{_location(entry.match)}" for entry in profile.overrides for text in _texts(entry)]


def _texts(entry: Override) -> Iterator[str]:
    if entry.model is not None:
        yield from _model_texts(entry.model.model_dump(exclude_unset=True))
    if entry.prompt is not None:
        for name in entry.prompt.model_fields_set:
            yield "system prompt" if name == "system" else name.replace("_", " ")
    if entry.retrieval is not None:
        for name, value in entry.retrieval.model_dump(exclude_unset=True).items():
            yield "documents" if name == "documents" else _cut(f"{name} {value}")
    if entry.messages is not None:
        yield "messages"
    if entry.arguments is not None:
        yield "arguments"
    if entry.tool is not None or "output" in entry.sets:
        yield "answer"


def _model_texts(model: JSONObject) -> Iterator[str]:
    for name, value in model.items():
        if name == "tools" and isinstance(value, list):
            yield f"{len(value)} tool{'' if len(value) == 1 else 's'} offered"
        elif name == "parameters" and isinstance(value, dict):
            yield from (_cut(f"{field} {format_value(setting)}") for field, setting in value.items())
        elif name == "unset" and isinstance(value, list):
            yield from (f"no {str(field).replace('_', ' ')}" for field in value)
        elif value is not None:
            yield "response format" if name == "response_format" else _cut(f"{name} {value}")


def _location(match: Match) -> str:
    if match.step is not None:
        return f" of step {match.step}"
    return f" of {match.name}" if match.name else ""


def _cut(text: str) -> str:
    return text if len(text) <= _MAX_LENGTH else f"{text[:_MAX_LENGTH]}…"
