"""Readers of chats by client: LobeChat, TypingMind, Chatbox, LM Studio, SillyTavern and big-AGI."""

from collections.abc import Iterator

from traces.core.json_access import as_list, as_object, as_objects, as_text, first_member, has_list, is_number, omit
from traces.core.json_types import JSONObject, JSONValue
from traces.core.json_walk import first_item
from traces.importers.files.json_reader import parse_embedded
from traces.importers.formats.chat_exports.chats import Chat

_SESSION = "session:"


def is_lobe_chat(body: JSONObject) -> bool:
    return {"exportType", "state", "version"} <= body.keys()


def read_lobe_chat(body: JSONObject, location: str) -> Iterator[Chat]:
    """Yield the chats of each topic; messages without one are the default topic of their session."""
    state = as_object(body.get("state"))
    sessions = {as_text(item.get("id")): item for item in as_objects(state.get("sessions"))}
    topics = {as_text(item.get("id")): item for item in as_objects(state.get("topics"))}
    chats: dict[tuple[str, str], Chat] = {}
    messages = as_objects(state.get("messages"))
    for message in sorted(messages, key=lambda item: as_text(item.get("createdAt"))):
        session, topic = as_text(message.get("sessionId")) or "inbox", as_text(message.get("topicId"))
        if (session, topic) not in chats:
            config = as_object(as_object(sessions.get(session)).get("config"))
            chats[session, topic] = Chat(
                app="lobe-chat",
                location=location,
                id="/".join(filter(None, (session, topic))),
                title=as_text(as_object(topics.get(topic)).get("title"))
                or as_text(as_object(as_object(sessions.get(session)).get("meta")).get("title")),
                model=as_text(config.get("model")),
                system=config.get("systemRole"),
                parameters=as_object(config.get("params")),
            )
        _add_lobe_message(chats[session, topic], message)
    yield from chats.values()


def _add_lobe_message(chat: Chat, message: JSONObject) -> None:
    time, content = message.get("createdAt"), message.get("content")
    role = message.get("role")
    if role == "tool":
        failure = message.get("pluginError") or message.get("error")
        chat.add_result(message.get("tool_call_id"), content, time, is_failed=bool(failure))
    elif role == "assistant":
        chat.begin_answer()
        chat.add_text(as_object(message.get("reasoning")).get("content"), time, is_thought=True)
        # While it calls a tool, an answer has a placeholder.
        chat.add_text("" if content == "..." else content, time)
        for call in as_objects(message.get("tools")):
            names = [as_text(call.get(name)) for name in ("identifier", "apiName")]
            chat.add_call(call.get("id"), ".".join(filter(None, names)), parse_embedded(call.get("arguments")), time)
        counts = {**as_object(message.get("metadata")), **as_object(message.get("usage"))}
        usage = {"input_tokens": counts.get("totalInputTokens"), "output_tokens": counts.get("totalOutputTokens")}
        model = message.get("fromModel") or message.get("model") or as_object(message.get("extra")).get("fromModel")
        chat.pieces.annotate({"model": model, "usage": {**usage}, "error": message.get("error")})
    else:
        chat.add_message(role, content, time, files=message.get("files"))


def is_typing_mind(body: JSONObject) -> bool:
    chat = as_object(first_item(as_object(body.get("data")).get("chats")))
    return has_list(chat, "messages") and not chat.keys().isdisjoint({"chatTitle", "chatID", "modelInfo"})


def read_typing_mind(body: JSONObject, location: str) -> Iterator[Chat]:
    for item in as_objects(as_object(body.get("data")).get("chats")):
        parameters = as_object(item.get("chatParams"))
        chat = Chat(
            app="typing-mind",
            location=location,
            id=as_text(first_member(item, "chatID", "id")),
            title=as_text(item.get("chatTitle")),
            model=as_text(item.get("model")),
            system=parameters.get("systemMessage"),
            parameters=omit(parameters, "systemMessage"),
            facts=omit(item, "messages", "chatID", "id", "chatTitle", "model", "chatParams"),
        )
        for message in as_objects(item.get("messages")):
            chat.pieces.add_message({**message, "ts": message.get("createdAt")}, location)
        yield chat


def is_chatbox(body: JSONObject) -> bool:
    return "chat-sessions-list" in body or any(has_list(body[name], "messages") for name in _chatbox_sessions(body))


def _chatbox_sessions(body: JSONObject) -> list[str]:
    return [name for name in body if name.startswith(_SESSION)]


def read_chatbox(body: JSONObject, location: str) -> Iterator[Chat]:
    """Yield the chats of all sessions, and of their earlier threads."""
    older = [item for item in as_objects(body.get("chat-sessions")) if has_list(item, "messages")]
    for session in [*(as_object(body[name]) for name in _chatbox_sessions(body)), *older]:
        for thread in [session, *as_objects(session.get("threads"))]:
            if as_list(thread.get("messages")):
                yield _chatbox_chat(session, thread, location)


