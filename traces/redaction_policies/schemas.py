"""REST schemas of redaction policies."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field

from traces.core.json_types import JSONValue
from traces.core.schema import Schema
from traces.core.vocabulary import StepType
from traces.redaction.policy import PersonalData, PolicyContent

AppName = Annotated[str, Field(max_length=120, pattern=r"^[^\x00]*$")]


class RedactionPolicyRequest(PolicyContent):
    """The next version of a policy; an empty `app` stands for all apps."""

    app: AppName = ""


class RedactionPolicyView(PolicyContent):
    """A version of a policy, who stored it, and when."""

    app: str
    version: int
    by: str
    at: datetime


class RedactionKind(Schema):
    """A kind of value that a detector replaces, as markers name it."""

    kind: str
    title: str


class RedactionPolicyList(Schema):
    """The current policies; `personal_data_available` is false without the extra."""

    policies: list[RedactionPolicyView]
    personal_data: list[PersonalData]
    personal_data_available: bool
    secrets: list[RedactionKind]


class RedactionPolicyHistory(Schema):
    """All versions of an app's policy, newest first."""

    versions: list[RedactionPolicyView]


class RedactionTrialRequest(RedactionPolicyRequest):
    """A draft, and a sample that it is tried on: the value of a step's field, or of the run's metadata."""

    sample: JSONValue
    step_type: StepType = StepType.TOOL
    field: Literal["input", "output", "attributes", "error", "metadata"] = "input"


class RedactionMark(Schema):
    """A place at which a marker stands, and why."""

    path: str  # JSON pointer into the sample
    kind: str
    reason: str


class RedactionTrialView(Schema):
    """What would be stored of the sample, with the place of every marker."""

    result: JSONValue
    marks: list[RedactionMark]
    failure: str  # why nothing of the sample would be stored; empty: no detector failed
