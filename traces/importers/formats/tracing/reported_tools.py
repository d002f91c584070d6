"""Tools of an agent whose model calls the gateway recorded, while the SDK in the agent recorded its tools.

The gateway reads tools from the conversation: their results are the text that the model got. What the SDK reports is
the call itself, with what it returned or raised.
"""

from collections import deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from traces.core.canonical import digest
from traces.core.json_access import as_text
from traces.core.json_types import JSONObject
from traces.core.recorded_run import RecordedStep
from traces.core.vocabulary import StepStatus, StepType

# The attribute of a tool step that the SDK reported.
SDK_REPORT: Final = "sdk_report"
# The attribute with the text that the model got for the report's output.
MODEL_TEXT: Final = "model_text"
# Between the name of an MCP server and that of its tool, in the name that a model knows.
_SEPARATOR: Final = "__"


def find_inferred(events: Iterable[JSONObject]) -> set[str]:
    """Return the keys of the tool steps that the gateway read from a conversation."""
    return {
        as_text(event.get("step_id"))
        for event in events
        if event.get("event_type") == "tool_called" and event.get("actor_type") == "gateway"
    }


def replace_inferred(steps: Sequence[RecordedStep], inferred_keys: Collection[str]) -> list[RecordedStep]:
    """Replace inferred tool steps by the reports of the same calls: by id, else by name and arguments.

    A coding agent puts the name of an MCP server before those of its tools: the model knows `get_order` of the server
    `desk` as `mcp__desk__get_order`.

    A report takes the key of the step that it replaces, which may have been shown already, and its call id.
    """
    guesses = [step for step in steps if step.key in inferred_keys]
    reports = {step.key: step for step in steps if step.type is StepType.TOOL and step.key not in inferred_keys}
    if not guesses or not reports:
        return [*steps]
    # A call that was cut off has nothing that the conversation lacks.
    pairs = _pair(guesses, [step for step in reports.values() if step.status is not StepStatus.PARTIAL])
    replaced_keys = {step.key for step in pairs.values()}
    return [_adopt(step, pairs, is_report=step.key in reports) for step in steps if step.key not in replaced_keys]


def _pair(guesses: Sequence[RecordedStep], reports: Sequence[RecordedStep]) -> dict[str, RecordedStep]:
    """Return the inferred steps by the keys of their reports."""
    by_id = {report.call_id: report.key for report in reports if report.call_id}
    pairs = {by_id[step.call_id]: step for step in guesses if step.call_id in by_id}
    for own_name in (_full_name, _name_at_server):
        found_keys = {step.key for step in pairs.values()}
        by_call: dict[str, deque[str]] = {}
        for report in reports:
            if report.key not in pairs:
                by_call.setdefault(_call(report.tool_name, report), deque()).append(report.key)
        for step in guesses:
            if step.key not in found_keys and (keys := by_call.get(_call(own_name(step), step))):
                pairs[keys.popleft()] = step
    return pairs


def _full_name(step: RecordedStep) -> str:
    return step.tool_name


def _name_at_server(step: RecordedStep) -> str:
    return step.tool_name.rpartition(_SEPARATOR)[2]


def _call(name: str, step: RecordedStep) -> str:
    return digest([name, step.input])


def _adopt(step: RecordedStep, pairs: Mapping[str, RecordedStep], *, is_report: bool) -> RecordedStep:
    """Return a step that stays, below the key that its parent has now."""
    if step.parent is not None and step.parent in pairs:
        step = replace(step, parent=pairs[step.parent].key)
    if not is_report:
        return step
    attributes = {**step.attributes, SDK_REPORT: True}
    guess = pairs.get(step.key)
    if guess is None:
        return replace(step, attributes=attributes)
    if isinstance(guess.output, str):
        attributes[MODEL_TEXT] = guess.output
    return replace(step, key=guess.key, call_id=step.call_id or guess.call_id, attributes=attributes)
