"""LangChain messages in all serializations: `messages_to_dict`, `dumpd` (`lc`), and model dumps."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from traces.core.json_access import as_list, as_object, as_objects, as_text, first_member, has_object, has_string, omit
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun
from traces.importers.common import transcripts
from traces.importers.common.identity import content_id
from traces.importers.common.model_calls import normalize_provider
from traces.importers.common.run_builder import RunFacts, app_name, build_run
from traces.importers.common.transcript_messages import TranscriptMessage, TranscriptSettings
from traces.importers.files.errors import BadFile
from traces.importers.files.json_reader import kind
from traces.importers.files.source import Source
from traces.importers.formats.tracing import langsmith_feedback

FORMAT: Final = "langchain"
_ROLES: Final = {
    "human": "user",
    "user": "user",
    "HumanMessage": "user",
    "HumanMessageChunk": "user",
    "ai": "assistant",
    "assistant": "assistant",
    "AIMessage": "assistant",
    "AIMessageChunk": "assistant",
    "system": "system",
    "SystemMessage": "system",
    "developer": "system",
    "SystemMessageChunk": "system",
    "tool": "tool",
    "ToolMessage": "tool",
    "ToolMessageChunk": "tool",
    "function": "tool",
    "FunctionMessage": "tool",
    "chat": "user",
    "ChatMessage": "user",
}
_CALL_BLOCKS: Final = frozenset({"tool_use", "tool_call", "function_call", "input_json_delta", "tool_call_chunk"})
_MODEL_NAMES: Final = ("model_name", "model", "model_id")
_REASONS: Final = ("finish_reason", "stop_reason")
_IDS: Final = ("thread_id", "run_id", "id", "session_id", "conversation_id", "trace_id")


def parse(source: Source) -> Iterator[RecordedRun]:
    """Yield one run per conversation; messages on separate lines form one conversation."""
    single_messages: list[JSONValue] = []
    for record in source.records():
        if is_message(record.value):
            single_messages.append(record.value)
            continue
        try:
            yield from list(_runs(record.value, record.location, source.name))
        except BadFile as problem:
            if not source.is_lines:
                raise
            source.problems.append(problem)
    if single_messages:
        yield _run({}, single_messages, "", source.name)


def is_message(value: JSONValue) -> bool:
    """Return True if `value` is a message in a form specific to LangChain."""
    body = as_object(value)
    if "role" in body:
        return False
    inner = _inner(body)
    return bool(_role(body, inner)) and "content" in inner


def is_removal(value: JSONValue) -> bool:
    """Return True for a `RemoveMessage`: it deletes an earlier message of a state, and is none itself."""
    body = as_object(value)
    return "remove" in (body.get("type"), _inner(body).get("type")) or "RemoveMessage" in as_list(body.get("id"))[-1:]


def message_id(value: JSONValue) -> JSONValue:
    """Return the id of a message; None if it has none, or is none."""
    return _inner(as_object(value)).get("id") if is_message(value) else None


def is_conversation(value: JSONValue) -> bool:
    """Return True if `value` is a message, a list of messages, or an object with such a list."""
    if is_message(value):
        return True
    if isinstance(value, list):
        return bool(value) and (
            is_message(value[0]) or (isinstance(value[0], dict) and _has_messages(as_object(value[0])))
        )
    return _has_messages(as_object(value))


def normalize_message(value: JSONValue, location: str) -> JSONObject:
    """Convert a message to the fields that transcripts read."""
    body = as_object(value)
    inner = _inner(body) or body
    role = _role(body, inner) or as_text(_ROLES.get(as_text(body.get("role"))))
    if not role:
        raise BadFile(f"a message of LangChain was expected, not {kind(value)}", location)
    extra, metadata = as_object(inner.get("additional_kwargs")), as_object(inner.get("response_metadata"))
    calls = as_list(inner.get("tool_calls")) or as_list(extra.get("tool_calls"))
    message: JSONObject = {"role": role, "content": _content(inner.get("content"), bool(calls)), "tool_calls": calls}
    if role == "assistant" and not calls and has_object(extra, "function_call"):
        message["function_call"] = extra["function_call"]
    usage = first_member(inner, "usage_metadata") or first_member(metadata, "token_usage", "usage")
    facts: JSONObject = {
        "tool_call_id": inner.get("tool_call_id"),
        "message_id": inner.get("id"),
        "speaker": inner.get("name") if role != "tool" else None,
        "artifact": inner.get("artifact"),
        "invalid_tool_calls": inner.get("invalid_tool_calls"),
        "additional_kwargs": _rest(extra, "tool_calls", "function_call", "refusal", "reasoning_content"),
        "response_metadata": _rest(metadata, "id", "token_usage", "usage", *_MODEL_NAMES, *_REASONS),
    }
    if role == "assistant":
        facts |= {
            "usage": usage,
            "model": first_member(metadata, *_MODEL_NAMES),
            "finish_reason": first_member(metadata, *_REASONS),
            "response_id": metadata.get("id"),
            "refusal": extra.get("refusal"),
            "reasoning": extra.get("reasoning_content"),
        }
    if inner.get("status") == "error":
        facts["is_error"] = True
    return message | {key: item for key, item in facts.items() if item not in (None, "", [], {})}


def _rest(value: JSONObject, *names: str) -> JSONObject:
    """Return the members that have a value, without those that other fields have."""
    return {name: item for name, item in omit(value, *names).items() if item not in (None, "", [], {})}


def find_provider(messages: list[TranscriptMessage]) -> str:
    """Return the provider of all models in the messages; empty if there are several."""
    models = {as_text(as_object(message.value).get("model")) for message in messages}
    providers = {normalize_provider(None, model) for model in models if model}
    return next(iter(providers)) if len(providers) == 1 else ""


def _runs(value: JSONValue, location: str, name: str) -> Iterator[RecordedRun]:
    if isinstance(value, list) and value and not is_message(value[0]) and not _has_role(value[0]):
        for index, item in enumerate(value):
            yield from _runs(item, f"{location}/{index}", name)
        return
    body = as_object(value)
    messages = value if isinstance(value, list) else as_list(body.get("messages"))
    if not messages:
        raise BadFile("a conversation of LangChain needs `messages`", location or "/messages")
    yield _run(body, messages, location, name)


def _run(body: JSONObject, messages: list[JSONValue], location: str, name: str) -> RecordedRun:
    recorded_messages = [
        TranscriptMessage(
            value=normalize_message(message, f"{location}/messages/{index}"), location=f"{location}/messages/{index}"
        )
        for index, message in enumerate(messages)
        if not is_removal(message)
    ]
    configurable = as_object(as_object(body.get("config")).get("configurable"))
    identity = as_text(first_member(configurable, *_IDS) or first_member(body, *_IDS))
    return build_run(
        RunFacts(
            external_id=identity or f"langchain-{content_id(list(messages), location)}",
            app=app_name(body.get("app"), body.get("graph_id")) or FORMAT,
            format=FORMAT,
            name=name,
            # Of `langsmith-fetch`.
            failed=as_object(body.get("metadata")).get("status") == "error",
            judgements=[
                replace(mark, step=None)
                for mark in langsmith_feedback.to_judgements(as_objects(body.get("feedback")), "")
            ],
            metadata={key: item for key, item in body.items() if key != "messages"},
        ),
        transcripts.build_steps(recorded_messages, TranscriptSettings(provider=find_provider(recorded_messages))),
        location=location,
    )


def _inner(body: JSONObject) -> JSONObject:
    """Return the fields of the message without its wrapper."""
    if body.get("lc") == 1:
        return as_object(body.get("kwargs"))
    return as_object(body["data"]) if has_object(body, "data") and "content" not in body else body


def _role(body: JSONObject, inner: JSONObject) -> str:
    if body.get("lc") == 1:
        path = as_list(body.get("id"))
        return _ROLES.get(as_text(path[-1]) if path else "", "")
    type_name = as_text(body.get("type"))
    if type_name in ("chat", "ChatMessage"):
        return _ROLES.get(as_text(inner.get("role")), "user")
    return _ROLES.get(type_name, "") if type_name != "function" or "content" in inner else ""


def _has_messages(body: JSONObject) -> bool:
    return any(is_message(message) for message in as_list(body.get("messages"))[:3])


def _has_role(value: JSONValue) -> bool:
    return has_string(value, "role")


def _content(content: JSONValue, has_calls: bool) -> JSONValue:
    """Return the content without the blocks that repeat the tool calls."""
    if not isinstance(content, list) or not has_calls:
        return content
    return [block for block in content if as_text(as_object(block).get("type")) not in _CALL_BLOCKS]
