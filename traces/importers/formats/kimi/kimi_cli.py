"""Kimi CLI: the log of a session (`wire.jsonl`), one event per line. Events of a subagent are inside the events."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Final

from traces.core.json_access import as_list, as_object, as_text, first_member, has_object
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun, RecordedStep
from traces.importers.common import transcripts
from traces.importers.common.run_builder import RunFacts, build_run
from traces.importers.common.transcript_messages import TranscriptSettings, drop_unreadable
from traces.importers.files.errors import BadFile
from traces.importers.files.source import Source
from traces.importers.formats.kimi.wire import WireSession, add_call, add_part, session_id, usage

FORMAT: Final = "kimi-cli"
_SETTINGS: Final = TranscriptSettings(agent=FORMAT)
_COUNTS: Final = ("input_other", "input_cache_read", "input_cache_creation", "output")
_BEGINNING: Final = "TurnBegin"
_EVENTS: Final = frozenset(
    {_BEGINNING, "TurnEnd", "StepBegin", "ContentPart", "ToolCall", "ToolResult", "StatusUpdate", "SubagentEvent"}
)
_MOST_LEVELS: Final = 20


@dataclass(kw_only=True)
class _Session(WireSession):
    # Calls that the user was asked about, by the id of the request, and those that were rejected.
    questions: JSONObject = field(default_factory=dict)
    rejections: set[JSONValue] = field(default_factory=set)
    # Sessions of subagents by the id of the call that started them.
    children: "dict[str, _Session]" = field(default_factory=dict)


def is_line(value: JSONValue) -> bool:
    """Return True if `value` is an event with its time."""
    body = as_object(value)
    message = as_object(body.get("message"))
    return "timestamp" in body and as_text(message.get("type")) in _EVENTS and has_object(message, "payload")


def parse(source: Source) -> Iterator[RecordedRun]:
    """Yield the run of the session in a file."""
    records = [*source.objects()]
    session = _Session()
    for record, location in records:
        if message := as_object(record.get("message")):
            _add_event(session, message, record.get("timestamp"), location, level=0)
    metadata = as_object(next((record for record, _ in records if record.get("type") == "metadata"), None))
    yield build_run(
        RunFacts(
            external_id=f"{FORMAT}-{session_id(records, _BEGINNING)}",
            app=FORMAT,
            format=FORMAT,
            metadata={name: item for name, item in metadata.items() if name != "type"},
        ),
        _steps(session, source),
        location="line 1",
    )


def _steps(session: _Session, source: Source) -> list[RecordedStep]:
    """Return the steps of a session, and those of its subagents below the calls that started them."""
    steps = transcripts.build_steps(drop_unreadable(session.entries(), source.problems), _SETTINGS)
    if session.events:
        steps[0] = replace(steps[0], attributes={**steps[0].attributes, "events": session.events})
    callers = {step.call_id: step.key for step in steps if step.call_id}
    for call_id, child in session.children.items():
        steps += [
            replace(
                step,
                key=f"{call_id}/{step.key}",
                parent=f"{call_id}/{step.parent}" if step.parent else callers.get(call_id, steps[0].key),
                links=tuple(f"{call_id}/{link}" for link in step.links),
            )
            for step in _steps(child, source)
        ]
    return steps


def _add_event(session: _Session, event: JSONObject, time: JSONValue, location: str, level: int) -> None:
    payload = as_object(event.get("payload"))
    match event.get("type"):
        case "TurnBegin" | "SteerInput":
            session.answer = None
            session.add({"role": "user", "content": payload.get("user_input"), "ts": time}, location)
        case "StepBegin":
            session.begin_answer(time, location)
        case "ContentPart":
            add_part(session.current_answer(time, location), payload)
        case "ToolCall":
            add_call(session.current_answer(time, location), payload)
        case "ToolCallPart":
            _add_arguments(session.current_answer(time, location), payload)
        case "StatusUpdate" if session.answer is not None:
            _add_status(session.answer, payload)
        case "ToolResult":
            session.add({**_result(session, payload), "ts": time}, location)
        case "SubagentEvent":
            _add_to_child(session, payload, time, location, level)
        case "TurnEnd":
            pass
        case _:
            _add_note(session, event, payload, time)


def _add_arguments(answer: JSONObject, piece: JSONObject) -> None:
    """Add a piece to the arguments of the last call."""
    calls = as_list(answer["tool_calls"])
    if not calls:
        return
    call = as_object(calls[-1])
    function = as_object(call.get("function"))
    arguments = as_text(function.get("arguments")) + as_text(piece.get("arguments_part"))
    answer["tool_calls"] = [*calls[:-1], {**call, "function": {**function, "arguments": arguments}}]


def _add_status(answer: JSONObject, status: JSONObject) -> None:
    counts = usage(as_object(status.get("token_usage")), _COUNTS)
    facts = {name: item for name, item in status.items() if name != "token_usage" and item is not None}
    answer |= {**facts, **({"usage": counts} if counts else {})}


def _result(session: _Session, payload: JSONObject) -> JSONObject:
    """Return the result of a call: its output, or the message about it."""
    value = as_object(payload.get("return_value") or payload.get("result"))
    call_id = as_text(payload.get("tool_call_id"))
    message = value.get("message")
    facts: JSONObject = {
        "message": message if value.get("output") else None,
        "display": value.get("display"),
        "extras": value.get("extras"),
        "error": (as_text(message) or "error") if value.get("is_error") is True else None,
        "denied": True if call_id and call_id in session.rejections else None,
    }
    return {
        "role": "tool",
        "tool_call_id": payload.get("tool_call_id"),
        "content": value.get("output") or message or "",
        **{name: item for name, item in facts.items() if item not in (None, "", [], {})},
    }


def _add_to_child(session: _Session, payload: JSONObject, time: JSONValue, location: str, level: int) -> None:
    if level == _MOST_LEVELS:
        raise BadFile(f"subagents are nested deeper than {_MOST_LEVELS} levels", location)
    call_id = as_text(first_member(payload, "parent_tool_call_id", "task_tool_call_id"))
    child = session.children.setdefault(call_id, _Session())
    facts: JSONObject = {name: item for name, item in payload.items() if name != "event" and item is not None}
    if facts not in child.events:
        child.events.append(facts)
    _add_event(child, as_object(payload.get("event")), time, location, level + 1)


def _add_note(session: _Session, event: JSONObject, payload: JSONObject, time: JSONValue) -> None:
    """Note an event of the program. What follows a compaction was sent with a summary that is not in the log."""
    match event.get("type"):
        case "ApprovalRequest":
            session.questions[as_text(payload.get("id"))] = payload.get("tool_call_id")
        case "ApprovalResponse" | "ApprovalRequestResolved" if payload.get("response") == "reject":
            session.rejections.add(as_text(session.questions.get(as_text(payload.get("request_id")))))
        case "CompactionEnd":
            session.is_reset = True
    session.events.append({**event, "timestamp": time})
