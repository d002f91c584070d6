"""Override profiles: what a fork changes, from the fork on. A profile is identified by its digest."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from traces.canonical import digest
from traces.json_types import JSONObject, JSONValue
from traces.schemas import Schema
from traces.vocabulary import StepType


class Match(Schema):
    """Which steps an entry applies to: one step by id or number, or a type with name and model globs."""

    step: str | int | None = None
    type: StepType | None = None
    name: str | None = None
    model: str | None = None

    @model_validator(mode="after")
    def _says_something(self) -> "Match":
        if self.step is None and self.type is None:
            raise ValueError("a match needs `step` or `type`")
        if self.step is not None and (self.type or self.name or self.model):
            raise ValueError("`step` names one step: leave out type, name and model")
        return self


class PromptOverride(Schema):
    """For model steps `system` replaces the system prompt; the rest is for prompt steps."""

    system: str | None = None
    template: str | None = None
    template_id: str | None = None
    version: str | None = None
    variables: JSONObject | None = None


class MessageEdit(Schema):
    """One edit of a model request; `index` counts the recorded messages."""

    op: Literal["replace", "insert", "delete"]
    index: Annotated[int, Field(ge=0)]
    content: JSONValue = None
    role: str | None = None


class ModelOverride(Schema):
    provider: str | None = None
    model: str | None = None
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    top_p: Annotated[float, Field(ge=0, le=1)] | None = None
    max_tokens: Annotated[int, Field(ge=0)] | None = None
    seed: int | None = None
    stop: list[str] | None = None


class RetrievalOverride(Schema):
    """`documents` is the candidate list itself; the rest asks again with other settings."""

    query: str | None = None
    top_k: Annotated[int, Field(ge=0)] | None = None
    filters: JSONObject | None = None
    embedding_profile: str | None = None
    documents: list[JSONObject] | None = None


class ToolOverride(Schema):
    """What the tool answers with."""

    output: JSONValue
    status: Literal["ok", "error", "timeout", "partial"] = "ok"


class Override(Schema):
    """One entry. A field that is absent is not overridden; 0 and empty are values."""

    match: Match
    prompt: PromptOverride | None = None
    messages: list[MessageEdit] | None = None
    model: ModelOverride | None = None
    retrieval: RetrievalOverride | None = None
    tool: ToolOverride | None = None
    output: JSONValue = None  # presence counts, also of null: see `sets`

    @property
    def sets(self) -> list[str]:
        """The categories that this entry sets, `output: null` among them when it is written out."""
        return sorted(self.model_fields_set - {"match"})

    @model_validator(mode="after")
    def _sets_something(self) -> "Override":
        if not self.sets:
            raise ValueError("an override must set at least one of prompt, messages, model, retrieval, tool, output")
        return self


class OverrideProfile(Schema):
    overrides: list[Override]

    @property
    def digest(self) -> str:
        return digest(self.model_dump(mode="json", exclude_unset=True))
