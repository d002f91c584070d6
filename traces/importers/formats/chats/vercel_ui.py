"""UI messages of the Vercel AI SDK: version 4 with `toolInvocations`, later ones with typed tool parts.

One assistant message spans several model calls. The next call starts at a `step-start`, or at the first part after a
result that is not a tool part. A user may steer it: such a message precedes the answer that received it.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Final

from traces.core.json_access import (
    as_list,
    as_object,
    as_objects,
    as_text,
    first_member,
    has_list,
    has_string,
    list_or_single,
)
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun, RecordedStep
from traces.importers.common import transcripts
from traces.importers.common.identity import content_id
from traces.importers.common.messages import result_text
from traces.importers.common.model_calls import normalize_provider, normalize_usage
from traces.importers.common.run_builder import RunFacts, build_run
from traces.importers.common.transcript_messages import TranscriptMessage, TranscriptSettings
from traces.importers.files.json_reader import parse_embedded
from traces.importers.files.sample import Sample
from traces.importers.files.source import Source

FORMAT: Final = "vercel-ui"
_STATES: Final = frozenset(
    {
        "input-streaming",
        "input-available",
        "approval-requested",
        "approval-responded",
        "output-available",
        "output-error",
        "output-denied",
    }
)
_TYPES: Final = frozenset({"step-start", "dynamic-tool", "tool-invocation", "reasoning-file", "steering-message"})
_TEXT_TYPES: Final = frozenset({"text", "reasoning"})
# What a tool part states beside its call and its result.
_CALL_FACTS: Final = ("approval", "title", "providerExecuted", "toolMetadata")
_METADATA: Final = ("title", "userId", "visibility", "trigger", "metadata")
# In columns of text, databases have these as JSON.
_JSON_FIELDS: Final = ("parts", "content", "toolInvocations", "attachments", "metadata", "annotations")
_CHAT_IDS: Final = (
    *("chatId", "chat_id", "threadId", "thread_id"),
    *("conversationId", "conversation_id", "sessionId", "session_id"),
)
_CHATS: Final = ("chats", "threads", "conversations", "sessions")
_ATTACHMENTS: Final = ("experimental_attachments", "attachments")
_TIMES: Final = ("createdAt", "created_at")


def sniff(sample: Sample) -> float:
    """Return the confidence that the file has UI messages: less without steps and tools, which plain chats lack."""
    messages = [
        _stored_message(as_object(message))
        for value in sample.objects
        for message in [value, *as_list(value.get("messages"))[:20]]
    ]
    if any(map(_is_ui_message, messages)):
        return 1.0
    return 0.7 if any(map(_has_text_parts, messages)) else 0.0


def parse(source: Source) -> Iterator[RecordedRun]:
    """Yield the chats of the file: objects with `messages`, and rows of messages grouped by the ids of their chats."""
    rows: list[JSONObject] = []
    for record in source.records():
        for value in list_or_single(record.value):
            body = as_object(value)
            if not has_list(body, "messages"):
                rows.append(body)
                continue
            messages = as_objects(body["messages"])
            if len({_chat_id(message) for message in messages}) > 1:
                yield from _chats(messages, [chat for name in _CHATS for chat in as_objects(body.get(name))])
            else:
                yield _run(body, messages, f"{record.location}/messages")
    yield from _chats(rows, [])


def _chats(rows: list[JSONObject], chats: list[JSONObject]) -> Iterator[RecordedRun]:
    """Yield the chats of stored messages; `chats` are the rows about them."""
    messages_by_chat: dict[str, list[JSONObject]] = {}
    for row in rows:
        messages_by_chat.setdefault(_chat_id(row), []).append(row)
    chats_by_id = {as_text(chat.get("id")): chat for chat in chats}
    for id, messages in messages_by_chat.items():
        yield _run({**(chats_by_id.get(id, {}) if id else {}), "id": id}, messages, "")


def _chat_id(row: JSONObject) -> str:
    return as_text(first_member(row, *_CHAT_IDS))


def _stored_message(row: JSONObject) -> JSONObject:
    """Return a message from the row that stores it: in columns, as JSON, or whole in `message`."""
    if "role" not in row and isinstance(message := parse_embedded(row.get("message")), dict):
        times: JSONObject = {name: row[name] for name in _TIMES if name in row}
        return _stored_message({**times, **message})
    fields = {name: parse_embedded(row[name]) for name in _JSON_FIELDS if isinstance(row.get(name), str)}
    stored_row: JSONObject = {
        **row,
        **{name: value for name, value in fields.items() if isinstance(value, list | dict)},
    }
    content = stored_row.get("content")
    parts = content.get("parts") if isinstance(content, dict) else content
    if not stored_row.get("parts") and isinstance(parts, list):
        return {**stored_row, "parts": parts, "content": None}
    return stored_row


def _is_ui_message(message: JSONObject) -> bool:
    if "role" not in message:
        return False
    if any(
        "toolName" in as_object(invocation) and "state" in as_object(invocation)
        for invocation in as_list(message.get("toolInvocations"))
    ):
        return True
    return any(_is_tool(as_object(part)) or as_text(as_object(part).get("type")) in _TYPES for part in _parts(message))


def _has_text_parts(message: JSONObject) -> bool:
    """Return whether an answer has the parts that version 5 and later write of one without steps and tools."""
    parts = [as_object(part) for part in _parts(message)]
    return (
        message.get("role") == "assistant"
        and has_string(message, "id")
        and any(part["type"] in _TEXT_TYPES and has_string(part, "text") for part in parts)
    )


def _parts(message: JSONObject) -> list[JSONValue]:
    return [part for part in as_list(message.get("parts")) if has_string(part, "type")]


def _is_tool(part: JSONObject) -> bool:
    kind = as_text(part.get("type"))
    return (kind.startswith("tool-") or kind == "dynamic-tool") and as_text(part.get("state")) in _STATES


def _run(body: JSONObject, messages: list[JSONObject], location: str) -> RecordedRun:
    messages = [_stored_message(message) for message in messages]
    recorded_messages = [
        recorded_message
        for index, message in enumerate(messages)
        for recorded_message in _recorded_messages(message, f"{location}/{index}")
    ]
    model = as_text(first_member(body, "model", "modelId", "selectedChatModel"))
    setting = TranscriptSettings(
        model=model, provider=normalize_provider(None, model.rpartition("/")[2]), system=body.get("system")
    )
    external_id = as_text(first_member(body, "id", *_CHAT_IDS)) or f"chat-{content_id([*messages], location)}"
    metadata: JSONObject = {key: body[key] for key in _METADATA if key in body}
    return build_run(
        RunFacts(
            external_id=external_id, app=FORMAT, format=FORMAT, title=as_text(body.get("title")), metadata=metadata
        ),
        _with_sums(transcripts.build_steps(recorded_messages, setting), messages),
        location=location,
    )


def _with_sums(steps: list[RecordedStep], messages: list[JSONObject]) -> list[RecordedStep]:
    """Give the agent the usage that covers several calls."""
    sums = [usage for message in messages if len(list(_steps(message))) > 1 and (usage := _usage(message))]
    usages = [normalize_usage(as_object(usage.get("usage")), "/usage") for usage in sums]
    if not usages:
        return steps
    agent = replace(
        steps[0],
        tokens_in=_sum(usage.tokens_in for usage in usages),
        tokens_out=_sum(usage.tokens_out for usage in usages),
        tokens_cached=_sum(usage.tokens_cached for usage in usages),
    )
    return [agent, *steps[1:]]


def _sum(counts: Iterable[int | None]) -> int | None:
    known_counts = [count for count in counts if count is not None]
    return sum(known_counts) if known_counts else None


def _recorded_messages(message: JSONObject, location: str) -> Iterator[TranscriptMessage]:
    time = first_member(message, *_TIMES) or as_object(message.get("metadata")).get("createdAt")
    if message.get("role") != "assistant":
        content = _user_content(message)
        yield TranscriptMessage(location=location, value={"role": message.get("role"), "content": content, "ts": time})
        return
    steps = list(_steps(message))
    for index, step in enumerate(steps):
        for user_message in step.user_messages:
            value: JSONObject = {"role": "user", "content": _user_content(user_message), "ts": time}
            yield TranscriptMessage(location=location, value={**value, "message_id": user_message.get("id")})
        message_facts = _message_facts(message) if index == len(steps) - 1 else {}
        value = {"role": "assistant", "content": step.content, "tool_calls": [*step.calls], "ts": time}
        value |= {**_model(message), **({"continuation": step.marks} if step.marks else {})}
        yield TranscriptMessage(
            location=location,
            value={**value, **message_facts} if len(steps) > 1 else {**value, **message_facts, **_usage(message)},
        )
        yield from (TranscriptMessage(location=location, value={**result, "ts": time}) for result in step.results)


def _user_content(message: JSONObject) -> JSONValue:
    """Return the parts of a message, or its text; older versions have files beside these."""
    files = [file for name in _ATTACHMENTS for file in as_objects(message.get(name))]
    parts: list[JSONValue] = [_block(as_object(part)) for part in _parts(message)]
    texts: list[JSONValue] = parts or ([{"type": "text", "text": message.get("content")}] if files else [])
    blocks = [*texts, *({"type": "file", **file} for file in files)]
    return blocks or message.get("content")


def _message_facts(message: JSONObject) -> JSONObject:
    """Return the facts about the whole message, which its last model call carries."""
    metadata = as_object(message.get("metadata"))
    return {"metadata": metadata or None, "message_id": message.get("id"), "annotations": message.get("annotations")}


def _model(message: JSONObject) -> JSONObject:
    metadata = as_object(message.get("metadata"))
    model = as_text(first_member(metadata, "model", "modelId") or first_member(message, "model", "modelId"))
    return {"model": model} if model else {}


def _usage(message: JSONObject) -> JSONObject:
    """Return the usage of the message, which is a sum if it has several model calls."""
    metadata = as_object(message.get("metadata"))
    usage = first_member(metadata, "usage", "totalUsage") or next(
        (note["usage"] for note in as_objects(message.get("annotations")) if "usage" in note), None
    )
    return {"usage": usage} if isinstance(usage, dict) else {}


@dataclass(kw_only=True)
class _Step:
    """One model call of an assistant message, and the results of its tool calls."""

    content: list[JSONValue] = field(default_factory=list)
    calls: list[JSONValue] = field(default_factory=list)
    results: list[JSONObject] = field(default_factory=list)
    user_messages: list[JSONObject] = field(default_factory=list)
    # What only the provider understands: ids of items and signatures, which later requests repeat.
    marks: list[JSONValue] = field(default_factory=list)

    @property
    def is_empty(self) -> bool:
        return not (self.content or self.calls or self.user_messages)


def _steps(message: JSONObject) -> Iterator[_Step]:
    step = _Step()
    for part in _all_parts(message):
        tool = _tool(part)
        is_steering = part.get("type") == "steering-message"
        begins = part.get("type") == "step-start" or is_steering or (step.results and tool is None)
        if begins and (step.content or step.calls):
            yield step
            step = _Step()
        mark = first_member(part, "callProviderMetadata", "providerMetadata")
        if isinstance(mark, dict):
            step.marks.append({"part": len(step.content) + len(step.calls), **mark})
        if tool is not None:
            step.calls.append({"id": tool.get("toolCallId"), "name": tool["name"], "arguments": tool["input"]})
            if (result := _result(tool)) is not None:
                step.results.append(result)
        elif is_steering:
            step.user_messages.append(part)
        elif part.get("type") != "step-start":
            step.content.append(_block(part))
    if not step.is_empty:
        yield step


def _all_parts(message: JSONObject) -> list[JSONObject]:
    """Return all parts; older messages list their tool calls separately, before the text."""
    parts = [as_object(part) for part in _parts(message)]
    tool_parts = [part for part in parts if _tool(part) is not None]
    tool_list: list[JSONObject] = []
    last_number: JSONValue = None
    for invocation in as_list(message.get("toolInvocations")) if not tool_parts else []:
        number = as_object(invocation).get("step")
        tool_list += [{"type": "step-start"}] if tool_list and number != last_number else []
        tool_list.append({"type": "tool-invocation", "toolInvocation": invocation})
        last_number = number
    if not parts and message.get("content") not in (None, ""):
        parts = [{"type": "text", "text": message["content"]}]
    if message.get("reasoning") and not any(part.get("type") == "reasoning" for part in parts):
        parts = [{"type": "reasoning", "text": message["reasoning"]}, *parts]
    return [*tool_list, *parts]


def _tool(part: JSONObject) -> JSONObject | None:
    """Convert a tool part of any version to `{name, input, state, toolCallId, output?, errorText?}`."""
    kind = as_text(part.get("type"))
    if kind == "tool-invocation":
        call = as_object(part.get("toolInvocation"))
        return {**call, "name": call.get("toolName"), "input": call.get("args"), "output": call.get("result")}
    if not _is_tool(part):
        return None
    name = part.get("toolName") if kind == "dynamic-tool" else kind.removeprefix("tool-")
    return {
        **part,
        "name": name,
        "input": part.get("input") if part.get("input") is not None else part.get("rawInput"),
    }


def _result(tool: JSONObject) -> JSONObject | None:
    """Return the result message of a call; None for an open call."""
    facts: JSONObject = {name: tool[name] for name in _CALL_FACTS if tool.get(name)}
    answer: JSONObject = {"role": "tool", "tool_call_id": tool.get("toolCallId"), **facts}
    match tool.get("state"):
        case "result" | "output-available":
            output = tool.get("output")
            return {**answer, "content": result_text(output)}
        case "output-error":
            problem = as_text(tool.get("errorText")) or "error"
            return {**answer, "content": problem, "error": problem}
        case "output-denied":
            reason = as_text(as_object(tool.get("approval")).get("reason")) or "the user denied the call"
            return {**answer, "content": reason, "denied": True}
    return None


def _block(part: JSONObject) -> JSONValue:
    if part.get("type") == "reasoning":
        return {"type": "thinking", "thinking": first_member(part, "text", "reasoning")}
    if part.get("type") != "text":
        return part
    return {
        "type": "text",
        "text": part.get("text"),
        **({"citations": part["citations"]} if part.get("citations") else {}),
    }
