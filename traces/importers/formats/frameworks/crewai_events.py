"""Events of CrewAI's event bus.

A step begins with `…_started` and ends with `…_completed`, `…_finished`, `…_failed` or `…_error`. Its parent is the
innermost open step.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

from traces.core.json_access import as_list, as_object, as_text, first_member
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun, RecordedStep
from traces.core.vocabulary import StepStatus, StepType
from traces.importers.common.identity import content_id
from traces.importers.common.messages import normalize_messages
from traces.importers.common.model_calls import model_input, normalize_answer, normalize_provider, normalize_usage
from traces.importers.common.run_builder import RunFacts, build_run
from traces.importers.common.times import parse_time
from traces.importers.common.tool_schemas import normalize_tools
from traces.importers.files.json_reader import parse_embedded

_PHASE: Final = re.compile(r"(\w+?)_(started|completed|finished|failed|error)")
_TYPES: Final = {
    "crew_kickoff": StepType.AGENT,
    "task": StepType.AGENT,
    "agent_execution": StepType.AGENT,
    "lite_agent_execution": StepType.AGENT,
    "flow": StepType.AGENT,
    "method_execution": StepType.AGENT,
    "llm_call": StepType.MODEL,
    "tool_usage": StepType.TOOL,
    "memory_query": StepType.RETRIEVAL,
    "memory_retrieval": StepType.RETRIEVAL,
    "knowledge_query": StepType.RETRIEVAL,
    "knowledge_search_query": StepType.RETRIEVAL,
    "agent_reasoning": StepType.PLANNER,
    "llm_guardrail": StepType.VALIDATOR,
}
# Scopes specific to CrewAI; other programs also have events of model calls, tasks and flows.
_CREWAI_SCOPES: Final = frozenset(
    {"crew_kickoff", "agent_execution", "lite_agent_execution", "tool_usage", "method_execution"}
)
_IDENTITIES: Final = ("call_id", "tool_name", "task_id", "agent_id", "agent_role", "method_name")
_NOT_ATTRIBUTES: Final = frozenset(
    {
        "messages",
        "tools",
        "response",
        "output",
        "error",
        "tool_args",
        "usage",
        "type",
        "timestamp",
        "event_data",
        "data",
        "callbacks",
        "available_functions",
    }
)


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
    by_identity: dict[tuple[str, ...], list[_OpenStep]] = field(default_factory=dict)
    events: list[JSONValue] = field(default_factory=list)
    failed: bool = False


def are_events(objects: Sequence[JSONObject]) -> bool:
    """Return True if some objects are CrewAI events."""
    return any(_scope(event)[0] in _CREWAI_SCOPES and "timestamp" in event for event in objects)


def build_runs(events: Sequence[JSONObject], format: str) -> Iterator[RecordedRun]:
    """Yield one run per execution id, or per kick-off if the events lack the id."""
    executions: dict[str, list[_Execution]] = {}
    for index, event in enumerate(events):
        runs = executions.setdefault(as_text(event.get("execution_id")), [_Execution()])
        if _begins_run(event) and runs[-1].steps and not runs[-1].open_steps:
            runs.append(_Execution())
        _add_event(runs[-1], event, f"/{index}")
    for execution_id, runs in executions.items():
        for number, execution in enumerate(runs):
            if execution.steps:
                yield _run(execution, f"{execution_id}/{number}" if execution_id and number else execution_id, format)


def _run(execution: _Execution, execution_id: str, format: str) -> RecordedRun:
    external_id = execution_id or f"{format}-{content_id(execution.events, '')}"
    facts = RunFacts(external_id=external_id, app=format, format=format, failed=execution.failed)
    return build_run(facts, execution.steps, location=f"execution {external_id}")


def _scope(event: JSONObject) -> tuple[str, str]:
    match = _PHASE.fullmatch(as_text(event.get("type")))
    return (match[1], match[2]) if match else ("", "")


def _begins_run(event: JSONObject) -> bool:
    scope, phase = _scope(event)
    return scope in {"crew_kickoff", "flow"} and phase == "started"


def _data(event: JSONObject) -> JSONObject:
    """Return all fields of an event, whose nesting depends on the exporter."""
    return {**event, **as_object(first_member(event, "event_data", "data"))}


def _add_event(execution: _Execution, event: JSONObject, location: str) -> None:
    scope, phase = _scope(event)
    if scope not in _TYPES:
        return
    execution.events.append(event)
    data, at = _data(event), parse_time(event.get("timestamp"), f"{location}/timestamp")
    if phase == "started":
        _begin(execution, scope, data, at)
        return
    index = _end_matching_step(execution, scope, data)
    if index is None:
        _begin(execution, scope, data, None)
        index = _close(execution, execution.open_steps[-1])
    execution.steps[index] = _complete(execution.steps[index], data, phase, at, location)
    execution.failed |= scope == "crew_kickoff" and phase == "failed"


def _begin(execution: _Execution, scope: str, data: JSONObject, at: datetime | None) -> None:
    kind = _TYPES[scope]
    parent = execution.steps[execution.open_steps[-1].index].key if execution.open_steps else None
    model = as_text(data.get("model"))
    open_step = _OpenStep(scope=scope, identity=_identity(data), index=len(execution.steps))
    execution.open_steps.append(open_step)
    execution.by_identity.setdefault(open_step.key, []).append(open_step)
    execution.steps.append(
        RecordedStep(
            key=f"{scope}-{len(execution.steps) + 1}",
            type=kind,
            name=_name(scope, data, model),
            parent=parent,
            status=StepStatus.PARTIAL,
            started_at=at,
            input=_input(kind, data),
            model=model if kind is StepType.MODEL else "",
            provider=normalize_provider(None, model.rpartition("/")[2]) if kind is StepType.MODEL else "",
            tool_name=as_text(data.get("tool_name")) if kind is StepType.TOOL else "",
            attributes=_attributes(data),
        )
    )


def _end_matching_step(execution: _Execution, scope: str, data: JSONObject) -> int | None:
    """Close the latest open step with the event's identity, or else one without contradicting fields."""
    end_event = _OpenStep(scope=scope, identity=_identity(data), index=-1)
    same_identity = (step for step in reversed(execution.by_identity.get(end_event.key, [])) if not step.is_closed)
    compatible = (step for step in reversed(execution.open_steps) if not step.is_closed and _may_end(step, end_event))
    match = next(same_identity, None) or next(compatible, None)
    return None if match is None else _close(execution, match)


