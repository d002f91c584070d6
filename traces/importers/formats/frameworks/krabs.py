"""Krabs telemetry: JSON Lines of events in no particular order, as concurrent tasks write them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from traces.core.json_access import as_object, as_text, first_member, has_object
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun, RecordedStep
from traces.core.vocabulary import HookEvent, StepType
from traces.importers.common.run_builder import RunFacts, build_run, sort_causally
from traces.importers.common.spans import SpanFacts, build_step
from traces.importers.common.times import Span, parse_time
from traces.importers.files import sqlite_file
from traces.importers.files.errors import BadFile
from traces.importers.files.json_reader import require_object
from traces.importers.files.source import Source

FORMAT = "krabs"
EVENT_TYPES: Final = tuple(HookEvent)
# Events that Forkpoint's telemetry adds to those of Krabs.
_OTHER_EVENTS: Final = frozenset({"live_call", "events_dropped"})
_STARTS: Final = frozenset({"agent_start", "turn_start", "pre_tool_use"})


@dataclass(frozen=True, kw_only=True, slots=True)
class _Event:
    type: str
    time: datetime
    agent: str
    body: JSONObject
    location: str


@dataclass(kw_only=True)
class _OpenStep:
    """A step with a known start; one of the later events may be its end."""

    key: str
    type: StepType
    start: _Event
    parent: str | None
    end: _Event | None = None


@dataclass(kw_only=True)
class _Session:
    agents: list[_OpenStep] = field(default_factory=list)
    turns: list[_OpenStep] = field(default_factory=list)
    tools: list[_OpenStep] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True, slots=True)
class CheckedEvent:
    """A valid event: the id of its session's run, and whether it ends an agent."""

    run_id: str
    ends_agent: bool


def check(record: JSONObject) -> CheckedEvent:
    """Check an event by itself; raise `BadFile` with the location of what is missing or invalid."""
    event = _event(record, "")
    session_id = as_text(record.get("session_id")) or event.agent
    if not session_id:
        raise BadFile("an event without `session_id`", "/session_id")
    return CheckedEvent(run_id=run_id_of(session_id), ends_agent=event.type == HookEvent.AGENT_STOP)


def parse(sources: Sequence[Source]) -> Iterator[RecordedRun]:
    """Yield one run per session, whose events may be in several files."""
    sessions: dict[str, list[_Event]] = {}
    for source in sources:
        for session_id, event in _events(source):
            sessions.setdefault(session_id, []).append(event)
    for session_id, events in sessions.items():
        try:
            yield _run(session_id, events)
        except BadFile as problem:
            sources[-1].problems.append(problem)


def keys(source: Source) -> set[str]:
    """Return the ids of the sessions in a file; none for a database, whose sessions are always complete."""
    return set() if source.data.startswith(sqlite_file.MAGIC) else {session_id for session_id, _ in _events(source)}


def _events(source: Source) -> Iterator[tuple[str, _Event]]:
    """Yield the events of a file with their session ids."""
    try:
        for record, location in source.objects():
            if as_text(record.get("event_type")) in _OTHER_EVENTS:
                continue
            try:
                event = _event(record, location)
            except BadFile as problem:
                source.problems.append(problem)
            else:
                yield as_text(record.get("session_id")) or event.agent or source.name, event
    except BadFile as problem:
        source.problems.append(problem)


def _event(record: JSONObject, location: str) -> _Event:
    kind = as_text(record.get("event_type"))
    if kind not in EVENT_TYPES:
        raise BadFile(f"“{kind[:40]}” is not an event of Krabs", f"{location}/event_type")
    time = parse_time(record.get("timestamp_ms"), f"{location}/timestamp_ms")
    if time is None:
        raise BadFile("an event without `timestamp_ms`", f"{location}/timestamp_ms")
    payload = require_object(record.get("payload"), f"{location}/payload")
    # Tagged with the event type, or flat.
    body = payload[kind] if has_object(payload, kind) else payload
    return _Event(type=kind, time=time, agent=as_text(record.get("agent_id")), body=as_object(body), location=location)


def _run(session_id: str, events: list[_Event]) -> RecordedRun:
    session = _Session()
    for event in sorted((event for event in events if event.type in _STARTS), key=_start_order):
        _begin_step(session, event)
    for event in sorted((event for event in events if event.type not in _STARTS), key=lambda event: event.time):
        _end_step(session, event)
    all_steps = [*session.agents, *session.turns, *session.tools]
    last_time = max(event.time for event in events)
    steps = sort_causally([_step(step, last_time) for step in all_steps])
    answer = next((agent.end for agent in reversed(session.agents) if agent.end), None)
    return build_run(
        RunFacts(
            external_id=run_id_of(session_id),
            app=FORMAT,
            format=FORMAT,
            tags=["krabs"],
            has_ended=answer is not None,
            metadata={
                "session_id": session_id,
                "agent_id": events[0].agent,
                "note": "" if answer else "the recording ends before the agent stopped",
            },
        ),
        steps,
        location=f"session {session_id}",
    )


