"""Session files of Droid, and of Pi and its forks: a line about the session, then messages that name their parents."""

from collections.abc import Iterator
from typing import Final

from traces.core.json_access import as_object, as_objects, as_text, first_member, has_object, omit
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun
from traces.importers.common import transcripts
from traces.importers.common.identity import content_id
from traces.importers.common.run_builder import RunFacts, build_run
from traces.importers.common.transcript_messages import TranscriptMessage, TranscriptSettings
from traces.importers.files.errors import BadFile
from traces.importers.files.source import Source
from traces.importers.formats.coding_agents.claude_branches import Line, branches, close_gaps

FORMAT: Final = "session-tree"
# The type of the line about the session -> the program that writes it.
_PROGRAMS: Final = {"session_start": "droid", "session": "pi"}
_SUMMARIES: Final = frozenset({"compaction", "compaction_state", "branch_summary"})
# Events in the output of `pi --mode json` that the end of a message repeats.
_REPEATS: Final = frozenset({"message_start", "message_update", "turn_end", "agent_end"})
# What an extension adds to the conversation.
_ADDITION: Final = "custom_message"
_TITLES: Final = frozenset({"title", "title_change", "session_info"})
_NOT_FACTS: Final = frozenset({"role", "content", "timestamp", "toolCallId", "toolName", "isError", "stopReason"})
_USAGE: Final = {
    "input": "input_tokens",
    "output": "output_tokens",
    "cacheRead": "cache_read_input_tokens",
    "cacheWrite": "cache_creation_input_tokens",
}


def is_line(value: JSONValue) -> bool:
    """Return True if `value` is the first line of a session, or a message that names its parent."""
    body = as_object(value)
    kind = as_text(body.get("type"))
    if kind == "message":
        return {"id", "parentId"} <= body.keys() and "role" in as_object(body.get("message"))
    is_session = kind in _PROGRAMS and {"id", "cwd"} <= body.keys()
    return is_session and (kind == "session_start" or "version" in body)


def parse(source: Source) -> Iterator[RecordedRun]:
    """Yield the branch of a session that ends last, and every other branch with an answer as a separate run."""
    header: JSONObject = {}
    lines: list[Line] = []
    for record, location in source.objects():
        if as_text(record.get("type")) in _PROGRAMS and not header:
            header = record
        elif as_text(record.get("type")) not in _REPEATS:
            # Older files have no parents: each line continues the one before it.
            parent = lines[-1].id if lines and "parentId" not in record else record.get("parentId")
            lines.append(Line(record=_as_line(record, parent), location=location))
    events: list[JSONValue] = [
        _event(line.record) for line in lines if not line.is_message or line.record["kind"] == _ADDITION
    ]
    id = as_text(header.get("id")) or f"{FORMAT}-{content_id([line.record for line in lines[:2]], '')}"
    for number, branch in enumerate(branches(close_gaps(lines))):
        name = id if number == 0 else f"{id}/{branch.lines[branch.shared_length].id}"
        notes: JSONObject = {"events": events} if number == 0 else {"left_branch_of": id}
        try:
            yield _run(name, header, branch.lines, notes)
        except BadFile as problem:
            source.problems.append(problem)


def _as_line(record: JSONObject, parent: JSONValue) -> JSONObject:
    """Return a record in the terms of Claude Code: its role as its type, and the names of its ids."""
    message = as_object(record.get("message"))
    kind = as_text(record.get("type"))
    role = "assistant" if message.get("role") == "assistant" else "user" if message else kind
    if kind in _SUMMARIES:
        role, message = "user", {"role": "user", "content": first_member(record, "summary", "summaryText")}
    elif kind == _ADDITION:
        role, message = "user", {"role": "user", "content": record.get("content")}
    ids: JSONObject = {"uuid": record.get("id"), "parentUuid": parent}
    return {**record, **ids, "type": role, "kind": kind, **({"message": message} if message else {})}


def _event(record: JSONObject) -> JSONValue:
    """Return what a line states beside a message, of which the conversation has the content."""
    contents = ("message", "content") if record["kind"] == _ADDITION else ()
    return omit(record, "uuid", "parentUuid", "kind", *contents)


def _run(id: str, header: JSONObject, lines: list[Line], metadata: JSONObject) -> RecordedRun:
    program = _PROGRAMS.get(as_text(header.get("type")), FORMAT)
    facts = {name: item for name, item in header.items() if name not in ("type", "id")}
    return build_run(
        RunFacts(
            external_id=id,
            app=program,
            format=FORMAT,
            title=_title(metadata) or as_text(first_member(header, "title", "name")),
            metadata={**facts, **metadata},
        ),
        transcripts.build_steps([_entry(line) for line in lines], TranscriptSettings(agent=program)),
        location=f"session {id}",
    )


def _title(metadata: JSONObject) -> str:
    """Return the last title that an event gave to the session."""
    events = (event for event in as_objects(metadata.get("events")) if as_text(event.get("type")) in _TITLES)
    titles = [title for event in events if (title := as_text(first_member(event, "title", "name")))]
    return titles[-1] if titles else ""


def _entry(line: Line) -> TranscriptMessage:
    message = as_object(line.record["message"])
    kind = line.record["kind"]
    is_summary = kind in _SUMMARIES
    return TranscriptMessage(
        value=_message(line.record, message),
        location=line.location,
        is_injected=is_summary or kind == _ADDITION,
        resets_history=is_summary,
    )


def _message(record: JSONObject, message: JSONObject) -> JSONObject:
    facts = {name: item for name, item in message.items() if name not in _NOT_FACTS and item not in (None, "", [], {})}
    value: JSONObject = {
        **facts,
        "role": message.get("role"),
        "content": [_block(block) for block in content]
        if isinstance(content := message.get("content"), list)
        else content,
        "ts": first_member(record, "timestamp") or message.get("timestamp"),
        "message_id": record.get("id"),
    }
    if message.get("role") == "toolResult":
        result: JSONObject = {
            "role": "tool",
            "tool_call_id": message.get("toolCallId"),
            "name": message.get("toolName"),
        }
        return {**value, **result, **({"is_error": True} if message.get("isError") is True else {})}
    if has_object(message, "usage"):
        value |= _usage(as_object(message["usage"]))
    if reason := message.get("stopReason"):
        value["finish_reason"] = reason
    if error := message.get("errorMessage"):
        value["error"] = error
    return value


def _block(block: JSONValue) -> JSONValue:
    body = as_object(block)
    if body.get("type") == "toolCall":
        return {"type": "tool_use", "id": body.get("id"), "name": body.get("name"), "input": body.get("arguments")}
    return block


def _usage(usage: JSONObject) -> JSONObject:
    """Return the usage of an answer in Anthropic's terms, and its cost."""
    cost = as_object(usage.get("cost"))
    counts: JSONObject = {_USAGE.get(name, name): item for name, item in usage.items() if name != "cost"}
    total = cost.get("total")
    parts: JSONObject = {name: item for name, item in cost.items() if name != "total" and item}
    return {
        "usage": {**counts, **({"cost_parts": parts} if parts else {})},
        **({"cost": total} if total else {}),
    }
