"""Cursor: output of `cursor-agent --output-format stream-json`, one event per line, and transcripts of its agents.

Calls are events of their own, which name the model call that made them by `model_call_id`. With partial output, an
answer comes in pieces first, and then again as a whole.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from typing import Final

from traces.core.json_access import as_list, as_object, as_text, first_member, has_object, text_or_json
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun
from traces.core.vocabulary import StepStatus
from traces.importers.common import transcripts
from traces.importers.common.identity import content_id
from traces.importers.common.messages import message_text
from traces.importers.common.model_calls import normalize_provider, normalize_usage
from traces.importers.common.run_builder import RunFacts, build_run
from traces.importers.common.transcript_messages import TranscriptMessage, TranscriptSettings
from traces.importers.files.errors import BadFile
from traces.importers.files.source import Source
from traces.importers.formats.session_logs.threads import Thread, nest

FORMAT: Final = "cursor"
# Of a transcript, in its name.
_ID: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_SUBAGENTS: Final = "subagents"
_SUFFIX: Final = "ToolCall"
_LINE: Final = frozenset({"role", "message", "timestamp"})
_IDS: Final = frozenset({"type", "subtype", "session_id"})
_FAILURES: Final = ("error", "failure", "timeout", "spawnError", "permissionDenied", "fileNotFound")


@dataclass(kw_only=True)
class _Session:
    """The events of a session, as messages."""

    start: JSONObject = field(default_factory=dict)
    result: JSONObject = field(default_factory=dict)
    entries: list[TranscriptMessage] = field(default_factory=list)
    # The answer that later calls may belong to, and its model call.
    answer: JSONObject | None = None
    call_id: str = ""
    pieces: list[str] = field(default_factory=list)
    thoughts: list[str] = field(default_factory=list)


def is_event(value: JSONValue) -> bool:
    """Return True if `value` is an event that Claude Code, which has similar output, does not write."""
    if isinstance(value, list):
        return any(map(is_event, value))
    body = as_object(value)
    if _is_message(body):
        return True
    if "session_id" not in body:
        return False
    match as_text(body.get("type")):
        case "tool_call":
            return "call_id" in body and has_object(body, "tool_call")
        case "thinking":
            return "subtype" in body
        case "system":
            return "apiKeySource" in body and "tools" not in body
    return False


def _is_message(body: JSONObject) -> bool:
    """Return whether an object is a line of a transcript (`agent-transcripts/*.jsonl`)."""
    message = as_object(body.get("message"))
    return {"role", "message"} <= body.keys() <= _LINE and "content" in message and "role" not in message


def _transcript(lines: list[tuple[JSONObject, str]], name: str) -> RecordedRun:
    """Return the run of a transcript. It has no results of calls, no times, and no model."""
    id = _ID.search(PurePosixPath(name).name)
    entries = [
        TranscriptMessage(value={**line, **as_object(line["message"])}, location=location) for line, location in lines
    ]
    return build_run(
        RunFacts(
            external_id=id[0] if id else f"{FORMAT}-{content_id([line for line, _ in lines], '')}",
            app=FORMAT,
            format=FORMAT,
        ),
        transcripts.build_steps(entries, TranscriptSettings(agent=FORMAT)),
    )


def keys(source: Source) -> set[str]:
    """Return what a transcript shares with those of its subagents: the folder, which the session names."""
    return {_session_of(source.name) or PurePosixPath(source.name).stem}


def _session_of(name: str) -> str:
    """Return the session in whose folder the transcript of a subagent is; empty for any other file."""
    folder = PurePosixPath(name).parent
    return folder.parent.name if folder.name == _SUBAGENTS else ""


def parse(sources: Sequence[Source]) -> Iterator[RecordedRun]:
    """Yield the runs of each file; transcripts of subagents are inside those of their sessions."""
    threads: dict[str, Thread] = {}
    for source in sources:
        try:
            runs = [*_parse(source)]
        except BadFile as problem:
            source.problems.append(problem)
            continue
        if len(sources) == 1 or len(runs) != 1 or runs[0].metadata:
            yield from runs
            continue
        session = _session_of(source.name)
        name = source.name if session else PurePosixPath(source.name).stem
        # Of two with a name, the second is another session.
        threads[source.name if name in threads else name] = Thread(run=runs[0], parent=session)
    yield from nest(threads)


def _parse(source: Source) -> Iterator[RecordedRun]:
    """Yield one run per session of the output, or the run of a transcript."""
    sessions: dict[str, _Session] = {}
    lines: list[tuple[JSONObject, str]] = []
    for event, location in source.entries():
        if _is_message(event):
            lines.append((event, location))
            continue
        if not event:
            source.problems.append(BadFile("expected an event", location))
            continue
        _add_event(sessions.setdefault(as_text(event.get("session_id")), _Session()), event, location)
    if lines:
        yield _transcript(lines, source.name)
    for id, session in sessions.items():
        _end_answer(session, "the end")
        try:
            yield _run(id, session)
        except BadFile as problem:
            source.problems.append(problem)


def _add_event(session: _Session, event: JSONObject, location: str) -> None:
    match as_text(event.get("type")), as_text(event.get("subtype")):
        case "system", "init":
            session.start = event
        case "result", _:
            session.result = event
        case "thinking", _:
            session.thoughts.append(as_text(event.get("text")))
        case "user", _:
            _end_answer(session, location)
            message = as_object(event.get("message"))
            value: JSONObject = {**message, "ts": event.get("timestamp_ms")}
            session.entries.append(TranscriptMessage(value=value, location=location))
        case "assistant", _:
            _add_text(session, event, location)
        case "tool_call", "started":
            _add_call(session, event, location)
        case "tool_call", "completed":
            _add_result(session, event, location)


def _add_text(session: _Session, event: JSONObject, location: str) -> None:
    text = message_text(event.get("message"))
    if "timestamp_ms" in event and "model_call_id" not in event:
        session.pieces.append(text)
        return
    session.pieces = []
    is_piece = not event.get("model_call_id") and not session.call_id and not session.thoughts
    if session.answer is None or session.answer["tool_calls"] or not is_piece:
        _begin_answer(session, event, location)
    if text and session.answer is not None:
        _append(as_list(session.answer["content"]), text)


def _append(blocks: list[JSONValue], text: str) -> None:
    """Add a text to those of an answer; older versions write a text in pieces."""
    last = as_object(blocks[-1]) if blocks else {}
    if last.get("type") == "text":
        last["text"] = as_text(last["text"]) + text
    else:
        blocks.append({"type": "text", "text": text})


def _begin_answer(session: _Session, event: JSONObject, location: str) -> None:
    """Start the answer of another model call, with what the model thought before."""
    _end_answer(session, location)
    _open_answer(session, event, location)


def _open_answer(session: _Session, event: JSONObject, location: str) -> None:
    thought = "".join(session.thoughts)
    content: list[JSONValue] = [{"type": "thinking", "thinking": thought}] if thought else []
    session.thoughts = []
    session.call_id = as_text(event.get("model_call_id"))
    session.answer = {"role": "assistant", "content": content, "tool_calls": [], "ts": event.get("timestamp_ms")}
    if session.call_id:
        session.answer["model_call_id"] = session.call_id
    session.entries.append(TranscriptMessage(value=session.answer, location=location))


def _end_answer(session: _Session, location: str) -> None:
    """End the answer; pieces that no whole text followed are its text."""
    pieces, session.pieces = "".join(session.pieces), []
    if pieces or (session.thoughts and location == "the end"):
        _open_answer(session, {}, location)
        if pieces and session.answer is not None:
            _append(as_list(session.answer["content"]), pieces)
    session.answer = None


def _add_call(session: _Session, event: JSONObject, location: str) -> None:
    id = as_text(event.get("model_call_id"))
    if "".join(session.pieces):
        _end_answer(session, location)
        session.answer = as_object(session.entries[-1].value)
    if session.answer is None or session.thoughts or (id and session.call_id and id != session.call_id):
        _begin_answer(session, event, location)
    name, body = _tool(event)
    call: JSONObject = {"id": event.get("call_id"), "name": name, "arguments": _arguments(body)}
    as_list(as_object(session.answer)["tool_calls"]).append(call)


def _tool(event: JSONObject) -> tuple[str, JSONObject]:
    """Return the name and the content of a call, whose key is its name, or `function` for a tool unknown to Cursor."""
    call = as_object(event.get("tool_call"))
    key = next((key for key, item in call.items() if isinstance(item, dict)), "")
    body = as_object(call.get(key))
    if key == "function":
        return as_text(body.get("name")), body
    if key == "mcpToolCall":
        return as_text(first_member(as_object(body.get("args")), "toolName", "name")) or "mcp", body
    return key.removesuffix(_SUFFIX), body


def _arguments(body: JSONObject) -> JSONValue:
    return first_member(body, "args", "arguments")


def _add_result(session: _Session, event: JSONObject, location: str) -> None:
    """Add the result of a call. Without ids of model calls, a later call is the next answer's."""
    name, body = _tool(event)
    result = as_object(body.get("result"))
    failed = next((key for key in _FAILURES if key in result), "")
    rejected = "rejected" in result
    error = _failure(result[failed]) or failed if failed else ""
    content = first_member(result, "success", *_FAILURES, "rejected") if len(result) == 1 else body.get("result")
    value: JSONObject = {
        "role": "tool",
        "tool_call_id": event.get("call_id"),
        "name": name,
        "content": content if isinstance(content, str) else text_or_json(content),
        "ts": event.get("timestamp_ms"),
        **({"error": error} if error else {}),
        **({"denied": True} if rejected else {}),
    }
    session.entries.append(TranscriptMessage(value=value, location=location))
    if not session.call_id:
        session.answer = None


def _failure(value: JSONValue) -> str:
    body = as_object(value)
    return as_text(first_member(body, "errorMessage", "error", "message", "stderr")) or text_or_json(value)


def _run(id: str, session: _Session) -> RecordedRun:
    model = as_text(session.start.get("model"))
    settings = TranscriptSettings(model=model, provider=normalize_provider(None, model), agent=FORMAT)
    steps = transcripts.build_steps(session.entries, settings)
    # The usage of a session is known as a sum only.
    usage = normalize_usage(as_object(session.result.get("usage")), "result")
    failed = session.result.get("is_error") is True
    steps[0] = replace(
        steps[0],
        tokens_in=usage.tokens_in,
        tokens_out=usage.tokens_out,
        tokens_cached=usage.tokens_cached,
        status=StepStatus.ERROR if failed else steps[0].status,
        error=as_text(session.result.get("result")) if failed else steps[0].error,
    )
    facts = (("init", session.start), ("result", session.result))
    return build_run(
        RunFacts(
            external_id=id,
            app=FORMAT,
            format=FORMAT,
            failed=failed,
            has_ended=bool(session.result),
            metadata={name: {key: item for key, item in record.items() if key not in _IDS} for name, record in facts},
        ),
        steps,
        location=f"session {id}",
    )
