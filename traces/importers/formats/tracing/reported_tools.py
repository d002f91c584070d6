"""Tools of an agent whose model calls the gateway recorded, while the SDK in the agent recorded its tools.

The gateway reads tools from the conversation: their results are the text that the model got. What the SDK reports is
the call itself, with what it returned or raised.

What the gateway's processes heard of a dialogue with an MCP server is joined with the call, which may be another one's.
"""

from collections import deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from forkpoint.vocabulary import MCP_CLIENT, MCP_MESSAGES, MCP_QUESTIONS, MCP_STRAY
from traces.core.canonical import digest
from traces.core.json_access import as_list, as_object, as_text, is_integer
from traces.core.json_types import JSONObject, JSONValue
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

    A report takes the key of the step that it replaces, which may have been shown already, and its call id. If the
    report was cut off, the conversation has the call's outcome.
    """
    guesses = [step for step in steps if step.key in inferred_keys]
    reports = {step.key: step for step in steps if step.type is StepType.TOOL and step.key not in inferred_keys}
    if not guesses or not reports:
        return [*steps]
    complete_reports = [step for step in reports.values() if step.status is not StepStatus.PARTIAL]
    pairs = _pair(guesses, complete_reports)
    used_keys = {step.key for step in pairs.values()}
    cut_reports = [step for step in reports.values() if step.status is StepStatus.PARTIAL]
    pairs |= _pair([step for step in guesses if step.key not in used_keys], cut_reports)
    replaced_keys = {step.key for step in pairs.values()}
    return [_adopt(step, pairs, is_report=step.key in reports) for step in steps if step.key not in replaced_keys]


def join_dialogues(steps: Sequence[RecordedStep]) -> list[RecordedStep]:
    """Put what an MCP server and its client said in one process into their call in another.

    What a server said is about the latest call that its client had open, and a response is that to the question with
    its id. What belongs to no call is left out.
    """
    strays = [step for step in steps if step.tool_name == MCP_STRAY and MCP_CLIENT in step.attributes]
    calls = [step for step in steps if MCP_CLIENT in step.attributes and step.tool_name != MCP_STRAY]
    messages: dict[str, list[JSONValue]] = {call.key: [*_messages(call)] for call in calls}
    # By client and id: the call with a question, and the place of the question among its messages.
    questions = {
        (call.attributes[MCP_CLIENT], id): (call.key, place)
        for call in calls
        for id, place in as_object(call.attributes.get(MCP_QUESTIONS)).items()
        if is_integer(place)
    }
    ids = {stray.key: next(iter(as_object(stray.attributes.get(MCP_QUESTIONS))), "") for stray in strays}
    for stray in strays:
        if "method" not in as_object(stray.input) or (call := _call_at(calls, stray)) is None:
            continue
        if ids[stray.key]:
            questions[stray.attributes[MCP_CLIENT], ids[stray.key]] = call.key, len(messages[call.key])
        messages[call.key].append(stray.input)
    for stray in strays:
        place = questions.get((stray.attributes[MCP_CLIENT], ids[stray.key]))
        if "method" not in as_object(stray.input) and place is not None:
            question = as_object(messages[place[0]][place[1]])
            messages[place[0]][place[1]] = {**question, "response": stray.input}
    return [_with_messages(step, messages.get(step.key)) for step in steps if step.key not in ids]


def _messages(call: RecordedStep) -> Sequence[JSONValue]:
    return as_list(call.attributes.get(MCP_MESSAGES))


def _call_at(calls: Sequence[RecordedStep], stray: RecordedStep) -> RecordedStep | None:
    """Return the latest call that the client of a message had open."""
    at = stray.started_at
    return next(
        (
            call
            for call in reversed(calls)
            if call.attributes[MCP_CLIENT] == stray.attributes[MCP_CLIENT]
            and at is not None
            and call.started_at is not None
            and call.ended_at is not None
            and call.started_at <= at <= call.ended_at
        ),
        None,
    )


def _with_messages(step: RecordedStep, messages: list[JSONValue] | None) -> RecordedStep:
    if messages is None:
        return step
    rest = {name: value for name, value in step.attributes.items() if name not in (MCP_CLIENT, MCP_QUESTIONS)}
    return replace(step, attributes={**rest, MCP_MESSAGES: messages} if messages else rest)


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
    guess = pairs.get(step.key)
    if guess is not None and step.status is StepStatus.PARTIAL:
        attributes = {**guess.attributes, **step.attributes}
        return replace(guess, parent=step.parent, input=step.input, attributes=attributes)
    attributes = {**step.attributes, SDK_REPORT: True}
    if guess is None:
        return replace(step, attributes=attributes)
    if isinstance(guess.output, str):
        attributes[MODEL_TEXT] = guess.output
    return replace(step, key=guess.key, call_id=step.call_id or guess.call_id, attributes=attributes)
