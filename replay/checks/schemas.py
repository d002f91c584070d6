"""Checks on the outcome of a run, and their results. Pure."""

from typing import Annotated, Literal

from pydantic import Field

from traces.core.json_types import JSONObject
from traces.core.schema import Schema
from traces.core.vocabulary import RunStatus


class ContainsCheck(Schema):
    """The final answer contains, or does not contain, a text."""

    kind: Literal["contains", "not_contains"]
    name: str = ""
    text: Annotated[str, Field(min_length=1, max_length=10_000)]
    ignore_case: bool = False


class RegexCheck(Schema):
    """A pattern matches in the final answer. Matching takes linear time: no back-references, no look-around."""

    kind: Literal["regex"]
    name: str = ""
    pattern: Annotated[str, Field(min_length=1, max_length=2_000)]


class JsonSchemaCheck(Schema):
    """The final answer is JSON that conforms to a schema; a fenced block counts as its content."""

    kind: Literal["json_schema"]
    name: str = ""
    document: JSONObject


class ToolCheck(Schema):
    """A tool was called, or was not. The name may contain globs; each of `arguments` must be equal."""

    kind: Literal["tool_called", "tool_not_called"]
    name: str = ""
    tool: Annotated[str, Field(min_length=1, max_length=300)]
    arguments: JSONObject = Field(default_factory=dict)


class StatusCheck(Schema):
    """The final status of the run."""

    kind: Literal["status"]
    name: str = ""
    status: Literal[RunStatus.COMPLETED, RunStatus.FAILED] = RunStatus.COMPLETED


Check = Annotated[ContainsCheck | RegexCheck | JsonSchemaCheck | ToolCheck | StatusCheck, Field(discriminator="kind")]


class CheckResult(Schema):
    name: str
    passed: bool
    # Why it failed.
    detail: str


class JudgementChoice(Schema):
    """The judgement that passes or fails a run, and the bound at which it passes if it is a score.

    Without a bound, the bound of the app's outcome rule applies.
    """

    judgement: Annotated[str, Field(max_length=120)] = ""
    at_least: Annotated[float, Field(allow_inf_nan=False)] | None = None
    at_most: Annotated[float, Field(allow_inf_nan=False)] | None = None
