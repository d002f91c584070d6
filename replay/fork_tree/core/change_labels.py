"""What a fork changed, in a few words. Pure."""

from collections.abc import Iterator
from typing import Final

from diffing.sentences.text import format_value
from replay.overrides.profile import Match, Override, OverrideProfile
from traces.core.json_types import JSONObject

_SHOWN: Final = 60


def changes(profile: OverrideProfile) -> list[str]:
    """One short text for each thing that a profile sets."""
    return [f"{what}{_where(entry.match)}" for entry in profile.overrides for what in _said(entry)]


def _said(entry: Override) -> Iterator[str]:
    if entry.model is not None:
        yield from _asked_with(entry.model.model_dump(exclude_unset=True))
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


def _asked_with(model: JSONObject) -> Iterator[str]:
    for name, value in model.items():
        if name == "tools" and isinstance(value, list):
            yield f"{len(value)} tool{'' if len(value) == 1 else 's'} offered"
        elif name == "parameters" and isinstance(value, dict):
            yield from (_cut(f"{each} {format_value(given)}") for each, given in value.items())
        elif name == "unset" and isinstance(value, list):
            yield from (f"no {str(each).replace('_', ' ')}" for each in value)
        elif value is not None:
            yield "response format" if name == "response_format" else _cut(f"{name} {value}")


def _where(match: Match) -> str:
    if match.step is not None:
        return f" of step {match.step}"
    return f" of {match.name}" if match.name else ""


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
