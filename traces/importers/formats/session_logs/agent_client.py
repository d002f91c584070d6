"""Messages of the Agent Client Protocol between an editor and an agent, one per line, as Grok stores them, too.

A session's updates have the pieces of its messages. A client that logs its own requests has those of the user twice.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from traces.core.json_access import as_list, as_object, as_objects, as_text, first_member, is_number, member
from traces.core.json_types import JSONObject, JSONValue
from traces.importers.formats.session_logs.pieces import Pieces

_UPDATE: Final = "sessionUpdate"
_ENDS: Final = frozenset({"completed", "failed"})
# Updates for the display, which are long or repeat what messages contain.
_DISPLAYS: Final = frozenset({"available_commands_update", "usage_update", "hook_execution", "hook_run_started"})
_CALL_FIELDS: Final = ("title", "kind", "locations", "rawInput", "rawOutput", "content", "status", "_meta")
# A title that is the name of a tool, and no sentence about the call.
_NAME: Final = re.compile(r"[A-Za-z][\w.-]*")
# Units of a cost in a dollar.
_TICKS: Final = 10**10
_COUNTS: Final = {
    "inputTokens": "input_tokens",
    "outputTokens": "output_tokens",
    "cachedReadTokens": "cached_tokens",
    "cacheCreationTokens": "cache_write_tokens",
    "cachedWriteTokens": "cache_write_tokens",
    "reasoningTokens": "reasoning_tokens",
    "thoughtTokens": "reasoning_tokens",
}


@dataclass(kw_only=True)
class Session:
    """What the messages of a session state."""

    pieces: Pieces = field(default_factory=Pieces)
    calls: dict[str, JSONObject] = field(default_factory=dict)
    has_prompts: bool = False
    model: str = ""
    title: str = ""
    usages: list[JSONObject] = field(default_factory=list)
    events: list[JSONValue] = field(default_factory=list)
    times: list[JSONValue] = field(default_factory=list)
    stop_reason: str = ""


def is_message(value: JSONValue) -> bool:
    """Return True if `value` is an update of a session."""
    return _UPDATE in _update(as_object(value))


def session_of(record: JSONObject) -> str:
    """Return the session that a message is about; empty if it names none."""
    return as_text(member(record, "params", "sessionId")) or as_text(member(record, "result", "sessionId"))


def read(records: Iterable[tuple[JSONObject, str]]) -> dict[str, Session]:
    """Return the sessions by their ids; a message without one is about the session before it."""
    sessions: dict[str, Session] = {}
    id = ""
    for record, location in records:
        id = session_of(record) or id
        _add(sessions.setdefault(id, Session()), record, location)
    return {id: session for id, session in sessions.items() if session.times or session.pieces.messages}


def total_usage(usages: Iterable[JSONObject]) -> JSONObject:
    """Return the sum of usages, under the names of token counts; the cost is in dollars."""
    total: dict[str, int | float] = {}
    for usage in usages:
        for name, count in usage.items():
            if is_number(count) and name in _COUNTS:
                total[_COUNTS[name]] = total.get(_COUNTS[name], 0) + count
        if is_number(ticks := usage.get("costUsdTicks")):
            total["cost"] = total.get("cost", 0) + ticks / _TICKS
    return {**total}


def _update(record: JSONObject) -> JSONObject:
    return as_object(member(record, "params", "update"))


def _add(session: Session, record: JSONObject, location: str) -> None:
    time = record.get("timestamp")
    update, method = _update(record), as_text(record.get("method"))
    if method == "session/prompt":
        session.has_prompts = True
        prompt: JSONObject = {"role": "user", "content": member(record, "params", "prompt"), "ts": time}
        session.pieces.add_message(prompt, location)
    elif _UPDATE in update:
        session.times += [time] if time else []
        _add_update(session, update, time, location)
    elif result := as_object(record.get("result")):
        _end_turn(session, result)
    elif "error" in record or method.endswith("request_permission"):
        session.events.append(record)


def _add_update(session: Session, update: JSONObject, time: JSONValue, location: str) -> None:
    content, id = as_object(update.get("content")), as_text(update.get("messageId"))
    session.model = as_text(member(update, "_meta", "modelId")) or session.model
    match as_text(update.get(_UPDATE)):
        case "user_message_chunk":
            _add_request(session, content, time, location)
        case "agent_message_chunk":
            session.pieces.add_block({"type": "text", **content}, time, location)
        case "agent_thought_chunk":
            thought: JSONObject = {"type": "thinking", "thinking": content.get("text")}
            session.pieces.add_block(thought, time, location)
        case "tool_call" | "tool_call_update":
            _add_call(session, update, time, location)
        case "turn_completed":
            _end_turn(session, update)
        case "session_info_update" if update.get("title"):
            session.title = as_text(update["title"])
        case kind if kind not in _DISPLAYS and not id:
            session.events.append(update)


def _add_request(session: Session, content: JSONObject, time: JSONValue, location: str) -> None:
    """Add a piece of the user's message, unless it repeats a request of the client."""
    if session.has_prompts:
        return
    last = session.pieces.messages[-1].value if session.pieces.messages else None
    if isinstance(last, dict) and last.get("role") == "user":
        as_list(last["content"]).append(content)
    else:
        session.pieces.add_message({"role": "user", "content": [content], "ts": time}, location)