def _close(execution: _Execution, open_step: _OpenStep) -> int:
    open_step.is_closed = True
    while execution.open_steps and execution.open_steps[-1].is_closed:
        execution.open_steps.pop()
    same_identity = execution.by_identity[open_step.key]
    while same_identity and same_identity[-1].is_closed:
        same_identity.pop()
    return open_step.index


def _may_end(open_step: _OpenStep, end_event: _OpenStep) -> bool:
    shared_names = open_step.identity.keys() & end_event.identity.keys()
    return open_step.scope == end_event.scope and all(
        open_step.identity[name] == end_event.identity[name] for name in shared_names
    )


def _identity(data: JSONObject) -> dict[str, str]:
    return {name: as_text(data[name]) for name in _IDENTITIES if data.get(name)}


def _complete(step: RecordedStep, data: JSONObject, phase: str, at: datetime | None, location: str) -> RecordedStep:
    error = (as_text(data.get("error")) or phase) if phase in {"failed", "error"} else ""
    answer = normalize_answer(data.get("response")) if step.type is StepType.MODEL else None
    output = answer.output if answer else _output(step.type, data)
    usage = normalize_usage(as_object(first_member(data, "usage", "token_usage")), f"{location}/usage")
    input_value = _input(step.type, data) if step.input is None else step.input
    return replace(
        step,
        status=StepStatus.ERROR if error else StepStatus.OK,
        error=error,
        ended_at=at,
        input=input_value,
        output=None if error and output is None else output,
        tokens_in=usage.tokens_in,
        tokens_out=usage.tokens_out,
        tokens_cached=usage.tokens_cached,
        attributes={**step.attributes, **_attributes(data)},
    )


def _name(scope: str, data: JSONObject, model: str) -> str:
    names = {
        "crew_kickoff": first_member(data, "crew_name"),
        "task": first_member(data, "task_name", "task_id"),
        "agent_execution": first_member(data, "agent_role"),
        "lite_agent_execution": first_member(data, "agent_role"),
        "flow": first_member(data, "flow_name"),
        "method_execution": first_member(data, "method_name"),
        "tool_usage": first_member(data, "tool_name"),
        "llm_call": model,
    }
    return as_text(names.get(scope)).strip() or scope


def _input(kind: StepType, data: JSONObject) -> JSONValue:
    match kind:
        case StepType.MODEL:
            messages = normalize_messages(data.get("messages"))
            return model_input(messages, normalize_tools(data.get("tools") or []), {}) if messages else None
        case StepType.TOOL:
            return parse_embedded(data.get("tool_args"))
        case StepType.RETRIEVAL:
            return {"query": data["query"]} if data.get("query") else None
    task = as_object(data.get("task"))
    request = first_member({**task, **data}, "task_prompt", "inputs", "task_description", "description", "context")
    return {"task": request} if isinstance(request, str) else request


def _output(kind: StepType, data: JSONObject) -> JSONValue:
    output = first_member(data, "output", "result", "results", "retrieved_knowledge")
    if kind is StepType.RETRIEVAL:
        documents = as_list(output) or ([output] if output else [])
        return {
            "documents": [document if isinstance(document, dict) else {"content": document} for document in documents]
        }
    if kind is StepType.TOOL or output is None:
        return output
    content = as_text(as_object(output).get("raw")) or output
    return {"text": content} if isinstance(content, str) else content


def _attributes(data: JSONObject) -> JSONObject:
    """Return the small values without a field in the step, and what a task is to give."""
    task = as_object(data.get("task"))
    expectation: JSONObject = {name: task[name] for name in ("expected_output", "name") if task.get(name)}
    return {
        name: value
        for name, value in {**expectation, **data}.items()
        if name not in _NOT_ATTRIBUTES and isinstance(value, str | int | float) and value != ""
    }
