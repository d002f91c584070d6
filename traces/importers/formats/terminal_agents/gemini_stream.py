"""Gemini CLI: output of `gemini --output-format stream-json`, one event per line. Answers come in pieces."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Final

from traces.core.json_access import as_list, as_object, as_text, first_member
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun
from traces.importers.common import transcripts
from traces.importers.common.identity import content_id
from traces.importers.common.model_calls import parse_token_count
from traces.importers.common.run_builder import RunFacts, build_run
from traces.importers.common.transcript_messages import TranscriptMessage, TranscriptSettings
from traces.importers.files.source import Source

FORMAT: Final = "gemini-stream"


@dataclass(kw_only=True)
class _Session:
    start: JSONObject = field(default_factory=dict)
    result: JSONObject = field(default_factory=dict)
    messages: list[TranscriptMessage] = field(default_factory=list)
    # The answer that further pieces and calls belong to.
    answer: JSONObject | None = None
    has_results: bool = False
    errors: list[JSONValue] = field(default_factory=list)


def is_event(value: JSONValue) -> bool:
    """Return True if `value` is the beginning of a session, or a call or a result in it."""
    body = as_object(value)
    match body.get("type"):
        case "init":
            return {"session_id", "model", "timestamp"} <= body.keys()
        case "tool_use" | "tool_result":
            return {"tool_id", "timestamp"} <= body.keys()
    return False


def parse(source: Source) -> Iterator[RecordedRun]:
    """Yield the run of the session in a file."""
    session = _Session()
    events = [*source.objects()]
    for event, location in events:
        _add_event(session, event, location)
    stats = as_object(session.result.get("stats"))
    start, failure = session.start, as_object(session.result.get("error"))
    steps = transcripts.build_steps(
        session.messages, TranscriptSettings(model=as_text(start.get("model")), provider="google", agent="gemini-cli")
    )
    # Tokens are known for the whole session only.
    steps[0] = replace(
        steps[0],
        tokens_in=parse_token_count(stats.get("input_tokens"), "stats"),
        tokens_out=parse_token_count(stats.get("output_tokens"), "stats"),
        tokens_cached=parse_token_count(stats.get("cached"), "stats"),
    )
    yield build_run(
        RunFacts(
            external_id=as_text(start.get("session_id"))
            or f"{FORMAT}-{content_id([event for event, _ in events], '')}",
            app="gemini-cli",
            format=FORMAT,
            failed=session.result.get("status") == "error",
            has_ended=bool(session.result),
            metadata={"stats": stats, "error": failure or None, "errors": session.errors},
        ),
        steps,
        location="line 1",
    )


def _add_event(session: _Session, event: JSONObject, location: str) -> None:
    match as_text(event.get("type")), event.get("role"):
        case "init", _:
            session.start = event
        case "result", _:
            session.result = event
        case "error", _:
            session.errors.append(event)
        case "message", "user":
            session.answer = None
            value: JSONObject = {"role": "user", "content": event.get("content"), "ts": event.get("timestamp")}
            session.messages.append(TranscriptMessage(value=value, location=location))
        case "message", _:
            answer = _answer(session, event, location, is_text=True)
            answer["content"] = as_text(answer["content"]) + as_text(event.get("content"))
        case "tool_use", _:
            answer = _answer(session, event, location)
            call: JSONObject = {"id": event.get("tool_id"), "name": event.get("tool_name")}
            answer["tool_calls"] = [
                *as_list(answer["tool_calls"]),
                {**call, "arguments": event.get("parameters") or {}},
            ]
        case "tool_result", _:
            session.messages.append(TranscriptMessage(value=_result(event), location=location))
            session.has_results = True


def _answer(session: _Session, event: JSONObject, location: str, *, is_text: bool = False) -> JSONObject:
    """Return the answer that an event belongs to. After calls, a text is a new one; after results, so is a call."""
    answer = session.answer
    if answer is None or session.has_results or (is_text and answer["tool_calls"]):
        answer = {"role": "assistant", "content": None, "tool_calls": []}
        session.answer, session.has_results = answer, False
        session.messages.append(TranscriptMessage(value=answer, location=location))
    answer["ts"] = event.get("timestamp")
    return answer


def _result(event: JSONObject) -> JSONObject:
    error = as_object(event.get("error"))
    output = first_member(event, "output")
    failure = as_text(error.get("message")) or "error" if event.get("status") == "error" or error else ""
    return {
        "role": "tool",
        "tool_call_id": event.get("tool_id"),
        "content": failure if output is None else output,
        "ts": event.get("timestamp"),
        **({"error": failure} if failure else {}),
    }
