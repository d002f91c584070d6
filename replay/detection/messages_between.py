"""Messages between model calls other than tool results: user turns and retrieved documents. Pure."""

from collections.abc import Sequence

from replay.core.graph import Graph, Node
from replay.inputs.rebuilt_inputs import message_place
from traces.core.json_types import JSONObject, JSONValue
from traces.core.vocabulary import StepType
from traces.payloads.messages import ModelRequest


def follows_user_message(graph: Graph, model: Node, input: JSONObject) -> bool:
    """True if a user message precedes this call (no answer, tool result or retrieved document)."""
    messages = ModelRequest(input).messages
    place = _taken_over(graph, model)
    said = range(place + 1, len(messages)) if place is not None else ()
    found = document_places(graph, model, messages)
    return any(_role(messages[at]) not in {"tool", "assistant", None} and at not in found for at in said)


def continues_tool_calls(graph: Graph, model: Node, messages: Sequence[JSONValue]) -> bool:
    """True if the messages before this call belong to the tool calls of the continued step."""
    place = _taken_over(graph, model)
    if place is None or place >= len(messages):
        return False
    answer = messages[place]
    asked = isinstance(answer, dict) and bool(answer.get("tool_calls"))
    return asked or any(_role(message) == "tool" for message in messages[place + 1 :])


def document_places(graph: Graph, model: Node, messages: Sequence[JSONValue]) -> list[int]:
    """Indices of messages with documents retrieved since the continued call."""
    place = _taken_over(graph, model)
    if place is None or not continues_tool_calls(graph, model, messages):
        return []
    since = graph.continuations[model.no].producer
    links = (link for link in graph.links.get(model.no, ()) if link.producer > since)
    searched = (link for link in links if (made := graph.by_no.get(link.producer)) and made.type is StepType.RETRIEVAL)
    found = {message_place(link.consumer_path)[0] for link in searched}
    return [at for at in range(place + 1, len(messages)) if at in found and not _is_result(messages[at])]


def turn_messages(messages: Sequence[JSONValue]) -> Sequence[JSONValue]:
    """Messages since the last user message that follows an answer without tool calls."""
    for at in range(len(messages) - 1, 0, -1):
        before = messages[at - 1]
        answered = isinstance(before, dict) and before.get("role") == "assistant" and not before.get("tool_calls")
        if answered and _role(messages[at]) not in {"tool", "assistant", None}:
            return messages[at:]
    return messages


def _taken_over(graph: Graph, model: Node) -> int | None:
    """Index of the last message that a call shares with the call it continues."""
    link = graph.continuations.get(model.no)
    return None if link is None else message_place(link.consumer_path)[0]


def _role(message: JSONValue) -> JSONValue:
    return message.get("role") if isinstance(message, dict) else None


def _is_result(message: JSONValue) -> bool:
    return isinstance(message, dict) and bool(message.get("tool_call_id"))
