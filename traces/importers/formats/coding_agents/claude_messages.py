"""Messages of the Claude Agent SDK for Python as `dataclasses.asdict` writes them: lines of its output without types.

{"subtype": "init", "data": {…}}  {"content": [{"id", "name", "input"}], "model", "parent_tool_use_id"}
"""

from collections.abc import Iterable, Iterator
from typing import Final

from traces.core.json_access import as_list, as_object, as_text, has_object, has_string, omit
from traces.core.json_types import JSONObject, JSONValue

_ANSWER: Final = frozenset({"content", "model", "parent_tool_use_id"})
_REQUEST: Final = frozenset({"content", "parent_tool_use_id"})
_RESULT: Final = frozenset({"subtype", "duration_ms", "num_turns", "session_id"})
_EVENT: Final = frozenset({"event", "session_id", "parent_tool_use_id"})
_TYPE_FIELDS: Final = frozenset({"type", "role", "message"})
# Blocks by the member that no other has, and those of tools that the API ran.
_BLOCKS: Final = {"text": "text", "thinking": "thinking", "tool_use_id": "tool_result", "input": "tool_use"}
_MESSAGE_FIELDS: Final = {"model": "model", "usage": "usage", "stop_reason": "stop_reason", "message_id": "id"}
_SERVER_CALL: Final = "srvtoolu_"


def is_message(value: JSONValue) -> bool:
    """Return whether `value` is an answer, a statement of the program, or the result; requests are too common."""
    return _kind(as_object(value)) in {"assistant", "system", "result"}


def has_no_type(body: JSONObject) -> bool:
    """Return whether an object of a log of messages is one of them."""
    return bool(_kind(body))


def _kind(body: JSONObject) -> str:
    """Return the type of the line that a message is; empty for other objects."""
    if not _TYPE_FIELDS.isdisjoint(body):
        return ""
    if {"subtype", "data"} <= body.keys() and has_string(as_object(body["data"]), "session_id"):
        return "system"
    kinds = (("result", _RESULT), ("assistant", _ANSWER), ("user", _REQUEST), ("stream_event", _EVENT))
    return next((kind for kind, names in kinds if names <= body.keys()), "")


def add_types(records: Iterable[tuple[JSONObject, str]], name: str) -> Iterator[tuple[JSONObject, str]]:
    """Yield the records, messages as lines of output; `name` is the session if no message names it."""
    messages = [*records]
    session = next((id for record, _ in messages if (id := _session(record))), name)
    # By caller, the answer whose parts have no id: until its next request, all parts are of it.
    answers: dict[str, tuple[JSONObject, str]] = {}
    for record, location in messages:
        kind, caller = _kind(record), as_text(record.get("parent_tool_use_id"))
        is_part = kind == "assistant" and not record.get("message_id")
        if is_part and caller in answers:
            _join(as_object(answers[caller][0]["message"]), _message(record, kind))
            continue
        if answer := answers.pop(caller, None):
            yield answer
        if is_part:
            answers[caller] = (_line(record, kind, session), location)
        else:
            yield _to_line(record, kind, session), location
    yield from answers.values()


def _to_line(record: JSONObject, kind: str, session: str) -> JSONObject:
    match kind:
        case "":
            return record
        case "system":
            return {**omit(record, "subtype", "data"), **as_object(record["data"])}
        case "assistant" | "user":
            return _line(record, kind, session)
    return {"session_id": session, **record, "type": kind}


def _join(answer: JSONObject, part: JSONObject) -> None:
    answer |= {**part, "content": [*as_list(answer["content"]), *as_list(part["content"])]}


def _session(record: JSONObject) -> str:
    data = as_object(record.get("data")) if has_object(record, "data") else record
    return as_text(data.get("session_id"))


def _line(record: JSONObject, kind: str, session: str) -> JSONObject:
    facts: JSONObject = {
        "uuid": record.get("uuid"),
        "parent_tool_use_id": record.get("parent_tool_use_id"),
        "toolUseResult": record.get("tool_use_result"),
        "isApiErrorMessage": True if record.get("error") else None,
    }
    known_facts = {name: item for name, item in facts.items() if item is not None}
    return {"type": kind, "session_id": session, "message": _message(record, kind), **known_facts}


def _message(record: JSONObject, kind: str) -> JSONObject:
    content = record.get("content")
    blocks: JSONValue = [_block(as_object(block)) for block in content] if isinstance(content, list) else content
    fields: JSONObject = {name: record[key] for key, name in _MESSAGE_FIELDS.items() if record.get(key)}
    return {"role": kind, "content": blocks, **fields}


def _block(block: JSONObject) -> JSONObject:
    kind = next((kind for name, kind in _BLOCKS.items() if name in block), "")
    if kind == "tool_use" and as_text(block.get("id")).startswith(_SERVER_CALL):
        kind = "server_tool_use"
    if kind == "tool_result" and as_text(block.get("tool_use_id")).startswith(_SERVER_CALL):
        kind = "server_tool_result"
    return {"type": kind, **block} if kind else block
