"""Crush: the database of a project (`crush.db`). Each session is a run; sessions of subagents are nested."""

from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from traces.core.json_access import as_object, as_objects, as_text, first_member
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun, RecordedStep
from traces.importers.common import transcripts
from traces.importers.common.model_calls import normalize_provider, parse_cost
from traces.importers.common.run_builder import RunFacts, build_run
from traces.importers.common.times import parse_time
from traces.importers.common.transcript_messages import TranscriptMessage, TranscriptSettings, drop_unreadable
from traces.importers.files.errors import BadFile
from traces.importers.files.json_reader import parse_embedded
from traces.importers.files.sample import Sample
from traces.importers.files.source import Source
from traces.importers.files.sqlite_file import Database, ImpossibleContent, Row, has_column

FORMAT: Final = "crush"
_COLUMNS: Final[dict[str, Sequence[str]]] = {
    "sessions": (
        "id",
        "parent_session_id",
        "title",
        "prompt_tokens",
        "completion_tokens",
        "cost",
        "created_at",
        "updated_at",
        "summary_message_id",
        "todos",
    ),
    "messages": ("id", "session_id", "role", "parts", "model", "provider", "created_at", "updated_at", "finished_at"),
}
# Between a message and its call, in the id of the session of a subagent.
_SEPARATOR: Final = "$$"
_SETTINGS: Final = TranscriptSettings(agent=FORMAT)


def sniff(sample: Sample) -> float:
    """Return the confidence that the file is a database of Crush."""
    return 1.0 if has_column(sample.head, "messages", "parts") else 0.0


def parse(source: Source) -> Iterator[RecordedRun]:
    """Yield one run per session without a parent."""
    database = Database(source.data, _COLUMNS)
    try:
        if "sessions" not in database or "messages" not in database:
            raise BadFile("a database of Crush needs `sessions` and `messages`", "table sessions")
        sessions = {as_text(row["id"]): row for row in database.rows("sessions", "ORDER BY created_at, id")}
        messages: dict[str, list[Row]] = defaultdict(list)
        for row in database.rows("messages", "ORDER BY created_at, rowid"):
            messages[as_text(row.get("session_id"))].append(row)
    finally:
        database.close()
    children: dict[str, list[Row]] = defaultdict(list)
    for session in sessions.values():
        children[as_text(session.get("parent_session_id"))].append(session)
    for session in sessions.values():
        if as_text(session.get("parent_session_id")) in sessions:
            continue
        try:
            yield _run(session, messages, children, source.problems)
        except ImpossibleContent:
            raise
        except BadFile as problem:
            source.problems.append(problem)


def _run(
    session: Row, messages: dict[str, list[Row]], children: dict[str, list[Row]], problems: list[BadFile]
) -> RecordedRun:
    id = as_text(session["id"])
    steps = _steps(session, messages[id], problems)
    callers = {step.call_id: step.key for step in steps if step.call_id}
    waiting = deque(children[id])
    while waiting:
        child = waiting.popleft()
        child_id = as_text(child["id"])
        caller = callers.get(child_id.rpartition(_SEPARATOR)[2], steps[0].key)
        inner_steps = [_move(step, child_id, caller) for step in _steps(child, messages[child_id], problems)]
        callers |= {step.call_id: step.key for step in inner_steps if step.call_id}
        steps += inner_steps
        waiting += children[child_id]
    return build_run(
        RunFacts(
            external_id=id,
            app=FORMAT,
            format=FORMAT,
            title=as_text(session.get("title")),
            started_at=parse_time(session.get("created_at"), f"session {id}"),
            metadata={
                **{name: session.get(name) for name in ("prompt_tokens", "completion_tokens", "summary_message_id")},
                "todos": parse_embedded(session.get("todos")),
                "updated_at": session.get("updated_at"),
            },
        ),
        steps,
        location=f"session {id}",
    )


