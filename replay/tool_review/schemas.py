"""Schemas of tools, reviews and suggestions in the REST API."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field, StrictBool, model_validator

from traces.core.json_types import JSONValue
from traces.core.schema import Schema


class ToolSuggestion(Schema):
    """A suggestion from a tool's name and description; a person decides."""

    # Null: without a known word. The tool counts as a side effect until it is reviewed.
    safe: bool | None
    reason: str


class ToolDecisionView(Schema):
    """One decision; `safe` null: the review was withdrawn."""

    safe: bool | None
    by: str
    # "suggestion": accepted together with others, as suggested.
    via: Literal["page", "yaml", "suggestion"]
    at: datetime


class ToolView(Schema):
    """A tool that was called or offered in a run, configured, or reviewed."""

    name: str
    apps: list[str]
    # In recordings; calls of replays are not counted.
    calls: int
    # Null: never called.
    last_seen: datetime | None
    description: str
    # The JSON schema that a model step offered; null: it was never offered.
    parameters: JSONValue
    suggestion: ToolSuggestion
    # Null: not reviewed, so it never runs.
    safe: bool | None
    # Newest first.
    history: list[ToolDecisionView]
    # What runs it live: "http", "python" or "mcp" and the destination; empty: it is not configured.
    executor: str


class ToolList(Schema):
    tools: list[ToolView]


class ToolChoice(Schema):
    name: Annotated[str, Field(min_length=1, max_length=300)]
    # Null: withdraw the review.
    safe: StrictBool | None


class ToolChoices(Schema):
    decisions: Annotated[list[ToolChoice], Field(max_length=10_000)]
    # True: the decisions are the suggestions of unreviewed tools. Refused if one of them is not.
    as_suggested: StrictBool = False

    @model_validator(mode="after")
    def _reject_duplicates(self) -> "ToolChoices":
        names = [choice.name for choice in self.decisions]
        if len(set(names)) < len(names):
            duplicate = next(name for at, name in enumerate(names) if name in names[:at])
            raise ValueError(f"“{duplicate}” has two decisions")
        return self
