"""LM Studio: a conversation (`*.conversation.json`), whose answers have steps with the facts of each generation."""

from collections.abc import Iterator

from traces.core.json_access import as_list, as_object, as_objects, as_text, has_list, is_integer, omit
from traces.core.json_types import JSONObject, JSONValue
from traces.core.json_walk import first_item
from traces.importers.files.json_reader import parse_embedded
from traces.importers.formats.chat_exports.chats import Chat

_IDS = ("toolCallRequestId", "toolCallId", "callId")


def is_conversation(body: JSONObject) -> bool:
    message = as_object(first_item(body.get("messages")))
    return has_list(message, "versions") and "currentlySelected" in message


def read_conversation(body: JSONObject, location: str) -> Iterator[Chat]:
    """Yield the conversation of the versions that are selected."""
    chat = Chat(
        app="lm-studio",
        location=location,
        title=as_text(body.get("name")),
        system=body.get("systemPrompt"),
        facts=omit(body, "messages", "systemPrompt"),
    )
    time = body.get("createdAt")
    other_versions: list[JSONValue] = []
    for message in as_objects(body.get("messages")):
        versions = as_list(message.get("versions"))
        number = message.get("currentlySelected")
        version = versions[number] if is_integer(number) and 0 <= number < len(versions) else first_item(versions)
        other_versions += [other for other in versions if other is not version]
        _add_version(chat, as_object(version), time)
        time = None
    chat.facts["other_versions"] = other_versions
    yield chat


def _add_version(chat: Chat, version: JSONObject, time: JSONValue) -> None:
    if version.get("role") != "assistant":
        chat.add_message(version.get("role"), version.get("content"), time)
        return
    chat.begin_answer()
    for step in as_objects(version.get("steps")) or [version]:
        is_thought = as_object(step.get("style")).get("type") == "thinking"
        for block in as_objects(step.get("content")):
            _add_block(chat, block, is_thought=is_thought)
        info = as_object(step.get("genInfo"))
        stats = as_object(info.get("stats"))
        usage = {"input_tokens": stats.get("promptTokensCount"), "output_tokens": stats.get("predictedTokensCount")}
        settings = as_objects(as_object(info.get("predictionConfig")).get("fields"))
        facts = {"settings": {as_text(item.get("key")): item.get("value") for item in settings}}
        model = info.get("identifier") or info.get("indexedModelIdentifier")
        chat.pieces.annotate(
            {**facts, "model": model, "usage": {**usage}, "finish_reason": stats.get("stopReason"), "stats": stats}
            if info
            else {}
        )


def _add_block(chat: Chat, block: JSONObject, *, is_thought: bool) -> None:
    id = next((block[name] for name in _IDS if block.get(name) is not None), "")
    match block.get("type"):
        case "text":
            chat.add_text(block.get("text"), None, is_thought=is_thought)
        case "toolCallRequest":
            chat.add_call(id, block.get("name"), block.get("parameters"), None)
        case "toolCallResult":
            content = parse_embedded(block.get("content"))
            chat.add_result(id, content if isinstance(content, list) else block.get("content"), None)
        case _:
            chat.pieces.add_block(block, None, chat.location)
