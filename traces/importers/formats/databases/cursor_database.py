"""Cursor's database (`state.vscdb`): its chats, whose messages are rows of their own, or in the chat in older versions.

A message of the assistant is a text, a thought or one call with its result. Calls of one answer share `modelCallId`.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from traces.core.json_access import as_list, as_object, as_objects, as_text, first_member
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun
from traces.importers.common import transcripts
from traces.importers.common.model_calls import normalize_provider
from traces.importers.common.run_builder import RunFacts, build_run
from traces.importers.common.times import parse_time
from traces.importers.common.transcript_messages import TranscriptMessage, TranscriptSettings, drop_unreadable
from traces.importers.files.errors import BadFile
from traces.importers.files.json_reader import json_value, parse_embedded
from traces.importers.files.sample import Sample
from traces.importers.files.source import Source
from traces.importers.files.sqlite_file import Database, has_column

FORMAT: Final = "cursor-chat"
_TABLE: Final = "cursorDiskKV"
_CHAT: Final = "composerData:"
_MESSAGE: Final = "bubbleId:"
_USER: Final = 1
# Other members of a chat are the state of its window.
_CHAT_FACTS: Final = (
    "unifiedMode",
    "modelConfig",
    "subagentInfo",
    "subagentComposerIds",
    "contextTokensUsed",
    "status",
)
_MESSAGE_FACTS: Final = {"bubbleId": "message_id", "errorDetails": "error_details", "requestId": "request_id"}


@dataclass(kw_only=True)
class _Answer:
    """The messages that one model call gave, and the results of its calls."""

    value: JSONObject
    location: str
    call_group: str = ""
    results: list[JSONObject] = field(default_factory=list)


def sniff(sample: Sample) -> float:
    """Return the confidence that the file is a database of Cursor."""
    return 1.0 if has_column(sample.head, _TABLE, "value") else 0.0


def parse(source: Source) -> Iterator[RecordedRun]:
    """Yield one run per chat with an answer or a request."""
    chats, messages = _read(source)
    for id, chat in chats.items():
        bubbles = _bubbles(chat, messages[id])
        entries = drop_unreadable(_entries(bubbles, f"chat {id}"), source.problems)
        if entries:
            yield _run(id, chat, entries)


def _read(source: Source) -> tuple[dict[str, JSONObject], dict[str, dict[str, JSONObject]]]:
    """Return the chats by id, and their messages by the ids of both. Rows that are no JSON become problems."""
    chats: dict[str, JSONObject] = {}
    messages: dict[str, dict[str, JSONObject]] = defaultdict(dict)
    database = Database(source.data, {_TABLE: ("key", "value")})
    try:
        query = "WHERE key LIKE 'composerData:%' OR key LIKE 'bubbleId:%' ORDER BY rowid"
        for row in database.rows(_TABLE, query):
            key, text = as_text(row["key"]), as_text(row["value"])
            try:
                body = as_object(parse_embedded(json_value(text.encode()))) if text else {}
            except BadFile as problem:
                source.problems.append(problem.prefix_location(key))
                continue
            if key.startswith(_CHAT):
                chats[key.removeprefix(_CHAT)] = body
            else:
                chat, _, message = key.removeprefix(_MESSAGE).partition(":")
                messages[chat][message] = body
    finally:
        database.close()
    if not chats:
        raise BadFile("a database of Cursor without chats: they are in that of `globalStorage`", f"table {_TABLE}")
    return chats, messages


def _bubbles(chat: JSONObject, messages: dict[str, JSONObject]) -> list[JSONObject]:
    """Return the messages of a chat in order. Its headers name them; rows of others are of discarded branches."""
    headers = as_objects(chat.get("fullConversationHeadersOnly"))
    rows = [{**header, **messages.get(as_text(header.get("bubbleId")), {})} for header in headers]
    return rows or as_objects(chat.get("conversation")) or sorted(messages.values(), key=_time_key)


def _time_key(bubble: JSONObject) -> str:
    return as_text(bubble.get("createdAt"))


def _run(id: str, chat: JSONObject, entries: list[TranscriptMessage]) -> RecordedRun:
    model = as_text(as_object(chat.get("modelConfig")).get("modelName"))
    setting = TranscriptSettings(model=model, provider=normalize_provider(None, model), agent="cursor")
    return build_run(
        RunFacts(
            external_id=id,
            app="cursor",
            format=FORMAT,
            title=as_text(chat.get("name")),
            started_at=parse_time(chat.get("createdAt"), f"chat {id}"),
            metadata={name: chat.get(name) for name in _CHAT_FACTS},
        ),
        transcripts.build_steps(entries, setting),
        location=f"chat {id}",
    )


def _entries(bubbles: Sequence[JSONObject], location: str) -> Iterator[TranscriptMessage]:
    answer: _Answer | None = None
    for bubble in bubbles:
        place = f"{location}, message {as_text(bubble.get('bubbleId'))}"
        if bubble.get("type") == _USER:
            yield from _close(answer)
            answer = None
            yield TranscriptMessage(value=_message(bubble, "user", _texts(bubble)), location=place)
            continue
        call = as_object(bubble.get("toolFormerData"))
        blocks = _texts(bubble)
        if not call and not blocks:
            continue
        if answer is None or _begins_answer(answer, blocks, call):
            yield from _close(answer)
            answer = _Answer(value=_message(bubble, "assistant", []), location=place)
        _extend(answer, bubble, blocks, call)
    yield from _close(answer)


def _begins_answer(answer: _Answer, blocks: list[JSONValue], call: JSONObject) -> bool:
    """Return whether a message is of another model call: after calls, a text or a call of another group."""
    if not answer.results:
        return False
    group = as_text(call.get("modelCallId"))
    return bool(blocks) or not group or group != answer.call_group


def _extend(answer: _Answer, bubble: JSONObject, blocks: list[JSONValue], call: JSONObject) -> None:
    value = answer.value
    value["content"] = [*as_list(value["content"]), *blocks]
    value["ts"] = bubble.get("createdAt") or value.get("ts")
    if model := as_text(as_object(bubble.get("modelInfo")).get("modelName")):
        value["model"] = model
    counts = as_object(bubble.get("tokenCount"))
    # Zeros stand for unknown counts.
    if counts.get("inputTokens") or counts.get("outputTokens"):
        value["usage"] = {name: counts[name] for name in ("inputTokens", "outputTokens") if counts.get(name)}
    if call:
        name = as_text(call.get("name")) or f"tool {as_text(call.get('tool'))}"
        arguments = first_member(call, "rawArgs", "params")
        id = as_text(first_member(call, "toolCallId") or bubble.get("bubbleId"))
        value["tool_calls"] = [*as_list(value.get("tool_calls")), {"id": id, "name": name, "arguments": arguments}]
        answer.call_group = as_text(call.get("modelCallId"))
        answer.results.append(_result(call, id))


def _close(answer: _Answer | None) -> Iterator[TranscriptMessage]:
    """Yield an answer, and then the results of its calls."""
    if answer is None:
        return
    answer.value["content"] = answer.value["content"] or None
    yield TranscriptMessage(value=answer.value, location=answer.location)
    for result in answer.results:
        if result:
            yield TranscriptMessage(value=result, location=answer.location)


def _message(bubble: JSONObject, role: str, content: list[JSONValue]) -> JSONObject:
    facts = {name: bubble[key] for key, name in _MESSAGE_FACTS.items() if bubble.get(key) not in (None, "", [], {})}
    return {"role": role, "content": content, "ts": bubble.get("createdAt"), **facts}


def _texts(bubble: JSONObject) -> list[JSONValue]:
    thought = as_text(as_object(bubble.get("thinking")).get("text"))
    blocks: list[JSONValue] = [{"type": "thinking", "thinking": thought}] if thought else []
    text = as_text(bubble.get("text"))
    images: list[JSONValue] = [{**image, "type": "image"} for image in as_objects(bubble.get("images"))]
    texts: list[JSONValue] = [{"type": "text", "text": text}] if text else []
    return [*blocks, *texts, *images]


def _result(call: JSONObject, id: str) -> JSONObject:
    """Return the result of a call; empty if there is none yet."""
    status, error = as_text(call.get("status")), parse_embedded(call.get("error"))
    is_denied = call.get("userDecision") == "rejected"
    result = call.get("result")
    if not (result or error or is_denied or status in {"completed", "error", "cancelled"}):
        return {}
    message = as_text(first_member(as_object(error), "modelVisibleErrorMessage", "clientVisibleErrorMessage") or error)
    failure: JSONObject = {"error": message or status} if error or status in {"error", "cancelled"} else {}
    return {
        "role": "tool",
        "tool_call_id": id,
        "content": result if result else message or status,
        **({"denied": True} if is_denied else failure),
    }
