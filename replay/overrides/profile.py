"""Override profiles: what a fork changes, from the fork on. A profile is identified by its digest."""

from typing import Annotated, Final, Literal

from pydantic import Field, StrictInt, model_validator

from traces.core.canonical import digest
from traces.core.json_types import JSONObject, JSONValue
from traces.core.schema import Schema
from traces.core.vocabulary import StepStatus, StepType
from traces.payloads.messages import Message

_INT64: Final = 2**63
MOST_ENTRIES: Final = 10_000
StepRef = Annotated[str, Field(max_length=200)] | StrictInt
Glob = Annotated[str, Field(max_length=300)]
# Statuses that an override or an operator may give a tool call.
CallEnd = Literal[StepStatus.OK, StepStatus.ERROR, StepStatus.TIMEOUT, StepStatus.PARTIAL, StepStatus.DENIED]


class Match(Schema):
    """Which steps an entry applies to: one step by id or number, or a type with name and model globs.

    `since` (inclusive) and `before` (exclusive) are step numbers that limit a match by type.
    """

    step: StepRef | None = None
    type: StepType | None = None
    name: Glob | None = None
    model: Glob | None = None
    since: Annotated[int, Field(ge=1)] | None = None
    before: Annotated[int, Field(ge=1)] | None = None

    @model_validator(mode="after")
    def _require_selector(self) -> "Match":
        if self.step is None and self.type is None:
            raise ValueError("a match needs `step` or `type`")
        if self.step is not None and (self.type or self.name or self.model or self.since or self.before):
            raise ValueError("`step` names one step: remove type, name, model, since and before")
        return self

    def includes(self, number: int) -> bool:
        """True if a step number lies within `since` and `before`."""
        return (self.since is None or number >= self.since) and (self.before is None or number < self.before)


# Names that `parameters` cannot set: they have their own field, or are no parameters.
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
# Names that every request has, so that `unset` cannot remove them.
KEPT_NAMES: Final = ("messages", "model", "provider", "parameters", "system")


class PromptOverride(Schema):
    """`system` replaces the system prompt of a model step (empty: removes it).

    The other fields edit prompt steps.
    """

    system: str | None = None
    template: str | None = None
    template_id: str | None = None
    version: str | None = None
    variables: JSONObject | None = None


class Passage(Schema):
    """A passage of a text and its replacement."""

    before: Annotated[str, Field(min_length=1)]
    after: str


class MessageEdit(Schema):
    """One edit of a model request; `index` counts the recorded messages.

    `message` is a whole message including its tool calls or call id. It replaces `content` and `role`. `passages`
    replace parts of the message's text, whatever else it contains by then; one that it lacks changes nothing.
    """

    op: Literal["replace", "insert", "delete"]
    index: Annotated[int, Field(ge=0, lt=2**31)]
    content: JSONValue = None
    role: str | None = None
    message: JSONObject | None = None
    passages: Annotated[list[Passage], Field(min_length=1, max_length=MOST_ENTRIES)] | None = None

    @model_validator(mode="after")
    def _reject_conflicting_message(self) -> "MessageEdit":
        whole_values = (self.content, self.role, self.message)
        if self.passages is not None and (self.op != "replace" or any(value is not None for value in whole_values)):
            raise ValueError(
                "`passages` is only valid for replace, and cannot be combined with `content`, `role` or `message`"
            )
        if self.message is None:
            return self
        if self.op == "delete" or self.content is not None or self.role is not None:
            raise ValueError(
                "`message` is only valid for replace and insert, and cannot be combined with `content` or `role`"
            )
        if not Message(self.message).role:
            raise ValueError("`message` needs a `role`")
        return self


class ModelOverride(Schema):
    """Settings of a model request; `parameters` sets others by name, `unset` removes settings."""

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
    def _reject_reserved_names(self) -> "ModelOverride":
        if reserved_names := sorted(set(OWN_NAMES) & {*(self.parameters or {})}):
            raise ValueError(f"`parameters` cannot set “{reserved_names[0]}”: use its own field, if it has one")
        if required_names := sorted(set(KEPT_NAMES) & {*(self.unset or [])}):
            raise ValueError(f"`unset` cannot remove “{required_names[0]}”: every request needs it")
        return self


class RetrievalOverride(Schema):
    """`documents` replaces the result; the other fields repeat the search with different settings."""

    query: str | None = None
    top_k: Annotated[int, Field(ge=0, lt=2**31)] | None = None
    filters: JSONObject | None = None
    embedding_profile: str | None = None
    documents: list[JSONObject] | None = None


class ToolOverride(Schema):
    """The tool's output and status."""

    output: JSONValue
    status: CallEnd = StepStatus.OK


class Override(Schema):
    """One entry. Absent fields are not overridden; 0 and empty values are."""

    match: Match
    prompt: PromptOverride | None = None
    messages: Annotated[list[MessageEdit], Field(max_length=MOST_ENTRIES)] | None = None
    model: ModelOverride | None = None
    retrieval: RetrievalOverride | None = None
    # Arguments of the tool call; null: as recorded.
    arguments: JSONValue = None
    tool: ToolOverride | None = None
    # Null is an override, too, if the field is present: see `sets`.
    output: JSONValue = None

    @property
    def sets(self) -> list[str]:
        """Fields that this entry sets, including an explicit `output: null`."""
        return sorted(self.model_fields_set - {"match"})

    @property
    def sets_result(self) -> bool:
        """True if this entry sets what a call returns, and not only what it is asked."""
        has_documents = self.retrieval is not None and self.retrieval.documents is not None
        return self.tool is not None or "output" in self.sets or has_documents

    @model_validator(mode="after")
    def _require_override(self) -> "Override":
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
