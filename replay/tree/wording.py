"""What a fork changed, in a few words. Pure."""

from collections.abc import Iterator
from typing import Final

from replay.overrides import Match, Override, OverrideProfile

_SHOWN: Final = 60


def changes(profile: OverrideProfile) -> list[str]:
    """One short text for each thing that a profile sets."""
    return [f"{what}{_where(entry.match)}" for entry in profile.overrides for what in _said(entry)]


def _said(entry: Override) -> Iterator[str]:
    if entry.model is not None:
        for name, value in entry.model.model_dump(exclude_unset=True).items():
            yield _cut(f"{name} {value}")
    if entry.prompt is not None:
        for name in entry.prompt.model_fields_set:
            yield "system prompt" if name == "system" else name.replace("_", " ")
    if entry.retrieval is not None:
        for name, value in entry.retrieval.model_dump(exclude_unset=True).items():
            yield "documents" if name == "documents" else _cut(f"{name} {value}")
    if entry.messages is not None:
        yield "messages"
    if entry.tool is not None or "output" in entry.sets:
        yield "answer"


def _where(match: Match) -> str:
    if match.step is not None:
        return f" of step {match.step}"
    return f" of {match.name}" if match.name else ""


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