def _end_turn(session: Session, end: JSONObject) -> None:
    usage = as_object(end.get("usage"))
    session.usages += [usage] if usage else []
    session.stop_reason = as_text(first_member(end, "stopReason", "stop_reason")) or session.stop_reason
    models = list(as_object(usage.get("modelUsage")))
    session.model = session.model or (models[0] if len(models) == 1 else "")


def _add_call(session: Session, update: JSONObject, time: JSONValue, location: str) -> None:
    """Add a call, or what became known of it; its end has the result."""
    id = as_text(update.get("toolCallId"))
    facts = session.calls.get(id)
    if facts is None:
        facts = session.calls[id] = {"call": {"id": id, "name": "", "arguments": {}}}
        session.pieces.add_call(as_object(facts["call"]), time, location)
    facts.update({name: update[name] for name in _CALL_FIELDS if update.get(name) not in (None, "", [], {})})
    call = as_object(facts["call"])
    call |= {"name": _tool_name(facts), "arguments": facts.get("rawInput", {})}
    if as_text(update.get("status")) in _ENDS and "ended" not in facts:
        facts["ended"] = True
        session.pieces.add_result(_result(facts, id, time), location)


def _tool_name(call: JSONObject) -> str:
    meta, title = as_object(call.get("_meta")), as_text(call.get("title"))
    name = as_text(member(meta, "x.ai/tool", "name")) or as_text(member(meta, "claudeCode", "toolName"))
    return name or (title if _NAME.fullmatch(title) else as_text(call.get("kind")) or title)


def _result(call: JSONObject, id: str, time: JSONValue) -> JSONObject:
    blocks = [as_object(block.get("content")) or block for block in as_objects(call.get("content"))]
    raw_output = call.get("rawOutput")
    details: JSONObject = {name: call[name] for name in ("title", "kind", "locations") if name in call}
    if blocks and raw_output is not None:
        details["rawOutput"] = raw_output
    failure: JSONObject = {"is_error": True} if call.get("status") == "failed" else {}
    content: JSONValue = [*blocks] if blocks else raw_output
    return {"tool_call_id": id, "content": content, "ts": time, **details, **failure}


def pending_calls(session: Session) -> Iterator[JSONObject]:
    """Yield what is known of calls without an end."""
    for call in session.calls.values():
        if "ended" not in call:
            yield {name: item for name, item in call.items() if name not in ("call", "rawInput")}
