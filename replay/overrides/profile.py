"""Override profiles: what a fork changes, from the fork on. A profile is identified by its digest."""

from typing import Annotated, Final, Literal

from pydantic import Field, StrictInt, model_validator

from traces.core.canonical import digest
from traces.core.json_types import JSONObject, JSONValue
from traces.core.schema import Schema
from traces.core.vocabulary import StepStatus, StepType

_INT64: Final = 2**63
MOST_ENTRIES: Final = 10_000
StepRef = Annotated[str, Field(max_length=200)] | StrictInt
Glob = Annotated[str, Field(max_length=300)]
# how somebody may say that a tool call ends
CallEnd = Literal[StepStatus.OK, StepStatus.ERROR, StepStatus.TIMEOUT, StepStatus.PARTIAL, StepStatus.DENIED]


class Match(Schema):
    """Which steps an entry applies to: one step by id or number, or a type with name and model globs.

    `since` and `before` are numbers of steps: a type holds from the one on, and up to the other one.
    """

    step: StepRef | None = None
    type: StepType | None = None
    name: Glob | None = None
    model: Glob | None = None
    since: Annotated[int, Field(ge=1)] | None = None
    before: Annotated[int, Field(ge=1)] | None = None

    @model_validator(mode="after")
    def _says_something(self) -> "Match":
        if self.step is None and self.type is None:
            raise ValueError("a match needs `step` or `type`")
        if self.step is not None and (self.type or self.name or self.model or self.since or self.before):
            raise ValueError("`step` names one step: leave out type, name, model, since and before")
        return self

    def includes(self, number: int) -> bool:
        """Whether a step lies within `since` and `before`."""
        return (self.since is None or number >= self.since) and (self.before is None or number < self.before)


# Names of a model request that `parameters` cannot set, because they have a field of their own or are no parameters.
OWN_NAMES: Final = (
    "temperature",
    "top_p",
    "max_tokens",
    "max_completion_tokens",
    "seed",
    "stop",
    "stop_sequences",
    "tools",
    "response_format",
    "messages",
    "model",
    "provider",
    "parameters",
    "system",
)
# What every request has.
KEPT_NAMES: Final = ("messages", "model", "provider", "parameters", "system")


class PromptOverride(Schema):
    """For model steps `system` replaces the system prompt, an empty one leaves it out; the rest is for prompt steps."""

    system: str | None = None
    template: str | None = None
    template_id: str | None = None
    version: str | None = None
    variables: JSONObject | None = None


class MessageEdit(Schema):
    """One edit of a model request; `index` counts the recorded messages.

    `message` is a whole one, with the calls that it makes or answers, in place of content and role.
    """

    op: Literal["replace", "insert", "delete"]
    index: Annotated[int, Field(ge=0, lt=2**31)]
    content: JSONValue = None
    role: str | None = None
    message: JSONObject | None = None

    @model_validator(mode="after")
    def _says_it_once(self) -> "MessageEdit":
        if self.message is None:
            return self
        if self.op == "delete" or self.content is not None or self.role is not None:
            raise ValueError("`message` is for replace and insert, and stands for content and role")
        if not isinstance(self.message.get("role"), str):
            raise ValueError("a message needs a `role`")
        return self


class ModelOverride(Schema):
    """What is asked with. `parameters` are further ones by name, `unset` names what the request does not say."""

    provider: Annotated[str, Field(max_length=80)] | None = None
    model: Annotated[str, Field(max_length=120)] | None = None
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    top_p: Annotated[float, Field(ge=0, le=1)] | None = None
    max_tokens: Annotated[int, Field(ge=0, lt=2**31)] | None = None
    seed: Annotated[int, Field(ge=-_INT64, lt=_INT64)] | None = None
    stop: list[str] | None = None
    tools: list[JSONObject] | None = None
    response_format: JSONObject | None = None
    parameters: JSONObject | None = None
    unset: list[str] | None = None

    @model_validator(mode="after")
    def _names_others(self) -> "ModelOverride":
        if own := sorted(set(OWN_NAMES) & {*(self.parameters or {})}):
            raise ValueError(f"`parameters` is for other parameters than {own[0]!r}")
        if kept := sorted(set(KEPT_NAMES) & {*(self.unset or [])}):
            raise ValueError(f"{kept[0]!r} cannot be left out of a request")
        return self


class RetrievalOverride(Schema):
    """`documents` is the candidate list itself; the rest asks again with other settings."""

    query: str | None = None
    top_k: Annotated[int, Field(ge=0, lt=2**31)] | None = None
    filters: JSONObject | None = None
    embedding_profile: str | None = None
    documents: list[JSONObject] | None = None


class ToolOverride(Schema):
    """What the tool answers with."""

    output: JSONValue
    status: CallEnd = StepStatus.OK


class Override(Schema):
    """One entry. A field that is absent is not overridden; 0 and empty are values."""

    match: Match
    prompt: PromptOverride | None = None
    messages: Annotated[list[MessageEdit], Field(max_length=MOST_ENTRIES)] | None = None
    model: ModelOverride | None = None
    retrieval: RetrievalOverride | None = None
    arguments: JSONValue = None  # what a tool is called with; null: as recorded
    tool: ToolOverride | None = None
    output: JSONValue = None  # presence counts, also of null: see `sets`

    @property
    def sets(self) -> list[str]:
        """The categories that this entry sets, `output: null` among them when it is written out."""
        return sorted(self.model_fields_set - {"match"})

    @model_validator(mode="after")
    def _sets_something(self) -> "Override":
        if not self.sets:
            raise ValueError(
                "an override must set at least one of prompt, messages, model, retrieval, arguments, tool, output"
            )
        return self


class OverrideProfile(Schema):
    overrides: Annotated[list[Override], Field(max_length=MOST_ENTRIES)]

    @property
    def digest(self) -> str:
        return digest(self.model_dump(mode="json", exclude_unset=True))