def run_id_of(session_id: str) -> str:
    """Return the external id of a session's run; the session in Krabs' own database is another run."""
    return f"{session_id}/telemetry"


def _start_order(event: _Event) -> tuple[datetime, int]:
    return event.time, EVENT_TYPES.index(event.type)


def _begin_step(session: _Session, event: _Event) -> None:
    match event.type:
        case "agent_start":
            session.agents.append(
                _OpenStep(key=f"agent-{len(session.agents) + 1}", type=StepType.AGENT, start=event, parent=None)
            )
        case "turn_start":
            parent = _enclosing_key(session.agents, event)
            session.turns.append(
                _OpenStep(key=f"turn-{len(session.turns) + 1}", type=StepType.TURN, start=event, parent=parent)
            )
        case _:
            call_id = as_text(event.body.get("tool_use_id"))
            parent = _enclosing_key(session.turns, event) or _enclosing_key(session.agents, event)
            key = f"{call_id or 'tool'}-{len(session.tools) + 1}" if _is_key_in_use(session.tools, call_id) else call_id
            session.tools.append(_OpenStep(key=key, type=StepType.TOOL, start=event, parent=parent))


def _is_key_in_use(tools: list[_OpenStep], call_id: str) -> bool:
    return not call_id or any(tool.key == call_id for tool in tools)


def _enclosing_key(candidates: list[_OpenStep], event: _Event) -> str | None:
    """Return the key of the latest step that started before an event, preferably of the same agent."""
    started_steps = [step for step in candidates if step.start.time <= event.time]
    same_agent = [step for step in started_steps if step.start.agent == event.agent]
    matches = same_agent or started_steps
    return matches[-1].key if matches else None


def _end_step(session: _Session, event: _Event) -> None:
    match event.type:
        case "agent_stop":
            open_steps = [step for step in session.agents if step.start.agent == event.agent] or session.agents
        case "turn_end":
            open_steps = [step for step in session.turns if step.start.body.get("turn") == event.body.get("turn")]
        case _:
            call_id = event.body.get("tool_use_id")
            open_steps = [step for step in session.tools if step.start.body.get("tool_use_id") == call_id]
    open_step = next((step for step in open_steps if step.end is None), None)
    if open_step is not None:
        open_step.end = event
    elif event.type.startswith("post_tool_use"):
        # The line with its start is lost, but its result is known.
        key = f"{as_text(event.body.get('tool_use_id')) or 'tool'}-end-{len(session.tools) + 1}"
        session.tools.append(
            _OpenStep(key=key, type=StepType.TOOL, start=event, parent=_enclosing_key(session.turns, event), end=event)
        )


def _step(step: _OpenStep, last_time: datetime) -> RecordedStep:
    body, end = step.start.body, step.end.body if step.end else {}
    is_failure = step.end is not None and step.end.type == "post_tool_use_failure"
    return build_step(
        SpanFacts(
            key=step.key,
            type=step.type,
            name=_name(step),
            parent=step.parent,
            times=Span(start=step.start.time, end=step.end.time if step.end else None),
            failed=is_failure,
            is_open=step.end is None,
            error=as_text(end.get("error")),
            input=first_member(body, "task") if step.type is StepType.AGENT else body.get("args"),
            output=end.get("result") if step.type is StepType.AGENT else first_member(end, "result", "error"),
            tool_name=as_text(body.get("tool_name")),
            call_id=as_text(body.get("tool_use_id")),
            attributes=_attributes(step, last_time),
        )
    )


def _attributes(step: _OpenStep, last_time: datetime) -> JSONObject:
    attributes: JSONObject = {"agent_id": step.start.agent}
    turn: JSONValue = step.start.body.get("turn")
    if step.start.type not in _STARTS:
        attributes["call_not_recorded"] = True
    return {
        **attributes,
        **({"turn": turn} if turn is not None else {}),
        **({"still_open_at": last_time.isoformat()} if step.end is None else {}),
    }


def _name(step: _OpenStep) -> str:
    match step.type:
        case StepType.AGENT:
            return "agent"
        case StepType.TURN:
            return f"turn {as_text(step.start.body.get('turn'))}"
        case _:
            return as_text(step.start.body.get("tool_name")) or "tool"
