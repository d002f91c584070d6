"""Microsoft's Agent Framework for Python and .NET: sessions and threads as they serialise them, and answers of runs.

    {"stateBag": {"InMemoryChatHistoryProvider": {"messages": [{"role", "contents": [{"$type", …}]}]}}}   .NET
    {"session_id", "state": {"in_memory": {"messages": [{"role", "contents": [{"type", …}]}]}}}           Python

Earlier versions have the messages in `storeState` and `chat_message_store_state`.
"""

from collections.abc import Iterator
from typing import Final

from traces.core.json_access import as_object, as_objects, as_text, first_member, omit
from traces.core.json_types import JSONObject, JSONValue
from traces.core.json_walk import first_item
from traces.core.recorded_run import RecordedRun
from traces.importers.common import transcripts
from traces.importers.common.identity import content_id
from traces.importers.common.messages import result_text
from traces.importers.common.run_builder import RunFacts, build_run
from traces.importers.common.transcript_messages import TranscriptMessage, TranscriptSettings, drop_unreadable
from traces.importers.files.errors import BadFile
from traces.importers.files.source import Source

FORMAT: Final = "agent-framework"
_STORES: Final = ("chat_message_store_state", "storeState")
_STATES: Final = ("stateBag", "state")
_IDS: Final = ("session_id", "sessionId", "conversationId", "service_thread_id", "response_id", "responseId")
# Threads and sessions, whose messages may be elsewhere.
_EMPTY: Final = (
    {"service_thread_id", "chat_message_store_state"},
    {"type", "session_id", "service_session_id", "state"},
)
_NO_MESSAGES: Final = "the messages of this thread are stored by the service of its model, or nowhere"
_TYPES: Final = {
    "functionCall": "function_call",
    "functionResult": "function_result",
    "reasoning": "text_reasoning",
    "mcpServerToolCall": "function_call",
    "mcpServerToolResult": "function_result",
}
_USAGE: Final = {
    "input_tokens": ("inputTokenCount", "input_token_count"),
    "output_tokens": ("outputTokenCount", "output_token_count"),
    "cached_tokens": ("cachedInputTokenCount", "cache_read_input_token_count"),
}
_RESPONSE: Final = ("model_id", "modelId", "finish_reason", "finishReason", "usage_details", "usage")
_MESSAGE_FIELDS: Final = (
    *("type", "role", "contents", "author_name", "authorName", "createdAt", "created_at", "message_id", "messageId"),
)


def is_thread(value: JSONValue) -> bool:
    """Return True if `value` is a message, a thread, a session or an answer with messages, or a list of these."""
    body = as_object(first_item(value))
    return _is_message(body) or any(map(_is_message, _messages(body)[:3])) or body.keys() in _EMPTY


def parse(source: Source) -> Iterator[RecordedRun]:
    """Yield one run per thread; messages on separate lines form one thread."""
    lines: list[JSONObject] = []
    for record in source.records():
        values = record.value if isinstance(record.value, list) else [record.value]
        if all(_is_message(as_object(value)) for value in values):
            lines += as_objects(values) if source.is_lines else []
            if not source.is_lines:
                yield _run({}, as_objects(values), record.location, source)
            continue
        for index, value in enumerate(values):
            place = f"{record.location}/{index}" if isinstance(record.value, list) else record.location
            messages = _messages(as_object(value))
            if messages:
                yield _run(as_object(value), messages, place, source)
            else:
                source.problems.append(BadFile(_NO_MESSAGES, place or "/"))
    if lines:
        yield _run({}, lines, "", source)


def _is_message(body: JSONObject) -> bool:
    content = as_object(first_item(body.get("contents")))
    return "role" in body and not content.keys().isdisjoint({"$type", "type"})


def _messages(body: JSONObject) -> list[JSONObject]:
    """Return the messages of a thread, a session or an answer."""
    states = [state for name in _STATES for state in as_object(body.get(name)).values()]
    holders = [body, *(body.get(name) for name in _STORES), *states]
    lists = (as_objects(as_object(holder).get("messages")) for holder in holders)
    return next((messages for messages in lists if messages), [])


def _run(body: JSONObject, messages: list[JSONObject], location: str, source: Source) -> RecordedRun:
    entries = [
        TranscriptMessage(value=value, location=f"{location}/messages/{index}")
        for index, message in enumerate(messages)
        for value in _normalize(message)
    ]
    _add_response(body, entries)
    authors = (as_text(_author(message)) for message in messages if _role(message) == "assistant")
    return build_run(
        RunFacts(
            external_id=as_text(first_member(body, *_IDS)) or f"{FORMAT}-{content_id([*messages], location)}",
            app=FORMAT,
            format=FORMAT,
            metadata={
                **omit(body, "messages", *_STORES, *_STATES, *_IDS[:2], *_RESPONSE),
                "state": {name: state for holder in _STATES for name, state in _other_state(body, holder).items()},
            },
        ),
        transcripts.build_steps(
            drop_unreadable(entries, source.problems),
            TranscriptSettings(agent=next(filter(None, authors), "agent"), model=_model(body)),
        ),
        location=location,
    )


