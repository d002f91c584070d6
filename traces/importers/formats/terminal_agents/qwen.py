"""Qwen Code: chats of lines that form a tree, like those of Claude Code, with messages in Gemini's form."""

from collections.abc import Iterator, Sequence
from typing import Final

from traces.core.json_access import as_list, as_object, as_text, has_list, has_object
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun
from traces.importers.common import transcripts
from traces.importers.common.run_builder import RunFacts, build_run
from traces.importers.common.transcript_messages import TranscriptMessage, TranscriptSettings
from traces.importers.files.errors import BadFile
from traces.importers.files.source import Source
from traces.importers.formats.coding_agents.claude_branches import Line, branches, close_gaps

FORMAT: Final = "qwen-code"
_SETTINGS: Final = TranscriptSettings(agent=FORMAT)
_METADATA: Final = ("cwd", "gitBranch", "version", "forkedFrom")
_COMPRESSION: Final = "chat_compression"
_FAILURES: Final = frozenset({"error", "cancelled"})
# User messages that the program wrote.
_NOTIFICATIONS: Final = frozenset({"notification", "cron"})


def is_line(value: JSONValue) -> bool:
    """Return True if `value` is a line of a chat of Qwen Code."""
    body = as_object(value)
    return {"uuid", "sessionId", "type"} <= body.keys() and (
        has_list(body.get("message"), "parts") or (body.get("type") == "system" and has_object(body, "systemPayload"))
    )


def parse(source: Source) -> Iterator[RecordedRun]:
    """Yield the sessions of the file; every other branch with an answer is a separate run."""
    sessions: dict[str, list[Line]] = {}
    for record, location in source.objects():
        line = Line(record=_as_message(record), location=location)
        sessions.setdefault(as_text(record.get("sessionId")) or source.name, []).append(line)
    for id, lines in sessions.items():
        events: list[JSONValue] = [line.record for line in lines if not line.is_message]
        titles = [title for line in lines if (title := _payload(line).get("customTitle"))]
        for number, branch in enumerate(branches(close_gaps(lines))):
            name = id if number == 0 else f"{id}/{branch.lines[branch.shared_length].id}"
            try:
                title = as_text(titles[-1]) if titles else ""
                yield _run(name, title, branch.lines, {"events": events} if number == 0 else {"left_branch_of": id})
            except BadFile as problem:
                source.problems.append(problem)


def _as_message(record: JSONObject) -> JSONObject:
    """Return results and compressed histories as messages of the tree; any other record as it is."""
    if record.get("type") == "tool_result":
        return {**record, "type": "user"}
    if record.get("subtype") == _COMPRESSION:
        return {**record, "type": "user", "message": {"role": "user", "parts": []}}
    return record


def _payload(line: Line) -> JSONObject:
    return as_object(line.record.get("systemPayload"))


def _run(id: str, title: str, lines: Sequence[Line], metadata: JSONObject) -> RecordedRun:
    first = lines[0].record
    return build_run(
        RunFacts(
            external_id=id,
            app=FORMAT,
            format=FORMAT,
            title=title,
            metadata={**{name: first[name] for name in _METADATA if name in first}, **metadata},
        ),
        transcripts.build_steps([entry for line in lines for entry in _entries(line)], _SETTINGS),
        location=f"session {id}",
    )


def _entries(line: Line) -> Iterator[TranscriptMessage]:
    record = line.record
    if record.get("subtype") == _COMPRESSION:
        contents = as_list(_payload(line).get("compressedHistory"))
        for index, content in enumerate(contents):
            message: JSONObject = {**as_object(content), "parts": _parts(content)}
            yield TranscriptMessage(value=message, location=line.location, is_injected=True, resets_history=index == 0)
        return
    is_injected = as_text(record.get("subtype")) in _NOTIFICATIONS
    yield TranscriptMessage(value=_message(record), location=line.location, is_injected=is_injected)


def _message(record: JSONObject) -> JSONObject:
    message = as_object(record["message"])
    result = as_object(record.get("toolCallResult"))
    parts = _own_parts(as_list(message.get("parts")), as_text(result.get("callId")))
    facts: JSONObject = {
        "model": record.get("model"),
        "usage": record.get("usageMetadata"),
        "uuid": record.get("uuid"),
        "subtype": record.get("subtype"),
        "result": result or None,
    }
    if as_text(result.get("status")) in _FAILURES:
        facts["error"] = _failure(result, parts)
        facts["denied"] = True if result["status"] == "cancelled" else None
    known_facts = {name: item for name, item in facts.items() if item}
    return {
        "role": message.get("role"),
        "parts": _parts({"parts": parts}),
        "ts": record.get("timestamp"),
        **known_facts,
    }


def _own_parts(parts: list[JSONValue], call_id: str) -> list[JSONValue]:
    """Return the parts of a call's result: the line of each of several parallel calls has the results of all."""
    own_parts: list[JSONValue] = []
    current_id = ""
    for part in parts:
        current_id = as_text(as_object(as_object(part).get("functionResponse")).get("id")) or current_id
        own_parts += [part] if current_id == call_id else []
    return own_parts or parts


def _failure(result: JSONObject, parts: list[JSONValue]) -> str:
    """Return why a call failed. Lines of most errors have an empty object in place of the error."""
    responses = (as_object(as_object(as_object(part).get("functionResponse")).get("response")) for part in parts)
    texts = (
        as_text(as_object(result.get("error")).get("message")),
        *(as_text(item.get("error")) for item in responses),
    )
    display = result.get("resultDisplay")
    return next(filter(None, texts), "") or (display if isinstance(display, str) else "") or as_text(result["status"])


def _parts(content: JSONValue) -> list[JSONValue]:
    return [
        {"type": "thinking", "thinking": as_object(part).get("text")}
        if as_object(part).get("thought") is True
        else part
        for part in as_list(as_object(content).get("parts"))
    ]
