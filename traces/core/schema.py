"""Base classes of the REST schemas. Pure."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any, Final, Literal, TypeVar, dataclass_transform

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, GetCoreSchemaHandler

T = TypeVar("T")
# Times that can be converted to every time zone.
Time = Annotated[AwareDatetime, Field(ge=datetime(1, 1, 2, tzinfo=UTC), le=datetime(9999, 12, 30, tzinfo=UTC))]


class Schema(BaseModel):
    """Base of every schema: no unknown fields, all fields present in responses, no payload in error messages."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        allow_inf_nan=False,
        json_schema_serialization_defaults_required=True,
        hide_input_in_errors=True,
        # A process needs few of the hundreds of schemas.
        defer_build=True,
    )


@dataclass_transform(frozen_default=True)
def schema_item(item: type[T]) -> type[T]:
    """Create a schema as a dataclass, for lists of thousands of items that this process builds.

    Building one takes a tenth of the time of validating a model. It is read and written as JSON like a `Schema`, and
    mypy treats it as frozen, which at run time would triple that time.
    """
    item.__pydantic_config__ = ConfigDict(extra="forbid", allow_inf_nan=False, hide_input_in_errors=True)  # type: ignore[attr-defined]  # read by pydantic
    return dataclass(unsafe_hash=True)(item)


class _TextSerialization:
    """Serializes a `StrEnum` as the text that it is: Python 3.11 takes ten times as long to read its `value`."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> Any:
        return {**handler(source), "serialization": {"type": "str"}}


# For enums of lists with thousands of items: `Annotated[StepType, AS_TEXT]`.
AS_TEXT: Final = _TextSerialization()


class LabelCounts(Schema):
    live: int = 0
    exact: int = 0
    cached: int = 0
    simulated: int = 0


class ForkChange(Schema):
    """What a fork changes: its first change in a few words, what that changes, and the number of all changes."""

    text: str  # such as `+ “Order totals are in cents”` or `gpt-4.1 → gpt-5-mini`
    target: str  # such as `system prompt`; empty if the text names it
    count: int


ErrorCode = Literal[
    "validation_error",
    "auth_required",
    "auth_forbidden",
    "not_found",
    "conflict",
    "rate_limited",
    "payload_too_large",
    "dependency_unavailable",
    "internal_error",
    "override_before_fork",
    "override_conflict",
    "structural_change",
    "override_matches_nothing",
    "policy_conflict",
    "artifact_missing",
    "privacy_blocked",
    "source_not_sealed",
    "tool_review_required",
    "no_runner",
    "variable_not_allowed",
    "consent_required",
]


class Problem(Schema):
    """`application/problem+json` (RFC 9457)."""

    type: str = "about:blank"
    title: str
    status: int
    code: ErrorCode
    detail: str
    where: str = ""  # JSON pointer into the input
    retryable: bool = False
    request_id: str