def _other_state(body: JSONObject, holder: str) -> JSONObject:
    """Return what providers keep in a session beside its messages."""
    states: JSONObject = {
        name: omit(state, "messages") if isinstance(state, dict) else state
        for name, state in as_object(body.get(holder)).items()
    }
    return {name: state for name, state in states.items() if state not in (None, "", [], {})}


def _model(body: JSONObject) -> str:
    return as_text(first_member(body, "model_id", "modelId"))


def _add_response(body: JSONObject, entries: list[TranscriptMessage]) -> None:
    """Add the usage of an answer to its only model call; that of several is the sum, which belongs to none of them."""
    answers = [as_object(entry.value) for entry in entries if as_object(entry.value).get("role") == "assistant"]
    usage = _usage(as_object(first_member(body, "usage_details", "usage")))
    if answers and usage and len(answers) == 1:
        answers[0].setdefault("usage", usage)
    elif answers and usage:
        answers[-1]["usage_of_response"] = usage
    if answers and (reason := first_member(body, "finish_reason", "finishReason")):
        answers[-1]["finish_reason"] = _text(reason)


def _normalize(message: JSONObject) -> Iterator[JSONObject]:
    """Yield each result in a message as one of its own, and the rest of it."""
    contents = [_content(content) for content in as_objects(message.get("contents"))]
    time = first_member(message, "createdAt", "created_at")
    for content in contents:
        if content["type"] == "function_result":
            error = content.get("exception")
            result = first_member(content, "result", "output") if "result" in content or "output" in content else error
            value: JSONObject = {"role": "tool", "tool_call_id": content.get("call_id"), "ts": time}
            yield {**value, "content": result_text(result), **({"error": error} if error else {})}
    calls: list[JSONValue] = [_call(content) for content in contents if content["type"] == "function_call"]
    blocks = [block for content in contents if (block := _block(content)) is not None]
    role = _role(message)
    usage = next((_usage(as_object(content.get("details"))) for content in contents if content["type"] == "usage"), {})
    errors = [as_text(content.get("message")) for content in contents if content["type"] == "error"]
    facts: JSONObject = {
        "ts": time,
        "usage": usage,
        "error": "; ".join(filter(None, errors)),
        "speaker": _author(message) if role == "assistant" else None,
        "name": _author(message) if role == "user" else None,
        "message_id": first_member(message, "message_id", "messageId"),
        **omit(message, *_MESSAGE_FIELDS),
    }
    if blocks or calls or errors or (role == "assistant" and not contents):
        known_facts = {name: item for name, item in facts.items() if item not in (None, "", [], {})}
        yield {"role": role, "content": [*blocks] or None, "tool_calls": calls, **known_facts}


def _role(message: JSONObject) -> str:
    return _text(message.get("role")).lower()


def _text(value: JSONValue) -> str:
    """Return a word, which earlier versions for Python write as `{"value"}`."""
    return as_text(as_object(value).get("value") if isinstance(value, dict) else value)


def _author(message: JSONObject) -> JSONValue:
    return first_member(message, "author_name", "authorName")


def _content(content: JSONObject) -> JSONObject:
    kind = as_text(first_member(content, "$type", "type"))
    fields = {name: item for name, item in omit(content, "$type").items() if item is not None}
    return {**fields, "type": _TYPES.get(kind, kind), "call_id": first_member(content, "call_id", "callId")}


def _call(content: JSONObject) -> JSONObject:
    name = first_member(content, "name", "toolName", "tool_name")
    return {"id": content["call_id"], "name": name, "arguments": content.get("arguments")}


def _block(content: JSONObject) -> JSONValue:
    """Return a text, a thought or other content; None for calls, results, usage and errors."""
    match content["type"]:
        case "function_call" | "function_result" | "usage" | "error":
            return None
        case "text":
            return {"type": "text", "text": as_text(content.get("text"))}
        case "text_reasoning":
            return {"type": "thinking", "thinking": as_text(content.get("text"))}
    return {name: item for name, item in content.items() if item is not None}


def _usage(details: JSONObject) -> JSONObject:
    counts: JSONObject = {name: first_member(details, *names) for name, names in _USAGE.items()}
    return {name: count for name, count in counts.items() if count}
