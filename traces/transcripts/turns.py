"""Build the turns of a transcript from messages and outputs, whatever their source. Pure."""

from collections.abc import Callable, Iterator
from typing import Final

from traces.core.json_access import as_list, as_object, as_objects, as_string, text_or_json
from traces.core.json_types import JSONObject, JSONValue
from traces.payloads.messages import Documents, Message, ModelAnswer, ModelRequest
from traces.transcripts.schemas import Excerpt, Turn, TurnCall, TurnDocument

MAX_DOCUMENTS: Final = 50
_DOCUMENT_LENGTH: Final = 200
_TEXT_TYPES: Final = frozenset({"", "text"})
EMPTY: Final = Excerpt(text="", length=0)
Cut = Callable[[str], Excerpt]


def cut_to(length: int) -> Cut:
    """Return a function that cuts texts to their first `length` characters."""
    return lambda text: Excerpt(text=text[:length], length=len(text))


def message_turn(value: JSONValue, cut: Cut) -> Turn:
    """Return the turn of a message."""
    message = Message(value)
    blocks = list(_blocks(message.content))
    texts = [text for kind, text in blocks if kind in _TEXT_TYPES and text]
    thinking = [text for kind, text in blocks if kind == "thinking" and text]
    block_types = [kind for kind, _ in blocks if kind not in _TEXT_TYPES and kind != "thinking"]
    return _turn(
        role=message.role,
        name=as_string(as_object(value).get("name")),
        text=cut("\n\n".join(texts)),
        thinking=cut("\n\n".join(thinking)),
        calls=[_call(call, cut) for call in message.calls],
        blocks=block_types,
    )


def output_turn(value: JSONValue, cut: Cut) -> Turn:
    """Return the turn of a step's output: its message, its documents, its text, or its JSON."""
    if message := ModelAnswer(value).message:
        return message_turn(message, cut)
    if Documents(value).count is not None:
        return _turn(documents=list(_documents(value)))
    messages = ModelRequest(value).messages
    if messages:
        return _turn(role="prompt", text=cut("\n\n".join(Message(message).text for message in messages)))
    text = sole_text(value)
    return _turn(text=cut(text_or_json(value) if text is None else text), is_json=text is None)


def input_turns(value: JSONValue, cut: Cut) -> list[Turn]:
    """Return the turns of a container's input: its messages, or its task."""
    if messages := ModelRequest(value).messages:
        return [message_turn(message, cut) for message in messages]
    if value is None:
        return []
    turn = output_turn(value, cut)
    return [turn.model_copy(update={"role": turn.role or "user"})]


def sole_text(value: JSONValue) -> str | None:
    """Return the text of a value that consists of one text; None for any other."""
    if isinstance(value, dict) and len(value) == 1:
        (value,) = value.values()
    return value if isinstance(value, str) else None


def answer_text(output: JSONValue) -> str:
    """Return the text of an output, to compare it with that of a message."""
    if message := ModelAnswer(output).message:
        return Message(message).text.strip()
    texts = (Message(message).text for message in ModelRequest(output).messages)
    return "\n\n".join(texts).strip() or (sole_text(output) or "").strip()


def _blocks(content: JSONValue) -> Iterator[tuple[str, str]]:
    """Yield the type and the text of each part of a message's content."""
    if content is None:
        return
    if not isinstance(content, list):
        yield "text", text_or_json(content)
    for block in as_list(content):
        part = as_object(block)
        kind = as_string(part.get("type"))
        if isinstance(block, str):
            yield "text", block
        elif kind == "thinking":
            yield kind, as_string(part.get("thinking")) or as_string(part.get("text"))
        elif isinstance(part.get("text"), str):
            yield "text", str(part["text"])
        else:
            yield kind or "content", ""


def _call(call: JSONObject, cut: Cut) -> TurnCall:
    arguments = call.get("arguments")
    return TurnCall(
        id=as_string(call.get("id")),
        name=as_string(call.get("name")),
        arguments=cut("" if arguments is None else text_or_json(arguments)),
    )


def _documents(value: JSONValue) -> Iterator[TurnDocument]:
    cut = cut_to(_DOCUMENT_LENGTH)
    for item in as_objects(as_object(value).get("documents"))[:MAX_DOCUMENTS]:
        metadata = as_object(item.get("metadata"))
        titles = (item.get("title"), metadata.get("title"), metadata.get("source"), item.get("id"))
        yield TurnDocument(title=next(filter(None, map(as_string, titles)), ""), text=cut(Message(item).text))


def _turn(
    *,
    role: str = "",
    name: str = "",
    text: Excerpt = EMPTY,
    is_json: bool = False,
    thinking: Excerpt = EMPTY,
    calls: list[TurnCall] | None = None,
    blocks: list[str] | None = None,
    documents: list[TurnDocument] | None = None,
) -> Turn:
    return Turn(
        role=role,
        name=name,
        text=text,
        is_json=is_json,
        thinking=thinking,
        calls=calls or [],
        blocks=blocks or [],
        documents=documents or [],
    )