def _move(step: RecordedStep, session: str, caller: str) -> RecordedStep:
    """Return a step of a subagent's session below the call that started it, or below the agent."""
    return replace(
        step,
        key=f"{session}/{step.key}",
        parent=f"{session}/{step.parent}" if step.parent else caller,
        links=tuple(f"{session}/{link}" for link in step.links),
    )


def _steps(session: Row, rows: list[Row], problems: list[BadFile]) -> list[RecordedStep]:
    """Return the steps of a session; its agent has the cost, which is known for the whole session only."""
    summary = session.get("summary_message_id")
    entries = [entry for row in rows for entry in _entries(row, is_summary=row["id"] == summary)]
    steps = transcripts.build_steps(drop_unreadable(entries, problems), _SETTINGS)
    steps[0] = replace(steps[0], name=as_text(session.get("title")) or FORMAT, cost_usd=parse_cost(session.get("cost")))
    return steps


def _entries(row: Row, *, is_summary: bool) -> Iterator[TranscriptMessage]:
    """Yield the results in a message, and the rest of it. Later requests begin with a summary."""
    parts = as_objects(parse_embedded(row.get("parts")))
    location = f"message {as_text(row.get('id'))}"
    time: JSONObject = {"ts": row.get("created_at")}
    for part in parts:
        if part.get("type") == "tool_result":
            yield TranscriptMessage(value={**_result(_data(part)), **time}, location=location)
    value = {**_message(row, parts), **time}
    if value.get("content") or value.get("tool_calls") or value.get("error"):
        yield TranscriptMessage(value=value, location=location)
    if is_summary:
        summary: JSONObject = {"role": "user", "content": value.get("content")}
        yield TranscriptMessage(value=summary, location=location, is_injected=True, resets_history=True)


def _data(part: JSONObject) -> JSONObject:
    return as_object(part.get("data"))


def _message(row: Row, parts: list[JSONObject]) -> JSONObject:
    finish = next((_data(part) for part in parts if part.get("type") == "finish"), {})
    calls: list[JSONValue] = [
        {"id": data.get("id"), "name": data.get("name"), "arguments": data.get("input")}
        for part in parts
        if part.get("type") == "tool_call" and (data := _data(part))
    ]
    is_answer = row.get("role") == "assistant"
    failure = first_member(finish, "message", "details") or "error" if finish.get("reason") == "error" else None
    facts: JSONObject = {
        "tool_calls": calls or None,
        "model": row.get("model"),
        "provider": normalize_provider(row.get("provider"), as_text(row.get("model"))) if is_answer else None,
        "finish_reason": finish.get("reason") if is_answer else None,
        "error": failure,
        "error_details": finish.get("details") if failure else None,
    }
    content: list[JSONValue] = [block for part in parts if (block := _block(part))]
    known_facts = {name: item for name, item in facts.items() if item not in (None, "")}
    return {"role": row.get("role"), "content": content or None, "message_id": row.get("id"), **known_facts}


def _block(part: JSONObject) -> JSONValue:
    """Return a text, a thought or a file; None for other parts."""
    data = _data(part)
    match part.get("type"):
        case "text":
            return {"type": "text", "text": data["text"]} if data.get("text") else None
        case "reasoning":
            return {"type": "thinking", **data} if data.get("thinking") else None
        case "image_url" | "binary":
            return {**data, "type": part["type"]}
    return None


def _result(data: JSONObject) -> JSONObject:
    """Return a result; its metadata is JSON in a text."""
    metadata = parse_embedded(data.get("metadata"))
    fields: JSONObject = {name: data[name] for name in ("data", "mime_type") if data.get(name)}
    return {
        "role": "tool",
        "tool_call_id": data.get("tool_call_id"),
        "content": data.get("content"),
        **({"metadata": metadata} if metadata else {}),
        **({"is_error": True} if data.get("is_error") is True else {}),
        **fields,
    }
