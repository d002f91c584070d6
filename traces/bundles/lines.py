"""Schemas of the lines in a bundle's tables."""

from decimal import Decimal
from typing import Annotated, Final, TypeVar

import pydantic
from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from traces.bundles.archive import BadBundle
from traces.core.json_types import JSONObject, JSONValue
from traces.core.schema import Time
from traces.core.vocabulary import (
    EdgeKind,
    JudgementKind,
    JudgementSource,
    Label,
    Reason,
    RunStatus,
    StepStatus,
    StepType,
)

_DIGEST: Final = r"^([0-9a-f]{64})?$"
Count = Annotated[int, Field(ge=0, le=2**31 - 1)]
Number = Annotated[int, Field(ge=1, le=2**31 - 1)]
Ref = Annotated[str, Field(pattern=_DIGEST)]
Cost = Annotated[Decimal, Field(ge=0, lt=1_000_000, decimal_places=8)]

_NO_NUL: Final = r"^[^\x00]*$"
Text40 = Annotated[str, StringConstraints(max_length=40, pattern=_NO_NUL)]
Text80 = Annotated[str, StringConstraints(max_length=80, pattern=_NO_NUL)]
Text120 = Annotated[str, StringConstraints(max_length=120, pattern=_NO_NUL)]
Text200 = Annotated[str, StringConstraints(max_length=200, pattern=_NO_NUL)]
Text300 = Annotated[str, StringConstraints(max_length=300, pattern=_NO_NUL)]
Text1000 = Annotated[str, StringConstraints(max_length=1000, pattern=_NO_NUL)]


class Line(BaseModel):
    """Base of the lines: no unknown fields."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Origin(Line):
    """The source of a derived run, by an identity that any store can look up."""

    app: str
    external_id: str
    content_digest: str


class CaptionLine(Line):
    """The name, the note and the tags that users gave a run; `tags` is null if they are those of the recording."""

    title: Text120
    note: Annotated[str, StringConstraints(max_length=2_000, pattern=_NO_NUL)]
    tags: Annotated[list[Text1000], Field(max_length=1_000)] | None


class RunLine(Line):
    """The columns of a run."""

    external_id: Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^\x00]*$")]
    name: Text300
    app: Annotated[str, Field(min_length=1, max_length=120, pattern=r"^[^\x00]*$")]
    environment: Annotated[str, StringConstraints(max_length=60, pattern=_NO_NUL)]
    format: Text40
    status: RunStatus
    started_at: Time | None
    ended_at: Time | None
    tags: list[str]
    metadata: JSONObject
    search: Text1000
    fork_sequence_no: Number | None
    derived_from: Origin | None
    # Absent without a name, a note or edited tags.
    caption: CaptionLine | None = None


class UnexplainedItem(Line):
    """Content of unknown origin in a step's input."""

    path: Text200
    since: Number
    snippet: Text200
    digest: Text40


class StepLine(Line):
    """The columns of a step; `source_no` is the number of the step that it replays in the source run."""

    sequence_no: Number
    parent_no: Number | None
    external_id: Text200
    type: StepType
    name: Text300
    status: StepStatus
    started_at: Time | None
    duration_ms: Annotated[float, Field(ge=0)] | None
    label: Label
    reason: Reason | Annotated[str, Field(max_length=0)]
    input_ref: Ref
    output_ref: Ref
    attributes_ref: Ref
    detail: JSONObject
    error: str
    summary: Text200
    provider: Text80
    model: Text120
    tool_name: Text200
    call_id: Annotated[str, StringConstraints(pattern=_NO_NUL)]
    tokens_in: Count | None
    tokens_out: Count | None
    tokens_cached: Count | None
    cost_usd: Cost | None
    retries: Annotated[int, Field(ge=0, le=2**15 - 1)]
    document_count: Count | None
    source_no: Number | None
    # Absent in bundles of earlier versions.
    unexplained: list[UnexplainedItem] | None = None


class EdgeLine(Line):
    """One provenance edge, by sequence numbers."""

    producer: Number
    consumer: Number
    kind: EdgeKind
    consumer_path: Text200
    producer_path: Text200
    evidence: Text200


class JudgementLine(Line):
    """One judgement of the run, or of the step with the number `step_no`."""

    name: Annotated[str, Field(min_length=1, max_length=120, pattern=_NO_NUL)]
    kind: JudgementKind
    source: JudgementSource
    step_no: Number | None
    value: Annotated[float, Field(allow_inf_nan=False)] | None
    text: Annotated[str, StringConstraints(pattern=_NO_NUL)]
    by: Text120
    at: Time | None
    detail: JSONObject | None = None


AnyLine = TypeVar("AnyLine", bound=Line)


def parse_line(kind: type[AnyLine], value: JSONValue, location: str) -> AnyLine:
    """Parse a line; raise `BadBundle` with the location of the problem."""
    try:
        return kind.model_validate(value)
    except pydantic.ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        path = "/".join(str(part) for part in first["loc"])
        raise BadBundle(f"{location}: {path}: {first['msg']}", where=f"{location}#/{path}") from error
