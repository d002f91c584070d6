"""Events of CrewAI's event bus: a step begins with `…_started` and ends with `…_completed`, `…_finished`, `…_failed`
or `…_error`; what begins while another step is open lies inside it.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun, RecordedStep
from traces.core.vocabulary import StepStatus, StepType
from traces.importers.common.identity import content_id
from traces.importers.common.messages import normalize_messages, normalize_tools
from traces.importers.common.model_calls import model_input, normalize_answer, normalize_provider, normalize_usage
from traces.importers.common.run_builder import RunFacts, build_run
from traces.importers.common.times import parse_time
from traces.importers.files.json_reader import first, items, obj, parse_embedded, text

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
# Others have events of these names too: calls of models, tasks, flows.
_OWN: Final = frozenset({"crew_kickoff", "agent_execution", "lite_agent_execution", "tool_usage", "method_execution"})
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
class _Open:
    """A step that has begun; `identity` are the ids and names that its end repeats."""

    scope: str
    identity: dict[str, str]
    place: int
    closed: bool = False

    @property
    def key(self) -> tuple[str, ...]:
        return (self.scope, *(self.identity.get(name, "") for name in _IDENTITIES))


@dataclass(kw_only=True)
class _Execution:
    """The steps so far, and which of them are open."""

    steps: list[RecordedStep] = field(default_factory=list)
    open: list[_Open] = field(default_factory=list)
    by_identity: dict[tuple[str, ...], list[_Open]] = field(default_factory=dict)
    events: list[JSONValue] = field(default_factory=list)
    failed: bool = False


def are_events(objects: Sequence[JSONObject]) -> bool:
    """Whether some of these are events of CrewAI."""
    return any(_scope(each)[0] in _OWN and "timestamp" in each for each in objects)


def runs_of(events: Sequence[JSONObject], format: str) -> Iterator[RecordedRun]:
    """One run for each execution: by its id, else from one kick-off to the next."""
    executions: dict[str, list[_Execution]] = {}
    for at, event in enumerate(events):
        known = executions.setdefault(text(event.get("execution_id")), [_Execution()])
        if _begins_run(event) and known[-1].steps and not known[-1].open:
            known.append(_Execution())
        _add(known[-1], event, f"/{at}")
    for named, known in executions.items():
        for number, execution in enumerate(known):
            if execution.steps:
                yield _run(execution, f"{named}/{number}" if named and number else named, format)


def _run(execution: _Execution, named: str, format: str) -> RecordedRun:
    external_id = named or f"{format}-{content_id(execution.events, '')}"
    facts = RunFacts(external_id=external_id, app=format, format=format, failed=execution.failed)
    return build_run(facts, execution.steps, location=f"execution {external_id}")


def _scope(event: JSONObject) -> tuple[str, str]:
    found = _PHASE.fullmatch(text(event.get("type")))
    return (found[1], found[2]) if found else ("", "")


def _begins_run(event: JSONObject) -> bool:
    scope, phase = _scope(event)
    return scope in {"crew_kickoff", "flow"} and phase == "started"


def _data(event: JSONObject) -> JSONObject:
    """What the event says, wherever the exporter put it."""
    return {**event, **obj(first(event, "event_data", "data"))}


def _add(execution: _Execution, event: JSONObject, where: str) -> None:
    scope, phase = _scope(event)
    if scope not in _TYPES:
        return
    execution.events.append(event)
    data, at = _data(event), parse_time(event.get("timestamp"), f"{where}/timestamp")
    if phase == "started":
        _begin(execution, scope, data, at)
        return
    place = _opened(execution, scope, data)
    if place is None:
        _begin(execution, scope, data, None)
        place = _closed(execution, execution.open[-1])
    execution.steps[place] = _ended(execution.steps[place], data, phase, at, where)
    execution.failed |= scope == "crew_kickoff" and phase == "failed"


def _begin(execution: _Execution, scope: str, data: JSONObject, at: datetime | None) -> None:
    kind = _TYPES[scope]
    parent = execution.steps[execution.open[-1].place].key if execution.open else None
    model = text(data.get("model"))
    begun = _Open(scope=scope, identity=_identity(data), place=len(execution.steps))
    execution.open.append(begun)
    execution.by_identity.setdefault(begun.key, []).append(begun)
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
            tool_name=text(data.get("tool_name")) if kind is StepType.TOOL else "",
            attributes=_attributes(data),
        )
    )


def _opened(execution: _Execution, scope: str, data: JSONObject) -> int | None:
    """The last open step that this event ends: one of the same identity, else one that differs in nothing."""
    ended = _Open(scope=scope, identity=_identity(data), place=-1)
    alike = (each for each in reversed(execution.by_identity.get(ended.key, [])) if not each.closed)
    similar = (each for each in reversed(execution.open) if not each.closed and _may_end(each, ended))
    found = next(alike, None) or next(similar, None)
    return None if found is None else _closed(execution, found)


def _closed(execution: _Execution, begun: _Open) -> int:
    begun.closed = True
    while execution.open and execution.open[-1].closed:
        execution.open.pop()
    known = execution.by_identity[begun.key]
    while known and known[-1].closed:
        known.pop()
    return begun.place


def _may_end(begun: _Open, ended: _Open) -> bool:
    both = begun.identity.keys() & ended.identity.keys()
    return begun.scope == ended.scope and all(begun.identity[name] == ended.identity[name] for name in both)


def _identity(data: JSONObject) -> dict[str, str]:
    return {name: text(data[name]) for name in _IDENTITIES if data.get(name)}


def _ended(step: RecordedStep, data: JSONObject, phase: str, at: datetime | None, where: str) -> RecordedStep:
    error = (text(data.get("error")) or phase) if phase in {"failed", "error"} else ""
    answer = normalize_answer(data.get("response")) if step.type is StepType.MODEL else None
    output = answer.output if answer else _output(step.type, data)
    usage = normalize_usage(obj(first(data, "usage", "token_usage")), f"{where}/usage")
    shown = _input(step.type, data) if step.input is None else step.input
    return replace(
        step,
        status=StepStatus.ERROR if error else StepStatus.OK,
        error=error,
        ended_at=at,
        input=shown,
        output=None if error and output is None else output,
        tokens_in=usage.tokens_in,
        tokens_out=usage.tokens_out,
        tokens_cached=usage.tokens_cached,
        attributes={**step.attributes, **_attributes(data)},
    )


def _name(scope: str, data: JSONObject, model: str) -> str:
    named = {
        "crew_kickoff": first(data, "crew_name"),
        "task": first(data, "task_name", "task_id"),
        "agent_execution": first(data, "agent_role"),
        "lite_agent_execution": first(data, "agent_role"),
        "flow": first(data, "flow_name"),
        "method_execution": first(data, "method_name"),
        "tool_usage": first(data, "tool_name"),
        "llm_call": model,
    }
    return text(named.get(scope)).strip() or scope


def _input(kind: StepType, data: JSONObject) -> JSONValue:
    match kind:
        case StepType.MODEL:
            messages = normalize_messages(data.get("messages"))
            return model_input(messages, normalize_tools(data.get("tools") or []), {}) if messages else None
        case StepType.TOOL:
            return parse_embedded(data.get("tool_args"))
        case StepType.RETRIEVAL:
            return {"query": data["query"]} if data.get("query") else None
    asked = first(data, "task_prompt", "inputs", "task_description", "context")
    return {"task": asked} if isinstance(asked, str) else asked


def _output(kind: StepType, data: JSONObject) -> JSONValue:
    output = first(data, "output", "result", "results", "retrieved_knowledge")
    if kind is StepType.RETRIEVAL:
        listed = items(output) or ([output] if output else [])
        return {"documents": [each if isinstance(each, dict) else {"content": each} for each in listed]}
    if kind is StepType.TOOL or output is None:
        return output
    said = text(obj(output).get("raw")) or output
    return {"text": said} if isinstance(said, str) else said


def _attributes(data: JSONObject) -> JSONObject:
    """Small facts that no field holds."""
    return {
        name: value
        for name, value in data.items()
        if name not in _NOT_ATTRIBUTES and isinstance(value, str | int | float) and value != ""
    }
