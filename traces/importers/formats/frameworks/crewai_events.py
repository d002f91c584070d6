"""Events of CrewAI's event bus.

A step begins with `…_started` and ends with `…_completed`, `…_finished`, `…_failed` or `…_error`. Events of current
versions name the event that contains them (`parent_event_id`) and, at the end of a step, its beginning
(`started_event_id`). Without these, the parent is the innermost open step. Other events belong to their step.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import islice
from typing import Final

from traces.core.json_access import as_object, as_text, first_member, is_integer
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedJudgement, RecordedRun, RecordedStep
from traces.core.vocabulary import StepStatus, StepType
from traces.importers.common.identity import content_id
from traces.importers.common.judgements import judgement
from traces.importers.common.model_calls import normalize_provider, normalize_usage, usage_details
from traces.importers.common.run_builder import RunFacts, build_run, match_calls
from traces.importers.common.times import parse_time
from traces.importers.formats.frameworks import crewai_values as values

_PHASE: Final = re.compile(r"(\w+?)_(started|completed|finished|failed|error)")
_FAILURES: Final = frozenset({"failed", "error"})
_TYPES: Final = {
    "crew_kickoff": StepType.AGENT,
    "crew_train": StepType.AGENT,
    "crew_test": StepType.AGENT,
    "task": StepType.AGENT,
    "agent_execution": StepType.AGENT,
    "lite_agent_execution": StepType.AGENT,
    "a2a_delegation": StepType.AGENT,
    "flow": StepType.AGENT,
    "method_execution": StepType.AGENT,
    "conversation_turn": StepType.AGENT,
    "plan_step": StepType.AGENT,
    "llm_call": StepType.MODEL,
    "tool_usage": StepType.TOOL,
    "memory_query": StepType.RETRIEVAL,
    "memory_retrieval": StepType.RETRIEVAL,
    "knowledge_query": StepType.RETRIEVAL,
    "knowledge_search_query": StepType.RETRIEVAL,
    "agent_reasoning": StepType.PLANNER,
    "step_observation": StepType.PLANNER,
    "llm_guardrail": StepType.VALIDATOR,
}
# Scopes specific to CrewAI; other programs also have events of model calls, tasks and flows.
_CREWAI_SCOPES: Final = frozenset(
    {"crew_kickoff", "agent_execution", "lite_agent_execution", "tool_usage", "method_execution"}
)
_BEGINNINGS: Final = frozenset({"crew_kickoff", "flow"})
# None of these is inside another of its kind: several run at the same time.
_CALLS: Final = frozenset({"llm_call", "tool_usage"})
_IDENTITIES: Final = ("call_id", "tool_name", "task_id", "agent_id", "agent_role", "method_name")
# Of open steps with other identities, those that an end is compared with.
_MOST_OPEN: Final = 1_000
# The parts of an answer, which its end repeats.
_CHUNKS: Final = frozenset({"llm_stream_chunk", "llm_thinking_chunk"})


@dataclass(kw_only=True)
class _OpenStep:
    """A started step; `identity` contains the ids and names that its end event repeats."""

    scope: str
    identity: dict[str, str]
    index: int
    is_closed: bool = False

    @property
    def key(self) -> tuple[str, ...]:
        return (self.scope, *(self.identity.get(name, "") for name in _IDENTITIES))


@dataclass(kw_only=True)
class _Execution:
    """The steps so far, and those still open."""

    steps: list[RecordedStep] = field(default_factory=list)
    open_steps: list[_OpenStep] = field(default_factory=list)
    # The same by scope.
    stacks: dict[str, list[_OpenStep]] = field(default_factory=dict)
    by_identity: dict[tuple[str, ...], list[_OpenStep]] = field(default_factory=dict)
    # By the id of the event that began them.
    by_event: dict[str, _OpenStep] = field(default_factory=dict)
    # The index of the step to which each event belongs, by the id of the event.
    step_indexes: dict[str, int] = field(default_factory=dict)
    events: list[JSONValue] = field(default_factory=list)
    # Events that begin or end no step, by the index of theirs: None for the run.
    notes: dict[int | None, list[JSONValue]] = field(default_factory=dict)
    # The index of the step of each model call that has ended: the client may report its failure again.
    ended_calls: dict[str, int] = field(default_factory=dict)
    # Texts of answers that have not ended, by the ids of their calls.
    chunks: dict[str, list[str]] = field(default_factory=dict)
    judgements: list[RecordedJudgement] = field(default_factory=list)
    failed: bool = False
    # The id of the first event of a step.
    event_id: str = ""


def are_events(objects: Sequence[JSONObject]) -> bool:
    """Return True if some objects are CrewAI events."""
    return any(_scope(event)[0] in _CREWAI_SCOPES and "timestamp" in event for event in objects)


def build_runs(events: Sequence[JSONObject], format: str) -> Iterator[RecordedRun]:
    """Yield one run per execution id, or per kick-off if the events lack the id."""
    executions: dict[str, list[_Execution]] = {}
    for event, location in _in_order(events):
        runs = executions.setdefault(as_text(event.get("execution_id")), [_Execution()])
        if _begins_run(event) and runs[-1].steps and not runs[-1].open_steps:
            runs.append(_Execution())
        _add_event(runs[-1], event, location)
    for execution_id, runs in executions.items():
        for number, execution in enumerate(runs):
            if execution.steps:
                yield _run(execution, f"{execution_id}/{number}" if execution_id and number else execution_id, format)


def _in_order(events: Sequence[JSONObject]) -> list[tuple[JSONObject, str]]:
    """Return the events with their places: handlers run in several threads and may write them in another order."""
    places = [(event, f"/{index}") for index, event in enumerate(events)]
    times = [_time(event, location) for event, location in places]
    numbers = [event.get("emission_sequence") for event in events]
    if not all(times):
        return places
    keys = [(time, number if is_integer(number) else 0) for time, number in zip(times, numbers, strict=True)]
    order = sorted(range(len(places)), key=keys.__getitem__)
    return [places[index] for index in order]


def _time(event: JSONObject, location: str) -> datetime | None:
    return parse_time(event.get("timestamp"), f"{location}/timestamp")


def _run(execution: _Execution, execution_id: str, format: str) -> RecordedRun:
    digest = execution.event_id or content_id(execution.events, "")
    external_id = execution_id or f"{format}-{digest}"
    facts = RunFacts(
        external_id=external_id,
        app=format,
        format=format,
        failed=execution.failed,
        has_ended=not any(step.parent is None and step.status is StepStatus.PARTIAL for step in execution.steps),
        metadata={"events": execution.notes.get(None)},
        judgements=execution.judgements,
    )
    return build_run(facts, match_calls(list(_finished_steps(execution))), location=f"execution {external_id}")


def _finished_steps(execution: _Execution) -> Iterator[RecordedStep]:
    """Yield the steps with the other events of each; an answer without its end has the text that was streamed."""
    for index, step in enumerate(execution.steps):
        text = "".join(execution.chunks.get(as_text(step.attributes.get("call_id")), []))
        if step.type is StepType.MODEL and step.output is None and text:
            step = replace(step, output={"message": {"role": "assistant", "content": text}})
        notes = execution.notes.get(index)
        yield replace(step, attributes={**step.attributes, "events": notes}) if notes else step


def _scope(event: JSONObject) -> tuple[str, str]:
    match = _PHASE.fullmatch(as_text(event.get("type")))
    return (match[1], match[2]) if match else ("", "")


def _begins_run(event: JSONObject) -> bool:
    scope, phase = _scope(event)
    return scope in _BEGINNINGS and phase == "started"


def _data(event: JSONObject) -> JSONObject:
    """Return all fields of an event, whose nesting depends on the exporter."""
    return {**event, **as_object(first_member(event, "event_data", "data"))}


def _add_event(execution: _Execution, event: JSONObject, location: str) -> None:
    scope, phase = _scope(event)
    data, at = _data(event), _time(event, location)
    if scope not in _TYPES:
        _add_note(execution, data)
        return
    if phase != "started" and as_text(data.get("call_id")) in execution.ended_calls:
        _add_note(execution, data)
        return
    execution.events.append(event)
    if phase == "started":
        _begin(execution, scope, data, at)
        return
    index = _end_matching_step(execution, scope, data)
    if index is None:
        _begin(execution, scope, data, None)
        index = _close(execution, execution.open_steps[-1])
    if call_id := as_text(data.get("call_id")):
        execution.ended_calls[call_id] = index
    execution.steps[index] = _complete(execution.steps[index], data, phase, at, location)
    execution.failed |= scope == "crew_kickoff" and phase == "failed"


def _add_note(execution: _Execution, data: JSONObject) -> None:
    """Add an event that begins and ends no step to the innermost step that contains it."""
    name = as_text(data.get("type"))
    if name in _CHUNKS:
        if name == "llm_stream_chunk":
            execution.chunks.setdefault(as_text(data.get("call_id")), []).append(as_text(data.get("chunk")))
        return
    index = execution.ended_calls.get(as_text(data.get("call_id")))
    index = _parent_index(execution, data, "") if index is None else index
    if (event_id := as_text(data.get("event_id"))) and index is not None:
        execution.step_indexes[event_id] = index
    execution.notes.setdefault(index, []).append(values.note(data))
    for test_name, score, text in values.scores(name, data):
        execution.judgements.append(
            judgement(test_name, score, text=text, step=None if index is None else execution.steps[index].key)
        )


def _parent_index(execution: _Execution, data: JSONObject, scope: str) -> int | None:
    """Return the index of the step that contains an event, by its id, or else of the innermost open step."""
    index = execution.step_indexes.get(as_text(data.get("parent_event_id")))
    if index is not None:
        return index
    innermost = [
        stack[-1].index
        for name, stack in execution.stacks.items()
        if (scope not in _CALLS or name != scope) and _drop_closed(stack)
    ]
    return max(innermost, default=None)


def _drop_closed(stack: list[_OpenStep]) -> list[_OpenStep]:
    """Remove closed steps from the end of a list, and return it."""
    while stack and stack[-1].is_closed:
        stack.pop()
    return stack


def _begin(execution: _Execution, scope: str, data: JSONObject, at: datetime | None) -> None:
    kind, event_id = _TYPES[scope], as_text(data.get("event_id"))
    parent = _parent_index(execution, data, scope)
    model = as_text(data.get("model"))
    open_step = _OpenStep(scope=scope, identity=_identity(data), index=len(execution.steps))
    execution.open_steps.append(open_step)
    execution.stacks.setdefault(scope, []).append(open_step)
    execution.by_identity.setdefault(open_step.key, []).append(open_step)
    execution.event_id = execution.event_id or event_id
    if event_id:
        execution.by_event[event_id] = open_step
        execution.step_indexes[event_id] = open_step.index
    execution.steps.append(
        RecordedStep(
            key=f"{scope}-{len(execution.steps) + 1}",
            type=kind,
            name=values.name(scope, data),
            parent=None if parent is None else execution.steps[parent].key,
            status=StepStatus.PARTIAL,
            started_at=at,
            input=values.input_of(kind, data),
            model=model if kind is StepType.MODEL else "",
            provider=_provider(model) if kind is StepType.MODEL else "",
            tool_name=as_text(data.get("tool_name")) if kind is StepType.TOOL else "",
            attributes=values.attributes(data) | ({"event_id": event_id} if event_id else {}),
        )
    )


def _provider(model: str) -> str:
    prefix, slash, name = model.partition("/")
    return normalize_provider(prefix if slash else None, name.rpartition("/")[2] if slash else model)


def _end_matching_step(execution: _Execution, scope: str, data: JSONObject) -> int | None:
    """Close the step whose beginning the event names, or the latest open one with its identity.

    Otherwise, close one of its scope without contradicting fields.
    """
    beginning = execution.by_event.get(as_text(data.get("started_event_id")))
    if beginning is not None and beginning.scope == scope and not beginning.is_closed:
        return _close(execution, beginning)
    end_event = _OpenStep(scope=scope, identity=_identity(data), index=-1)
    same_identity = (step for step in reversed(execution.by_identity.get(end_event.key, [])) if not step.is_closed)
    newest = islice(reversed(execution.stacks.get(scope, [])), _MOST_OPEN)
    compatible = (step for step in newest if not step.is_closed and _may_end(step, end_event))
    match = next(same_identity, None) or next(compatible, None)
    return None if match is None else _close(execution, match)


def _close(execution: _Execution, open_step: _OpenStep) -> int:
    open_step.is_closed = True
    for stack in (execution.open_steps, execution.stacks[open_step.scope], execution.by_identity[open_step.key]):
        _drop_closed(stack)
    return open_step.index


def _may_end(open_step: _OpenStep, end_event: _OpenStep) -> bool:
    shared_names = open_step.identity.keys() & end_event.identity.keys()
    return open_step.scope == end_event.scope and all(
        open_step.identity[name] == end_event.identity[name] for name in shared_names
    )


def _identity(data: JSONObject) -> dict[str, str]:
    return {name: as_text(data[name]) for name in _IDENTITIES if data.get(name)}


def _complete(step: RecordedStep, data: JSONObject, phase: str, at: datetime | None, location: str) -> RecordedStep:
    error = values.error_of(data, phase) if phase in _FAILURES else values.tool_failure(data)
    output = values.output_of(step.type, data)
    counts = as_object(first_member(data, "usage", "token_usage"))
    usage = normalize_usage(counts, f"{location}/usage")
    return replace(
        step,
        status=StepStatus.ERROR if error else StepStatus.OK,
        error=error,
        ended_at=at,
        input=values.input_of(step.type, data) if step.input is None else step.input,
        output=None if error and output is None else output,
        tokens_in=usage.tokens_in,
        tokens_out=usage.tokens_out,
        tokens_cached=usage.tokens_cached,
        cost_usd=usage.cost_usd,
        attributes={**step.attributes, **values.attributes(data), **usage_details(counts)},
    )
