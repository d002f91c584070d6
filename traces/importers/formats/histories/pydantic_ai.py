"""Messages of Pydantic AI: requests with prompts and tool results, and responses, each a list of parts."""

from collections.abc import Iterator
from typing import Final

from traces.core.json_access import as_list, as_object, as_objects, as_text, first_member, has_list
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun
from traces.importers.common import transcripts
from traces.importers.common.identity import content_id
from traces.importers.common.messages import normalize_arguments, result_text
from traces.importers.common.model_calls import normalize_provider
from traces.importers.common.run_builder import RunFacts, app_name, build_run
from traces.importers.common.transcript_messages import TranscriptMessage, TranscriptSettings, other_members
from traces.importers.files.errors import BadFile
from traces.importers.files.source import Source

FORMAT: Final = "pydantic-ai"
_KINDS: Final = frozenset({"request", "response"})
_LISTS: Final = ("messages", "message_history", "all_messages", "new_messages", "history")
_COUNTS: Final = {
    "input_tokens": "prompt_tokens",
    "request_tokens": "prompt_tokens",
    "output_tokens": "completion_tokens",
    "response_tokens": "completion_tokens",
    "cache_read_tokens": "cached_tokens",
    "total_tokens": "total_tokens",
}
_MEDIA: Final = {
    "image-url": "image_url",
    "audio-url": "audio_url",
    "document-url": "file_url",
    "video-url": "video_url",
}
# Of messages and parts, what the run or the normal form of a message has.
_MESSAGE_FIELDS: Final = frozenset(
    {"parts", "kind", "instructions", "timestamp", "usage", "model_name", "provider_name", "conversation_id"}
)
_REQUEST_FIELDS: Final = _MESSAGE_FIELDS | {"run_id", "state"}
_PART_FIELDS: Final = frozenset(
    {"part_kind", "content", "timestamp", "tool_name", "tool_call_id", "args", "outcome", "id", "signature"}
)
_FAILURES: Final = frozenset({"failed", "retried"})


def is_history(value: JSONValue) -> bool:
    """Return True if `value` is a message, a list of messages, or an object with such a list."""
    if isinstance(value, list):
        return any(map(_is_message, value[:3])) or (
            bool(value) and has_list(value[0], "messages") and is_history(value[0])
        )
    body = as_object(value)
    return _is_message(value) or any(has_list(body, name) and is_history(body[name]) for name in _LISTS)


def parse(source: Source) -> Iterator[RecordedRun]:
    """Yield one run per history; messages on separate lines form one history."""
    single_messages: list[JSONValue] = []
    for record in source.records():
        if _is_message(record.value):
            single_messages.append(record.value)
            continue
        try:
            yield from list(_runs(record.value, record.location))
        except BadFile as problem:
            if not source.is_lines:
                raise
            source.problems.append(problem)
    if single_messages:
        yield _run({}, single_messages, "")


def _is_message(value: JSONValue) -> bool:
    body = as_object(value)
    parts = as_list(body.get("parts"))
    return as_text(body.get("kind")) in _KINDS and all("part_kind" in as_object(part) for part in parts)


def _runs(value: JSONValue, location: str) -> Iterator[RecordedRun]:
    if isinstance(value, list) and value and not _is_message(value[0]):
        for index, item in enumerate(value):
            yield from _runs(item, f"{location}/{index}")
        return
    body = as_object(value)
    messages = value if isinstance(value, list) else as_list(first_member(body, *_LISTS))
    if not messages:
        raise BadFile("a history of Pydantic AI needs messages", location or "/messages")
    yield _run(body, messages, location)


def _run(body: JSONObject, messages: list[JSONValue], location: str) -> RecordedRun:
    bodies = as_objects(messages)
    instructions = next((text for item in bodies if (text := as_text(item.get("instructions")))), "")
    provider = normalize_provider(next((item["provider_name"] for item in bodies if item.get("provider_name")), None))
    identity = next(
        (key for name in ("conversation_id", "run_id") for item in (body, *bodies) if (key := as_text(item.get(name)))),
        "",
    )
    entries = [
        entry for index, message in enumerate(messages) for entry in _entries(as_object(message), f"{location}/{index}")
    ]
    return build_run(
        RunFacts(
            external_id=identity or as_text(body.get("id")) or f"{FORMAT}-{content_id([*messages], location)}",
            app=app_name(body.get("agent_name"), body.get("app")) or FORMAT,
            format=FORMAT,
            metadata={
                **{name: item for name, item in body.items() if name not in _LISTS},
                "metadata": next((item["metadata"] for item in bodies if item.get("metadata")), None),
            },
        ),
        transcripts.build_steps(entries, TranscriptSettings(system=instructions or None, provider=provider)),
        location=location,
    )


