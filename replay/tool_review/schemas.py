"""Tools, reviews and suggestions, as the REST interface shows them."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field, StrictBool, model_validator

from traces.core.json_types import JSONValue
from traces.core.schema import Schema


class ToolSuggestion(Schema):
    """What a tool's words say about it; a person decides."""

    safe: bool
    reason: str


class ToolDecisionView(Schema):
    """`safe` null: the review was taken back."""

    safe: bool | None
    by: str
    via: Literal["page", "yaml"]
    at: datetime


class ToolView(Schema):
    """A tool that was called or offered in a run, is configured, or was decided about."""

    name: str
    apps: list[str]
    calls: int  # in recordings; those of replays are not counted
    last_seen: datetime | None  # null: never called
    description: str
    parameters: JSONValue  # the schema with which a model step offered it; null: none did
    suggestion: ToolSuggestion
    safe: bool | None  # null: not reviewed, and so never run
    history: list[ToolDecisionView]  # the newest first
    executor: str  # what runs it live: "http", "python" or "mcp" with the place; empty: nothing does


class ToolList(Schema):
    tools: list[ToolView]


class ToolChoice(Schema):
    name: Annotated[str, Field(min_length=1, max_length=300)]
    safe: StrictBool | None  # null: take the review back


class ToolChoices(Schema):
    decisions: Annotated[list[ToolChoice], Field(max_length=10_000)]

    @model_validator(mode="after")
    def _each_once(self) -> "ToolChoices":
        names = [choice.name for choice in self.decisions]
        if len(set(names)) < len(names):
            twice = next(name for at, name in enumerate(names) if name in names[:at])
            raise ValueError(f"{twice!r} is decided twice")
        return self
