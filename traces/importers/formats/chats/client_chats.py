"""Conversations as chat clients store them: exports of Claude, sessions of Continue, chats of LlamaIndex."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final

from traces.core.json_access import as_list, as_object, as_objects, as_text, first_member, has_list, has_object, omit
from traces.core.json_types import JSONObject, JSONValue
from traces.core.json_walk import first_item
from traces.core.recorded_run import RecordedRun
from traces.importers.common import transcripts
from traces.importers.common.identity import content_id
from traces.importers.common.messages import content_blocks
from traces.importers.common.model_calls import normalize_provider
from traces.importers.common.run_builder import RunFacts, build_run
from traces.importers.common.transcript_messages import TranscriptMessage, TranscriptSettings, drop_unreadable
from traces.importers.files.errors import BadFile
from traces.importers.files.source import Source
from traces.importers.formats.chats.message_branches import MOST_BRANCHES, current_path, other_branches

FORMAT: Final = "client-chat"
# What an export of Claude has beside the blocks of a message.
_NOT_CONTENT: Final = frozenset({"token_budget", "flag"})
_FAILURES: Final = frozenset({"errored", "canceled"})


@dataclass(frozen=True, kw_only=True)
class _Chat:
    app: str
    messages: list[JSONObject]
    id: str = ""
    title: str = ""
    model: str = ""
    metadata: JSONObject = field(default_factory=dict)


def is_chat(value: JSONValue) -> bool:
    """Return True if `value` is a conversation of one of these clients, or a list of them."""
    return _reader(value) is not None or _reader(first_item(value)) is not None


def parse(source: Source) -> Iterator[RecordedRun]:
    """Yield one run per conversation."""
    for record in source.records():
        yield from _runs(record.value, record.location, source)


def _runs(value: JSONValue, location: str, source: Source) -> Iterator[RecordedRun]:
    read = _reader(value)
    if read is not None:
        for chat in read(value):
            yield _run(chat, location, source)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _runs(item, f"{location}/{index}", source)
    else:
        source.problems.append(BadFile("not a conversation of this client", location or "/"))


def _reader(value: JSONValue) -> Callable[[JSONValue], Iterator[_Chat]] | None:
    """Return the function that reads conversations in this form."""
    body = as_object(value)
    if has_list(body, "chat_messages") and not body.keys().isdisjoint({"uuid", "name"}):
        return _claude
    if any(has_object(item, "message") for item in as_list(body.get("history"))[:3]) and "sessionId" in body:
        return _continue
    stores = as_object(first_member(body, "store") or as_object(body.get("chat_store")).get("store"))
    lists = list(stores.values()) or [value]
    return _llamaindex if any(_is_llamaindex(next(iter(as_list(chat)), None)) for chat in lists) else None


def _run(chat: _Chat, location: str, source: Source) -> RecordedRun:
    recorded_messages = [
        TranscriptMessage(value=message, location=f"{location}/messages/{index}")
        for index, message in enumerate(chat.messages)
    ]
    setting = TranscriptSettings(model=chat.model, provider=normalize_provider(None, chat.model), agent=chat.app)
    steps = transcripts.build_steps(drop_unreadable(recorded_messages, source.problems), setting)
    return build_run(
        RunFacts(
            external_id=chat.id or f"{chat.app}-{content_id([*chat.messages], location)}",
            app=chat.app,
            format=FORMAT,
            name=chat.title,
            title=chat.title,
            metadata=chat.metadata,
        ),
        steps,
        location=location,
    )


# Claude: an answer contains the calls of tools and their results.


def _claude(value: JSONValue) -> Iterator[_Chat]:
    """Yield the current branch of a conversation, and each other one with an answer: requests can be edited."""
    body = as_object(value)
    messages = {
        as_text(message.get("uuid")) or str(index): message
        for index, message in enumerate(as_objects(body["chat_messages"]))
    }
    parents = {key: as_text(message.get("parent_message_uuid")) for key, message in messages.items()}
    # Older exports name no parents. Then the order is all there is.
    has_parents = any(parent in messages for parent in parents.values())
    main = current_path(parents, as_text(body.get("current_leaf_message_uuid"))) if has_parents else [*messages]
    answers = {key for key, message in messages.items() if message.get("sender") == "assistant"}
    branches = other_branches(parents, main, answers) if has_parents else []
    id = as_text(body.get("uuid"))
    facts: JSONObject = {"other_branches": len(branches)} if branches else {}
    yield _claude_branch(body, [messages[key] for key in main], id, facts)
    for branch in branches[:MOST_BRANCHES]:
        facts = {"left_branch_of": id, "shared_messages": branch.shared_length}
        yield _claude_branch(body, [messages[key] for key in branch.path], f"{id}/{branch.fork}", facts)


def _claude_branch(body: JSONObject, messages: list[JSONObject], id: str, facts: JSONObject) -> _Chat:
    return _Chat(
        app="claude",
        id=id,
        title=as_text(body.get("name")),
        model=as_text(body.get("model")),
        messages=[part for message in messages for part in _claude_parts(message)],
        metadata={**omit(body, "chat_messages", "uuid"), **facts},
    )


def _claude_parts(message: JSONObject) -> Iterator[JSONObject]:
    """Yield a message as the API would have it: the result of a call is a message of its own."""
    role = "user" if message.get("sender") == "human" else "assistant"
    facts: JSONObject = {"ts": message.get("created_at"), "uuid": message.get("uuid")}
    blocks: list[JSONValue] = []
    for block in _claude_blocks(message):
        # Newer exports have the times of the parts of an answer.
        if block.get("type") == "tool_result":
            if blocks:
                yield {"role": role, "content": blocks, **facts}
            facts["ts"] = block.get("stop_timestamp") or facts["ts"]
            yield {"role": "user", "content": [block], **facts}
            blocks = []
            continue
        facts["ts"] = block.get("stop_timestamp") or facts["ts"]
        if as_text(block.get("type")) not in _NOT_CONTENT:
            blocks.append(block)
    if blocks:
        yield {"role": role, "content": blocks, **facts}


def _claude_blocks(message: JSONObject) -> Iterator[JSONObject]:
    content = as_objects(message.get("content"))
    yield from content or ([{"type": "text", "text": message["text"]}] if message.get("text") else [])
    for attachment in as_objects(message.get("attachments")):
        if text := as_text(attachment.get("extracted_content")):
            source: JSONObject = {"type": "text", "data": text}
            yield {"type": "document", "title": attachment.get("file_name"), "source": source}
    # The export contains only the names of these.
    for file in as_objects(message.get("files")):
        yield {"type": "file", **file}


# Continue: calls have states, which tell whether they failed.


def _continue(value: JSONValue) -> Iterator[_Chat]:
    body = as_object(value)
    items = as_objects(body["history"])
    yield _Chat(
        app="continue",
        id=as_text(body.get("sessionId")),
        title=as_text(body.get("title")),
        model=as_text(body.get("chatModelTitle")),
        messages=list(_continue_messages(items)),
        metadata=omit(body, "history", "sessionId"),
    )


def _continue_messages(items: list[JSONObject]) -> Iterator[JSONObject]:
    failures: dict[str, str] = {}
    # They precede their answer.
    thoughts: list[JSONValue] = []
    for item in items:
        message = as_object(item.get("message"))
        if message.get("role") == "thinking":
            thoughts.append({"type": "thinking", "thinking": message.get("content")})
            continue
        for state in as_objects(item.get("toolCallStates")) or as_objects([item.get("toolCallState")]):
            if (status := as_text(state.get("status"))) in _FAILURES:
                failures[as_text(state.get("toolCallId"))] = status
        log = as_object(next(iter(as_list(item.get("promptLogs"))), None))
        model = as_object(log.get("completionOptions")).get("model") or log.get("modelTitle")
        call_id = as_text(message.get("toolCallId"))
        facts: JSONObject = {
            "tool_calls": message.get("toolCalls"),
            "tool_call_id": message.get("toolCallId"),
            "model": model,
            "usage": message.get("usage"),
            "error": failures.get(call_id) if call_id else None,
            "context_items": item.get("contextItems"),
        }
        thought: JSONObject = {"type": "thinking", "thinking": as_object(item.get("reasoning")).get("text")}
        # Some versions write it as a message before, too.
        thoughts += [thought] if thought["thinking"] and thought not in thoughts else []
        plain = omit(message, "toolCalls", "toolCallId", "usage")
        if message.get("role") == "assistant" and thoughts:
            plain["content"] = [*thoughts, *content_blocks(message.get("content"))]
            thoughts = []
        yield {**plain, **{name: item for name, item in facts.items() if item not in (None, "", [], {})}}


# LlamaIndex: the facts of a message are in `additional_kwargs`.


def _is_llamaindex(value: JSONValue) -> bool:
    message = as_object(value)
    return "role" in message and "type" not in message and has_object(message, "additional_kwargs")


def _llamaindex(value: JSONValue) -> Iterator[_Chat]:
    body = as_object(value)
    stores = as_object(first_member(body, "store") or as_object(body.get("chat_store")).get("store"))
    chats = stores or {"": value}
    for key, chat in chats.items():
        if messages := as_objects(chat):
            yield _Chat(
                app="llamaindex",
                messages=[read_llamaindex_message(message) for message in messages],
                metadata={"chat": key, **omit(body, "store", "chat_store")},
            )


def read_llamaindex_message(message: JSONObject) -> JSONObject:
    """Return a message of LlamaIndex in the terms of transcripts."""
    details = as_object(message.get("additional_kwargs"))
    blocks = [_llamaindex_block(block) for block in as_objects(message.get("blocks"))]
    content: JSONValue = [*blocks] if blocks else message.get("content")
    return {**details, **omit(message, "blocks", "additional_kwargs"), "content": content}


def _llamaindex_block(block: JSONObject) -> JSONObject:
    if block.get("block_type") == "tool_call":
        names = {"tool_call_id": "id", "tool_name": "name", "tool_kwargs": "input"}
        return {"type": "tool_use", **{name: block[key] for key, name in names.items() if key in block}}
    return {"type": block.get("block_type"), **omit(block, "block_type")}
