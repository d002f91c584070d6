"""Messages of LangChain, however they were serialised: `messages_to_dict`, `dumpd` (`lc`), or a model's dump."""

from collections.abc import Iterator
from typing import Final

from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun
from traces.importers.common import transcripts
from traces.importers.common.identity import content_id
from traces.importers.common.model_calls import normalize_provider
from traces.importers.common.run_builder import RunFacts, app_name, build_run
from traces.importers.common.transcript_messages import TranscriptMessage, TranscriptSettings
from traces.importers.files.errors import BadFile
from traces.importers.files.json_reader import first, items, kind, obj, text
from traces.importers.files.source import Source

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
_IDS: Final = ("thread_id", "run_id", "id", "session_id", "conversation_id")


def parse(source: Source) -> Iterator[RecordedRun]:
    """One run for each conversation; messages on lines of their own are one."""
    loose: list[JSONValue] = []
    for record in source.records():
        if is_message(record.value):
            loose.append(record.value)
            continue
        try:
            yield from list(_runs(record.value, record.location, source.name))
        except BadFile as problem:
            if not source.is_lines:
                raise
            source.problems.append(problem)
    if loose:
        yield _run({}, loose, "", source.name)


def is_message(value: JSONValue) -> bool:
    """Whether `value` is a message in one of LangChain's own forms."""
    given = obj(value)
    if "role" in given:
        return False
    inner = _inner(given)
    return bool(_role(given, inner)) and "content" in inner


def is_conversation(value: JSONValue) -> bool:
    """Whether `value` is a message, a list of them, or an object that holds such a list."""
    if is_message(value):
        return True
    if isinstance(value, list):
        return bool(value) and (is_message(value[0]) or (isinstance(value[0], dict) and _holds(obj(value[0]))))
    return _holds(obj(value))


def message_of(value: JSONValue, where: str) -> JSONObject:
    """A message with the fields that transcripts read."""
    given = obj(value)
    inner = _inner(given) or given
    role = _role(given, inner) or text(_ROLES.get(text(given.get("role"))))
    if not role:
        raise BadFile(f"a message of LangChain was expected, not {kind(value)}", where)
    extra, metadata = obj(inner.get("additional_kwargs")), obj(inner.get("response_metadata"))
    calls = items(inner.get("tool_calls")) or items(extra.get("tool_calls"))
    message: JSONObject = {"role": role, "content": _content(inner.get("content"), bool(calls)), "tool_calls": calls}
    if role == "assistant" and not calls and isinstance(extra.get("function_call"), dict):
        message["function_call"] = extra["function_call"]
    usage = first(inner, "usage_metadata") or first(metadata, "token_usage", "usage")
    facts: JSONObject = {
        "tool_call_id": inner.get("tool_call_id"),
        "message_id": inner.get("id"),
        "speaker": inner.get("name") if role != "tool" else None,
        "artifact": inner.get("artifact"),
        "invalid_tool_calls": inner.get("invalid_tool_calls"),
    }
    if role == "assistant":
        facts |= {
            "usage": usage,
            "model": first(metadata, "model_name", "model", "model_id"),
            "finish_reason": first(metadata, "finish_reason", "stop_reason"),
            "refusal": extra.get("refusal"),
            "reasoning": extra.get("reasoning_content"),
        }
    if inner.get("status") == "error":
        facts["is_error"] = True
    return message | {key: item for key, item in facts.items() if item not in (None, "", [], {})}


def provider_in(messages: list[TranscriptMessage]) -> str:
    """The provider of the first model that is named."""
    model = next((text(model) for each in messages if (model := obj(each.value).get("model"))), "")
    return normalize_provider(None, model)


def _runs(value: JSONValue, where: str, name: str) -> Iterator[RecordedRun]:
    if isinstance(value, list) and value and not is_message(value[0]) and not _has_role(value[0]):
        for at, each in enumerate(value):
            yield from _runs(each, f"{where}/{at}", name)
        return
    body = obj(value)
    messages = value if isinstance(value, list) else items(body.get("messages"))
    if not messages:
        raise BadFile("a conversation of LangChain needs `messages`", where or "/messages")
    yield _run(body, messages, where, name)


def _run(body: JSONObject, messages: list[JSONValue], where: str, name: str) -> RecordedRun:
    said = [
        TranscriptMessage(value=message_of(each, f"{where}/messages/{at}"), location=f"{where}/messages/{at}")
        for at, each in enumerate(messages)
    ]
    configurable = obj(obj(body.get("config")).get("configurable"))
    identity = text(first(configurable, *_IDS) or first(body, *_IDS))
    return build_run(
        RunFacts(
            external_id=identity or f"langchain-{content_id(list(messages), where)}",
            app=app_name(body.get("app"), body.get("graph_id")) or FORMAT,
            format=FORMAT,
            name=name,
            metadata={key: item for key, item in body.items() if key != "messages"},
        ),
        transcripts.build_steps(said, TranscriptSettings(provider=provider_in(said))),
        location=where,
    )


def _inner(given: JSONObject) -> JSONObject:
    """The message's own fields, out of what they are wrapped in."""
    if given.get("lc") == 1:
        return obj(given.get("kwargs"))
    return obj(given["data"]) if isinstance(given.get("data"), dict) and "content" not in given else given


def _role(given: JSONObject, inner: JSONObject) -> str:
    if given.get("lc") == 1:
        path = items(given.get("id"))
        return _ROLES.get(text(path[-1]) if path else "", "")
    named = text(given.get("type"))
    if named in ("chat", "ChatMessage"):
        return _ROLES.get(text(inner.get("role")), "user")
    return _ROLES.get(named, "") if named != "function" or "content" in inner else ""


def _holds(given: JSONObject) -> bool:
    return any(is_message(each) for each in items(given.get("messages"))[:3])


def _has_role(value: JSONValue) -> bool:
    return isinstance(obj(value).get("role"), str)


def _content(content: JSONValue, has_calls: bool) -> JSONValue:
    """Content without the blocks that say again what the tool calls say."""
    if not isinstance(content, list) or not has_calls:
        return content
    return [block for block in content if text(obj(block).get("type")) not in _CALL_BLOCKS]
