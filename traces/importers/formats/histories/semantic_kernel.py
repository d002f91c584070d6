"""Chat histories of Semantic Kernel for Python and .NET, whose messages consist of items."""

from collections.abc import Iterator
from typing import Final

from traces.core.json_access import as_list, as_object, as_objects, as_text, first_member, has_list
from traces.core.json_types import JSONObject, JSONValue
from traces.core.json_walk import first_item
from traces.core.recorded_run import RecordedRun
from traces.importers.common import transcripts
from traces.importers.common.identity import content_id
from traces.importers.common.messages import result_text
from traces.importers.common.run_builder import RunFacts, build_run
from traces.importers.common.transcript_messages import TranscriptMessage, TranscriptSettings
from traces.importers.files.errors import BadFile
from traces.importers.files.source import Source

FORMAT: Final = "semantic-kernel"
_NAMES: Final = {"$type": "type", "content_type": "type", "PluginName": "plugin_name", "FunctionName": "function_name"}
_TYPES: Final = {
    "TextContent": "text",
    "FunctionCallContent": "function_call",
    "FunctionResultContent": "function_result",
}


def is_history(value: JSONValue) -> bool:
    """Return True if `value` is a history, a message, or a list of messages."""
    body = as_object(first_item(value))
    if has_list(body, "messages"):
        return isinstance(value, dict) and any(map(_is_message, as_list(body["messages"])[:3]))
    return _is_message(body)


def parse(source: Source) -> Iterator[RecordedRun]:
    """Yield one run per history; messages on separate lines form one history."""
    single_messages: list[JSONValue] = []
    for record in source.records():
        value = record.value
        if _is_message(value):
            single_messages.append(value)
            continue
        body = as_object(value)
        messages = value if isinstance(value, list) else as_list(body.get("messages"))
        if not messages:
            problem = BadFile("a history of Semantic Kernel needs messages", record.location or "/messages")
            source.problems.append(problem)
            continue
        yield _run(body, messages, record.location)
    if single_messages:
        yield _run({}, single_messages, "")


def _is_message(value: JSONValue) -> bool:
    body = as_object(value)
    item = as_object(next(iter(as_list(first_member(body, "items", "Items"))), None))
    return ("role" in body or "Role" in body) and ("content_type" in item or "$type" in item)


def _run(body: JSONObject, messages: list[JSONValue], location: str) -> RecordedRun:
    entries = [
        TranscriptMessage(value=message, location=f"{location}/messages/{index}")
        for index, item in enumerate(messages)
        for message in _normalize(as_object(item))
    ]
    return build_run(
        RunFacts(
            external_id=as_text(body.get("id")) or f"{FORMAT}-{content_id(messages, location)}",
            app=FORMAT,
            format=FORMAT,
            metadata={name: item for name, item in body.items() if name != "messages"},
        ),
        transcripts.build_steps(entries, TranscriptSettings(system=body.get("system_message"))),
        location=location,
    )


def _normalize(message: JSONObject) -> Iterator[JSONObject]:
    """Yield a message, and each of its results as a message."""
    role = as_text(message.get("role")) or as_text(as_object(message.get("Role")).get("Label"))
    items = [_item(item) for item in as_objects(first_member(message, "items", "Items"))]
    for item in items:
        if item.get("type") == "function_result":
            call_id = first_member(item, "CallId", "call_id", "id", "Id")
            content = item.get("result", item.get("Result"))
            yield {"role": "tool", "tool_call_id": call_id, "content": result_text(content)}
    calls: list[JSONValue] = [_call(item) for item in items if item.get("type") == "function_call"]
    blocks: list[JSONValue] = [item for item in items if item.get("type") not in ("function_call", "function_result")]
    metadata = as_object(first_member(message, "metadata", "Metadata"))
    facts: JSONObject = {
        "model": first_member(message, "ai_model_id", "ModelId"),
        "finish_reason": first_member(message, "finish_reason") or metadata.get("FinishReason"),
        "usage": first_member(metadata, "usage", "Usage"),
        "speaker": first_member(message, "name", "AuthorName"),
        "metadata": {name: item for name, item in metadata.items() if name not in ("usage", "Usage", "FinishReason")},
    }
    if blocks or calls or role == "assistant":
        known_facts = {name: item for name, item in facts.items() if item not in (None, "", {})}
        yield {"role": role, "content": blocks or None, "tool_calls": calls, **known_facts}


def _item(item: JSONObject) -> JSONObject:
    fields: JSONObject = {_NAMES.get(name, name): value for name, value in item.items() if value is not None}
    kind = _TYPES.get(as_text(fields.get("type")), as_text(fields.get("type")))
    if kind == "text":
        return {"type": "text", "text": first_member(fields, "text", "Text") or ""}
    return {**fields, "type": kind}


def _call(item: JSONObject) -> JSONObject:
    parts = [as_text(item.get(name)) for name in ("plugin_name", "function_name")]
    name = "-".join(part for part in parts if part) or as_text(item.get("name"))
    return {
        "id": first_member(item, "id", "Id", "call_id"),
        "name": name,
        "arguments": first_member(item, "arguments", "Arguments"),
        "metadata": first_member(item, "metadata", "Metadata"),
    }
