"""Krabs telemetry: JSON Lines of events, each written by a task of its own and so in no certain order."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun, RecordedStep
from traces.core.vocabulary import HookEvent, StepType
from traces.importers.common.run_builder import RunFacts, build_run, sort_causally
from traces.importers.common.spans import SpanFacts, build_step
from traces.importers.common.times import Span, parse_time
from traces.importers.files import sqlite_file
from traces.importers.files.errors import BadFile
from traces.importers.files.json_reader import first, obj, require_object, text
from traces.importers.files.source import Source

FORMAT = "krabs"
EVENT_TYPES: Final = tuple(HookEvent)
_BESIDE: Final = frozenset({"live_call", "events_dropped"})  # what Forkpoint's telemetry says beside Krabs's events
_STARTS: Final = frozenset({"agent_start", "turn_start", "pre_tool_use"})


@dataclass(frozen=True, kw_only=True, slots=True)
class _Event:
    type: str
    time: datetime
    agent: str
    body: JSONObject
    where: str


@dataclass(kw_only=True)
class _Open:
    """A step whose start is known; its end is looked for among the later events."""

    key: str
    type: StepType
    start: _Event
    parent: str | None
    end: _Event | None = None


@dataclass(kw_only=True)
class _Session:
    agents: list[_Open] = field(default_factory=list)
    turns: list[_Open] = field(default_factory=list)
    tools: list[_Open] = field(default_factory=list)


def parse(sources: Sequence[Source]) -> Iterator[RecordedRun]:
    """One run for each session, whatever files its events are in."""
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
    """The sessions that have events in a file; a database has its sessions whole."""
    return set() if source.data.startswith(sqlite_file.MAGIC) else {session_id for session_id, _ in _events(source)}


def _events(source: Source) -> Iterator[tuple[str, _Event]]:
    """The events of a file with their sessions."""
    try:
        for given, where in source.objects():
            if text(given.get("event_type")) in _BESIDE:
                continue
            try:
                event = _event(given, where)
            except BadFile as problem:
                source.problems.append(problem)
            else:
                yield text(given.get("session_id")) or event.agent or source.name, event
    except BadFile as problem:
        source.problems.append(problem)


def _event(given: JSONObject, where: str) -> _Event:
    kind = text(given.get("event_type"))
    if kind not in EVENT_TYPES:
        raise BadFile(f"{kind[:40]!r} is not an event of Krabs", f"{where}/event_type")
    time = parse_time(given.get("timestamp_ms"), f"{where}/timestamp_ms")
    if time is None:
        raise BadFile("an event without `timestamp_ms`", f"{where}/timestamp_ms")
    payload = require_object(given.get("payload"), f"{where}/payload")
    body = payload[kind] if isinstance(payload.get(kind), dict) else payload  # tagged by its name, or flat
    return _Event(type=kind, time=time, agent=text(given.get("agent_id")), body=obj(body), where=where)


def _run(session_id: str, events: list[_Event]) -> RecordedRun:
    session = _Session()
    for event in sorted((each for each in events if each.type in _STARTS), key=_start_order):
        _begin(session, event)
    for event in sorted((each for each in events if each.type not in _STARTS), key=lambda each: each.time):
        _end(session, event)
    opened = [*session.agents, *session.turns, *session.tools]
    last = max(event.time for event in events)
    steps = sort_causally([_step(each, last) for each in opened], location=f"session {session_id}")
    answer = next((each.end for each in reversed(session.agents) if each.end), None)
    return build_run(
        RunFacts(
            external_id=f"{session_id}/telemetry",
            app=FORMAT,
            format=FORMAT,
            tags=["krabs"],
            failed=answer is None,
            metadata={
                "session_id": session_id,
                "agent_id": events[0].agent,
                "note": "" if answer else "the recording ends before the agent stopped",
            },
        ),
        steps,
        location=f"session {session_id}",
    )


def _start_order(event: _Event) -> tuple[datetime, int]:
    return event.time, EVENT_TYPES.index(event.type)


def _begin(session: _Session, event: _Event) -> None:
    match event.type:
        case "agent_start":
            session.agents.append(
                _Open(key=f"agent-{len(session.agents) + 1}", type=StepType.AGENT, start=event, parent=None)
            )
        case "turn_start":
            parent = _around(session.agents, event)
            session.turns.append(
                _Open(key=f"turn-{len(session.turns) + 1}", type=StepType.TURN, start=event, parent=parent)
            )
        case _:
            call_id = text(event.body.get("tool_use_id"))
            parent = _around(session.turns, event) or _around(session.agents, event)
            key = f"{call_id or 'tool'}-{len(session.tools) + 1}" if _taken(session.tools, call_id) else call_id
            session.tools.append(_Open(key=key, type=StepType.TOOL, start=event, parent=parent))


def _taken(tools: list[_Open], call_id: str) -> bool:
    return not call_id or any(tool.key == call_id for tool in tools)


def _around(candidates: list[_Open], event: _Event) -> str | None:
    """The latest of the same agent that had begun by then."""
    begun = [each for each in candidates if each.start.time <= event.time]
    own = [each for each in begun if each.start.agent == event.agent]
    chosen = own or begun
    return chosen[-1].key if chosen else None


def _end(session: _Session, event: _Event) -> None:
    match event.type:
        case "agent_stop":
            open_steps = [each for each in session.agents if each.start.agent == event.agent] or session.agents
        case "turn_end":
            open_steps = [each for each in session.turns if each.start.body.get("turn") == event.body.get("turn")]
        case _:
            wanted = event.body.get("tool_use_id")
            open_steps = [each for each in session.tools if each.start.body.get("tool_use_id") == wanted]
    waiting = next((each for each in open_steps if each.end is None), None)
    if waiting is not None:
        waiting.end = event
    elif event.type.startswith("post_tool_use"):
        # the line of its start was lost: what it answered is still known
        key = f"{text(event.body.get('tool_use_id')) or 'tool'}-end-{len(session.tools) + 1}"
        session.tools.append(
            _Open(key=key, type=StepType.TOOL, start=event, parent=_around(session.turns, event), end=event)
        )


def _step(given: _Open, last: datetime) -> RecordedStep:
    body, end = given.start.body, given.end.body if given.end else {}
    failed = given.end is not None and given.end.type == "post_tool_use_failure"
    return build_step(
        SpanFacts(
            key=given.key,
            type=given.type,
            name=_name(given),
            parent=given.parent,
            times=Span(start=given.start.time, end=given.end.time if given.end else None),
            failed=failed,
            is_open=given.end is None,
            error=text(end.get("error")),
            input=first(body, "task") if given.type is StepType.AGENT else body.get("args"),
            output=end.get("result") if given.type is StepType.AGENT else first(end, "result", "error"),
            tool_name=text(body.get("tool_name")),
            call_id=text(body.get("tool_use_id")),
            attributes=_kept(given, last),
        )
    )


def _kept(given: _Open, last: datetime) -> JSONObject:
    kept: JSONObject = {"agent_id": given.start.agent}
    turn: JSONValue = given.start.body.get("turn")
    if given.start.type not in _STARTS:
        kept["call_not_recorded"] = True
    return {
        **kept,
        **({"turn": turn} if turn is not None else {}),
        **({"still_open_at": last.isoformat()} if given.end is None else {}),
    }


def _name(given: _Open) -> str:
    match given.type:
        case StepType.AGENT:
            return "agent"
        case StepType.TURN:
            return f"turn {text(given.start.body.get('turn'))}"
        case _:
            return text(given.start.body.get("tool_name")) or "tool"
