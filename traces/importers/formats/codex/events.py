"""Events of Codex in the place of items: for logs in which the items of messages or of calls are missing.

Events repeat items for the display. Some programs log only events, as the output of `codex exec --json` before it had
threads: its lines are `{"id": …, "msg": event}`, after one with the settings and one with the prompt.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from traces.core.json_access import as_list, as_object, as_text, first_member, has_object
from traces.core.json_types import JSONObject, JSONValue
from traces.importers.common.identity import content_id

# A record and its location.
Records = list[tuple[JSONObject, str]]

# How Codex begins the messages that it adds to the user's.
_ADDITIONS: Final = (
    "<environment_context>",
    "<user_instructions>",
    "# AGENTS.md instructions",
    "<turn_aborted>",
    "<skill>",
)
_MESSAGES: Final = {"user_message": "user", "agent_message": "assistant", "agent_reasoning": "reasoning"}
_CALLS: Final = {"exec_command": "exec_command", "mcp_tool_call": "", "patch_apply": "apply_patch"}
_CALL_ITEMS: Final = frozenset({"function_call", "custom_tool_call", "local_shell_call"})
# What an event states of a call beside its arguments and its result.
_OTHER_FIELDS: Final = frozenset({"type", "call_id", "turn_id", "parsed_cmd", "auto_approved", "source", "process_id"})
_RESULT_FIELDS: Final = frozenset(
    {
        "stdout",
        "stderr",
        "aggregated_output",
        "formatted_output",
        "exit_code",
        "duration",
        "success",
        "status",
        "result",
    }
)
_OUTPUT_TYPES: Final = frozenset(
    {*_MESSAGES, *(f"{call}_begin" for call in _CALLS), "task_started", "task_complete", "token_count"}
)


def is_output(record: JSONObject) -> bool:
    """Return whether `record` is a line of the output of `codex exec --json` before threads, or of the app server."""
    body = _body(record)
    return "id" in body and as_text(as_object(body.get("msg")).get("type")) in _OUTPUT_TYPES


def _body(record: JSONObject) -> JSONObject:
    """Return what a line is about, which is the parameter of a notification of the app server."""
    return as_object(record.get("params")) if as_text(record.get("method")).startswith("codex/event") else record


def drop_repeats(records: Iterable[tuple[JSONObject, str]]) -> Iterator[tuple[JSONObject, str]]:
    """Yield the records without those that are written twice: with the time and the content of the one before."""
    previous: JSONObject = {}
    for record, location in records:
        if not record.get("timestamp") or record != previous:
            yield record, location
        previous = record


def read_output(records: Records) -> Records:
    """Return the lines of the output of `codex exec --json` before threads as records; others as they are."""
    if not any(is_output(record) for record, _ in records):
        return records
    bodies = [(_body(record), place) for record, place in records]
    ids = (as_text(body.get("conversationId")) for body, _ in bodies)
    session: JSONObject = {"id": next(filter(None, ids), "") or content_id([record for record, _ in records], "")}
    return [({"type": "session_meta", "payload": session}, ""), *((_record(body), place) for body, place in bodies)]


def _record(line: JSONObject) -> JSONObject:
    if has_object(line, "msg"):
        return {"type": "event_msg", "payload": line["msg"]}
    if "prompt" in line:
        return {"type": "event_msg", "payload": {"type": "user_message", "message": line["prompt"]}}
    effort = {"effort": line["reasoning effort"]} if "reasoning effort" in line else {}
    return {"type": "turn_context", "payload": {**line, **effort}}


def split_additions(item: JSONObject) -> tuple[list[JSONValue], list[JSONValue]]:
    """Return what Codex added to a message of the user, and what the user wrote; both may be in one item."""
    content = item.get("content")
    blocks = content if isinstance(content, list) else [content]
    additions = [block for block in blocks if item.get("role") == "user" and _is_addition(block)]
    return additions, [block for block in blocks if block not in additions]


def _is_addition(block: JSONValue) -> bool:
    text = block if isinstance(block, str) else as_text(as_object(block).get("text"))
    return text.lstrip().startswith(_ADDITIONS)


def with_missing_items(records: Records) -> Iterator[tuple[JSONObject, str]]:
    """Yield the records, and after an event the item that it stands for, if no items of its kind are among them."""
    items = [as_object(record.get("payload")) for record, _ in records if record.get("type") == "response_item"]
    sources = {_source(item) for item in items}
    call_ids: set[str] = set()
    for record, location in records:
        yield record, location
        event = as_object(record.get("payload")) if record.get("type") == "event_msg" else {}
        for item in _items(event, sources, call_ids):
            yield {"type": "response_item", "timestamp": record.get("timestamp"), "payload": item}, location


def _source(item: JSONObject) -> str:
    """Return what an item is: a call, what the model thought, or a message, by its role."""
    kind = as_text(item.get("type"))
    if kind in _CALL_ITEMS:
        return "call"
    return as_text(item.get("role")) if kind == "message" and split_additions(item)[1] else kind


def _items(event: JSONObject, sources: Iterable[str], call_ids: set[str]) -> Iterator[JSONObject]:
    kind = as_text(event.get("type"))
    if (source := _MESSAGES.get(kind)) and source not in sources:
        yield _message(event, source)
    call, _, moment = kind.rpartition("_")
    if call not in _CALLS or moment not in {"begin", "end"} or "call" in sources:
        return
    id = as_text(event.get("call_id"))
    if id not in call_ids:
        call_ids.add(id)
        yield {"type": "function_call", "call_id": id, "name": _name(event, call), "arguments": _arguments(event)}
    if moment == "end":
        yield {"type": "function_call_output", "call_id": id, "output": _output(event)}


def _message(event: JSONObject, source: str) -> JSONObject:
    text = first_member(event, "message", "text")
    if source == "reasoning":
        return {"type": "reasoning", "summary": [{"type": "summary_text", "text": text}]}
    images: list[JSONValue] = [{"type": "input_image", "image_url": image} for image in as_list(event.get("images"))]
    return {"type": "message", "role": source, "content": [{"type": "input_text", "text": text}, *images]}


def _name(event: JSONObject, call: str) -> str:
    invocation = as_object(event.get("invocation"))
    parts = (as_text(invocation.get(name)) for name in ("server", "tool"))
    return ".".join(part for part in parts if part) or _CALLS[call]


def _arguments(event: JSONObject) -> JSONValue:
    if has_object(event, "invocation"):
        return as_object(event["invocation"]).get("arguments")
    return {name: item for name, item in event.items() if name not in _OTHER_FIELDS | _RESULT_FIELDS}


def _output(event: JSONObject) -> JSONValue:
    result = as_object(event.get("result"))
    if result:
        return as_object(result.get("Ok")).get("content") if "Ok" in result else result.get("Err")
    streams = (as_text(event.get(name)) for name in ("stdout", "stderr"))
    return as_text(event.get("aggregated_output")) or "\n".join(stream for stream in streams if stream)