def _entries(message: JSONObject, location: str) -> Iterator[TranscriptMessage]:
    if message.get("kind") == "response":
        yield TranscriptMessage(value=_answer(message), location=location)
        return
    # What the request states is with its first part.
    fields = other_members(message, _REQUEST_FIELDS)
    for index, part in enumerate(as_objects(message.get("parts"))):
        value, is_injected = _request_part(part)
        time = part.get("timestamp") or message.get("timestamp")
        yield TranscriptMessage(
            value={**fields, **other_members(part, _PART_FIELDS), **value, "ts": time},
            location=f"{location}/parts/{index}",
            is_injected=is_injected,
        )
        fields = {}


def _request_part(part: JSONObject) -> tuple[JSONObject, bool]:
    """Return the message of a part, and whether the framework wrote it."""
    content, call_id = part.get("content"), part.get("tool_call_id")
    match as_text(part.get("part_kind")):
        case "system-prompt":
            return {"role": "system", "content": content}, False
        case "tool-return":
            outcome = as_text(part.get("outcome"))
            failure: JSONObject = {"is_error": True} if outcome in _FAILURES else {}
            denial: JSONObject = {"denied": True} if outcome == "denied" else {}
            return {**_result(call_id, content), **failure, **denial}, False
        case "retry-prompt" if part.get("tool_name"):
            return {**_result(call_id, content), "is_error": True}, False
        case "retry-prompt":
            return {"role": "user", "content": result_text(content)}, True
        case _:
            return {"role": "user", "content": _prompt(content)}, False


def _result(call_id: JSONValue, content: JSONValue) -> JSONObject:
    return {"role": "tool", "tool_call_id": call_id, "content": result_text(content)}


def _prompt(content: JSONValue) -> JSONValue:
    return [_block(item) for item in content] if isinstance(content, list) else content


def _block(item: JSONValue) -> JSONValue:
    """Return an item of a prompt as a block: a text, a link, or data."""
    body = as_object(item)
    kind = as_text(body.get("kind"))
    if isinstance(item, str):
        return {"type": "text", "text": item}
    if kind in _MEDIA:
        return {"type": _MEDIA[kind], _MEDIA[kind]: {"url": body.get("url")}}
    if kind == "binary":
        source: JSONObject = {"type": "base64", "media_type": body.get("media_type"), "data": body.get("data")}
        is_image = as_text(body.get("media_type")).startswith("image/")
        return {"type": "image" if is_image else "document", "source": source}
    return {"type": kind or "part", **body}


def _answer(message: JSONObject) -> JSONObject:
    blocks: list[JSONValue] = []
    calls: list[JSONValue] = []
    for part in as_objects(message.get("parts")):
        match as_text(part.get("part_kind")):
            case "text":
                blocks.append({"type": "text", "text": part.get("content"), **other_members(part, _PART_FIELDS)})
            case "thinking":
                signature: JSONObject = {"signature": part["signature"]} if part.get("signature") else {}
                thought: JSONObject = {"type": "thinking", "thinking": part.get("content")}
                blocks.append({**thought, **signature, **other_members(part, _PART_FIELDS)})
            case "tool-call":
                call: JSONObject = {"id": part.get("tool_call_id"), "name": part.get("tool_name")}
                calls.append({**other_members(part, _PART_FIELDS), **call, "arguments": part.get("args")})
            case "builtin-tool-call":
                names: JSONObject = {"id": part.get("tool_call_id"), "name": part.get("tool_name")}
                arguments = normalize_arguments(part.get("args"))
                blocks.append({"type": "server_tool_use", **names, "input": arguments})
            case "builtin-tool-return":
                kind = f"{as_text(part.get('tool_name'))}_tool_result"
                names = {"tool_use_id": part.get("tool_call_id"), "content": part.get("content")}
                blocks.append({"type": kind, **names})
            case kind:
                blocks.append({"type": kind, **{key: item for key, item in part.items() if item is not None}})
    marks: list[JSONValue] = [
        {"type": part.get("part_kind"), "call_id": part.get("tool_call_id"), "id": part["id"]}
        for part in as_objects(message.get("parts"))
        if part.get("id")
    ]
    usage = as_object(message.get("usage"))
    is_complete = message.get("state") == "complete"
    return {
        **other_members(message, _MESSAGE_FIELDS | {"state"} if is_complete else _MESSAGE_FIELDS),
        "role": "assistant",
        "content": blocks or None,
        "tool_calls": calls,
        "model": message.get("model_name"),
        "usage": _usage(usage),
        "cost": usage.get("cost"),
        "ts": message.get("timestamp"),
        **({"continuation": marks} if marks else {}),
    }


def _usage(usage: JSONObject) -> JSONObject:
    """Return token counts by their usual names; the counts of cached tokens are part of the input."""
    counts: JSONObject = {}
    for name, count in {**as_object(usage.get("details")), **usage}.items():
        if count and name not in ("details", "requests", "cost"):
            counts.setdefault(_COUNTS.get(name, name), count)
    return counts