def _chatbox_chat(session: JSONObject, thread: JSONObject, location: str) -> Chat:
    ids = dict.fromkeys(as_text(item.get("id")) for item in (session, thread))
    settings = as_object(session.get("settings"))
    chat = Chat(
        app="chatbox",
        location=location,
        id="/".join(filter(None, ids)),
        title=as_text(first_member(thread, "name") or session.get("name")),
        model=as_text(settings.get("modelId")),
        facts=omit(session, "id", "name", "messages", "threads"),
    )
    for message in as_objects(thread.get("messages")):
        time = message.get("timestamp")
        parts = as_objects(message.get("contentParts")) or [{"type": "text", "text": message.get("content")}]
        if message.get("role") != "assistant":
            chat.add_message(message.get("role"), [*parts], time)
            continue
        chat.begin_answer()
        start = len(chat.pieces.messages)
        for part in parts:
            _add_chatbox_part(chat, part, time)
        # Of a message with several answers, it is that of all of them.
        is_single = len(chat.pieces.messages) == start + 1
        usage = {"usage" if is_single else "usage_of_all_calls": message.get("usage")}
        facts = {"model": message.get("model"), "error": message.get("error"), **usage}
        chat.pieces.annotate({**facts, "finish_reason": message.get("finishReason")})
    return chat


def _add_chatbox_part(chat: Chat, part: JSONObject, time: JSONValue) -> None:
    match part.get("type"):
        case "text" | "reasoning":
            chat.add_text(part.get("text"), time, is_thought=part.get("type") == "reasoning")
        case "tool-call":
            chat.add_call(part.get("toolCallId"), part.get("toolName"), part.get("args"), time)
            if part.get("state") in ("result", "error"):
                is_failed = part.get("state") == "error"
                chat.add_result(part.get("toolCallId"), part.get("result"), time, is_failed=is_failed)
        case _:
            chat.pieces.add_block(part, time, chat.location)


def is_silly_tavern(body: JSONObject) -> bool:
    return {"user_name", "character_name", "create_date"} <= body.keys() or {"name", "is_user", "mes"} <= body.keys()


def add_silly_tavern_line(chat: Chat, line: JSONObject) -> None:
    """Add a line of a chat: its header, or a message."""
    if "mes" not in line:
        chat.title = as_text(line.get("character_name"))
        chat.facts = line
        return
    extra = as_object(line.get("extra"))
    facts = omit(line, "mes", "is_user", "name", "gen_started", "gen_finished", "extra") | omit(extra, "model")
    time = line.get("gen_finished")
    if line.get("is_user") or line.get("is_system"):
        role = "user" if line.get("is_user") else "system"
        chat.add_message(role, line.get("mes"), time, name=line.get("name"), **facts)
        return
    if not chat.pieces.messages and not line.get("gen_started"):
        # The greeting of a character is no answer.
        chat.add_message("assistant", line.get("mes"), time, name=line.get("name"))
        chat.facts = {**chat.facts, "greeting": facts}
        return
    chat.begin_answer()
    chat.add_text(extra.get("reasoning"), time, is_thought=True)
    chat.add_text(line.get("mes"), time)
    count = extra.get("token_count")
    usage: JSONObject = {"output_tokens": count} if is_number(count) else {}
    chat.pieces.annotate(
        {**omit(facts, "reasoning"), "name": line.get("name"), "model": extra.get("model"), "usage": usage}
    )


def is_big_agi(body: JSONObject) -> bool:
    chat = as_object(first_item(body.get("conversations"))) or body
    return has_list(as_object(first_item(chat.get("messages"))), "fragments")


def read_big_agi(body: JSONObject, location: str) -> Iterator[Chat]:
    for item in as_objects(body.get("conversations")) or [body]:
        chat = Chat(
            app="big-agi",
            location=location,
            id=as_text(item.get("id")),
            title=as_text(first_member(item, "userTitle", "autoTitle")),
            facts=omit(item, "id", "messages", "userTitle"),
        )
        for message in as_objects(item.get("messages")):
            _add_big_agi_message(chat, message)
        yield chat


def _add_big_agi_message(chat: Chat, message: JSONObject) -> None:
    time = message.get("created")
    parts = [as_object(fragment.get("part")) for fragment in as_objects(message.get("fragments"))]
    if message.get("role") != "assistant":
        blocks: list[JSONValue] = [
            {"type": "text", "text": part.get("text")} if part.get("pt") == "text" else part for part in parts
        ]
        chat.add_message(message.get("role"), blocks, time)
        return
    chat.begin_answer()
    for part in parts:
        _add_big_agi_part(chat, part, time)
    generator = as_object(message.get("generator"))
    metrics = as_object(generator.get("metrics"))
    counts = {"input_tokens": "TIn", "cached_tokens": "TCacheRead", "output_tokens": "TOut"}
    usage: JSONObject = {name: metrics[count] for name, count in counts.items() if metrics.get(count)}
    model = as_object(generator.get("aix")).get("mId") or generator.get("name")
    chat.pieces.annotate({"model": model, "usage": usage, "finish_reason": generator.get("tokenStopReason")})


def _add_big_agi_part(chat: Chat, part: JSONObject, time: JSONValue) -> None:
    match part.get("pt"):
        case "text":
            chat.add_text(part.get("text"), time)
        case "ma":
            chat.add_text(part.get("aText"), time, is_thought=True)
        case "tool_invocation":
            call = as_object(part.get("invocation"))
            arguments = parse_embedded(first_member(call, "args", "code"))
            chat.add_call(part.get("id"), first_member(call, "name", "type"), arguments, time)
        case "tool_response":
            result = as_object(part.get("response")).get("result")
            chat.add_result(part.get("id"), result, time, is_failed=bool(part.get("error")))
        case _:
            chat.pieces.add_block({"type": part.get("pt"), **part}, time, chat.location)
