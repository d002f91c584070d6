"""Conversations exported from Open WebUI and LibreChat: trees of messages that name their parents."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from traces.core.json_access import (
    as_list,
    as_object,
    as_objects,
    as_text,
    first_member,
    has_list,
    has_object,
    is_number,
    omit,
)
from traces.core.json_types import JSONObject, JSONValue
from traces.core.json_walk import first_item
from traces.core.recorded_run import RecordedJudgement, RecordedRun
from traces.importers.common import transcripts
from traces.importers.common.identity import content_id
from traces.importers.common.judgements import judgement
from traces.importers.common.model_calls import normalize_parameters, normalize_provider
from traces.importers.common.run_builder import RunFacts, build_run
from traces.importers.common.transcript_messages import TranscriptMessage, TranscriptSettings, drop_unreadable
from traces.importers.files.source import Source
from traces.importers.formats.chats.message_branches import MOST_BRANCHES, current_path, other_branches

FORMAT: Final = "web-chat"
_NOT_METADATA: Final = ("chat", "messages", "id", "conversationId", "title")
# Ratings of LibreChat, in the numbers of Open WebUI.
_THUMBS: Final = {"thumbsUp": 1, "thumbsDown": -1}
_ANSWER_FACTS: Final = ("usage", "sources", "files", "annotation", "embeds", "attachments", "feedback")


@dataclass(frozen=True, kw_only=True, slots=True)
class _Conversation:
    """The messages by their ids, in the terms of transcripts, and the id of each parent."""

    app: str
    id: str
    title: str
    leaf: str
    settings: TranscriptSettings
    metadata: JSONObject
    parents: dict[str, str] = field(default_factory=dict)
    messages: dict[str, list[JSONObject]] = field(default_factory=dict)


def is_export(value: JSONValue) -> bool:
    """Return True if `value` is a conversation, or a list of them."""
    body = as_object(first_item(value))
    return _is_open_webui(body) or _is_librechat(body)


def parse(source: Source) -> Iterator[RecordedRun]:
    """Yield the current branch of each conversation, and every other one with an answer."""
    for body, location in source.entries():
        chat = _open_webui(body, location) if _is_open_webui(body) else _librechat(body, location)
        main = current_path(chat.parents, chat.leaf)
        answers = {
            key for key, parts in chat.messages.items() if any(part.get("role") == "assistant" for part in parts)
        }
        branches = other_branches(chat.parents, main, answers)
        facts: JSONObject = {"other_branches": len(branches)} if branches else {}
        yield _run(chat, main, chat.id, facts, location, source)
        for branch in branches[:MOST_BRANCHES]:
            facts = {"left_branch_of": chat.id, "shared_messages": branch.shared_length}
            yield _run(chat, branch.path, f"{chat.id}/{branch.fork}", facts, location, source)


def _run(
    chat: _Conversation, path: list[str], id: str, facts: JSONObject, location: str, source: Source
) -> RecordedRun:
    entries = [
        TranscriptMessage(value=part, location=f"{location}/messages/{key}")
        for key in path
        for part in chat.messages[key]
    ]
    messages = drop_unreadable(entries, source.problems)
    return build_run(
        RunFacts(
            external_id=id,
            app=chat.app,
            format=FORMAT,
            title=chat.title,
            metadata={**chat.metadata, **facts},
            judgements=list(_ratings(messages)),
        ),
        transcripts.build_steps(messages, chat.settings),
        location=location or "/",
    )


def _ratings(messages: list[TranscriptMessage]) -> Iterator[RecordedJudgement]:
    """Yield how people rated answers; steps are numbered by messages."""
    feedbacks: dict[str, tuple[int, JSONObject]] = {}
    for number, message in enumerate(messages, 1):
        facts = as_object(message.value)
        if feedback := as_object(facts.get("annotation")) or as_object(facts.get("feedback")):
            # Of an answer in several parts, the last is rated.
            feedbacks[as_text(facts.get("message_id")) or str(number)] = (number, feedback)
    for number, feedback in feedbacks.values():
        rating = feedback.get("rating")
        value = _THUMBS.get(rating) if isinstance(rating, str) else rating
        if is_number(value):
            texts = [as_text(feedback.get(name)) for name in ("reason", "comment", "text")]
            comment = ": ".join(filter(None, [*texts, as_text(as_object(feedback.get("tag")).get("key"))]))
            yield judgement("rating", value, text=comment, step=f"msg-{number}", detail=feedback)


def _settings(model: str, parameters: JSONObject, system: JSONValue = None) -> TranscriptSettings:
    return TranscriptSettings(
        model=model,
        provider=normalize_provider(None, model.rpartition("/")[2]),
        parameters=normalize_parameters(parameters),
        system=system,
    )


def _is_open_webui(body: JSONObject) -> bool:
    return has_object(as_object(as_object(body.get("chat")).get("history")), "messages")


def _open_webui(body: JSONObject, location: str) -> _Conversation:
    inner = as_object(body["chat"])
    history, models = as_object(inner["history"]), as_list(inner.get("models"))
    nodes = {key: as_object(node) for key, node in as_object(history["messages"]).items()}
    parameters = as_object(inner.get("params"))
    sampling: JSONObject = {name: item for name, item in parameters.items() if isinstance(item, int | float)}
    return _Conversation(
        app="open-webui",
        id=as_text(body.get("id")) or f"open-webui-{content_id(history['messages'], location)}",
        title=as_text(first_member(body, "title") or inner.get("title")),
        leaf=as_text(history.get("currentId")),
        # A conversation with several models has that of an answer in its message.
        settings=_settings(as_text(models[0]) if len(models) == 1 else "", sampling, parameters.get("system")),
        metadata={**omit(body, *_NOT_METADATA), "models": [*models]},
        parents={key: as_text(node.get("parentId")) for key, node in nodes.items()},
        messages={key: [_webui_message(node)] for key, node in nodes.items()},
    )


def _webui_message(node: JSONObject) -> JSONObject:
    error = as_object(node.get("error"))
    facts: JSONObject = {
        **{name: node.get(name) for name in _ANSWER_FACTS},
        "model": node.get("model"),
        "ts": node.get("timestamp"),
        "message_id": node.get("id"),
        "error": first_member(error, "content", "message") or node.get("error"),
    }
    known_facts = {name: item for name, item in facts.items() if item not in (None, "", [], {}, False)}
    return {"role": node.get("role"), "content": node.get("content"), **known_facts}


def _is_librechat(body: JSONObject) -> bool:
    first = as_object(first_item(body.get("messages")))
    return "conversationId" in body and {"messageId", "isCreatedByUser"} <= first.keys()


def _librechat(body: JSONObject, location: str) -> _Conversation:
    options = as_object(body.get("options"))
    nodes = {as_text(node.get("messageId")): node for node in _flatten(as_objects(body.get("messages")))}
    model = as_text(options.get("model"))
    return _Conversation(
        app="librechat",
        id=as_text(body.get("conversationId")),
        title=as_text(body.get("title")),
        # The export does not name the branch on the screen: it ends with the latest message.
        leaf=max(nodes, key=lambda key: as_text(nodes[key].get("createdAt")), default=""),
        settings=_settings(
            model,
            {name: item for name, item in options.items() if isinstance(item, int | float)},
            options.get("promptPrefix"),
        ),
        metadata=omit(body, *_NOT_METADATA),
        parents={key: as_text(node.get("parentMessageId")) for key, node in nodes.items()},
        messages={key: list(_librechat_messages(node)) for key, node in nodes.items()},
    )


def _flatten(nodes: list[JSONObject]) -> Iterator[JSONObject]:
    """Yield the messages of a list, or of a tree with `children`."""
    waiting = nodes[::-1]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += as_objects(node.get("children"))[::-1]


def _librechat_messages(node: JSONObject) -> Iterator[JSONObject]:
    """Yield a message; the result of each call in it is one of its own, after which another answer begins."""
    role = "user" if node.get("isCreatedByUser") is True else "assistant"
    facts: JSONObject = {"model": node.get("model") if role == "assistant" else None, "ts": node.get("createdAt")}
    facts |= {"error": node.get("text") if node.get("error") is True else None, "message_id": node.get("messageId")}
    facts["feedback"] = node.get("feedback") if role == "assistant" else None
    known_facts = {name: item for name, item in facts.items() if item}
    blocks: list[JSONValue] = []
    for part in as_objects(node.get("content")):
        call = as_object(part.get("tool_call"))
        if not call:
            text = part.get("text")
            value = as_object(text).get("value") if isinstance(text, dict) else text
            blocks.append({**part, "text": value} if part.get("type") == "text" else part)
            continue
        use: JSONObject = {
            "type": "tool_use",
            "id": call.get("id"),
            "name": call.get("name"),
            "input": call.get("args"),
        }
        yield {"role": role, "content": [*blocks, use], **known_facts}
        if call.get("output") is not None:
            result: JSONObject = {"role": "tool", "tool_call_id": call.get("id"), "content": call["output"]}
            yield {**result, "ts": node.get("createdAt")}
        blocks = []
    if blocks or not has_list(node, "content"):
        yield {"role": role, "content": [*blocks] or node.get("text"), **known_facts}
