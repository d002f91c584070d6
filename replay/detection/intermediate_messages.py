"""Messages between model calls other than tool results: user turns and retrieved documents. Pure."""

from collections.abc import Sequence

from replay.core.graph import Graph, Node
from replay.inputs.rebuilt_inputs import message_place
from traces.core.json_access import as_object, member
from traces.core.json_types import JSONObject, JSONValue
from traces.core.vocabulary import StepType
from traces.payloads.messages import ModelRequest


def follows_user_message(graph: Graph, model: Node, input: JSONObject) -> bool:
    """True if a user message precedes this call (no answer, tool result or retrieved document)."""
    messages = ModelRequest(input).messages
    place = _last_shared_index(graph, model)
    indices = range(place + 1, len(messages)) if place is not None else ()
    document_indices = document_places(graph, model, messages)
    return any(_role(messages[at]) not in {"tool", "assistant", None} and at not in document_indices for at in indices)


def continues_tool_calls(graph: Graph, model: Node, messages: Sequence[JSONValue]) -> bool:
    """True if the messages before this call belong to the tool calls of the continued step."""
    place = _last_shared_index(graph, model)
    if place is None or place >= len(messages):
        return False
    has_calls = bool(member(messages[place], "tool_calls"))
    return has_calls or any(_role(message) == "tool" for message in messages[place + 1 :])


def document_places(graph: Graph, model: Node, messages: Sequence[JSONValue]) -> list[int]:
    """Indices of messages with documents retrieved since the continued call."""
    place = _last_shared_index(graph, model)
    if place is None or not continues_tool_calls(graph, model, messages):
        return []
    continued_no = graph.continuations[model.no].producer
    links = (link for link in graph.links.get(model.no, ()) if link.producer > continued_no)
    document_links = (
        link for link in links if (producer := graph.by_no.get(link.producer)) and producer.type is StepType.RETRIEVAL
    )
    places = {message_place(link.consumer_path)[0] for link in document_links}
    return [at for at in range(place + 1, len(messages)) if at in places and not _is_tool_result(messages[at])]


def turn_messages(messages: Sequence[JSONValue]) -> Sequence[JSONValue]:
    """Messages since the last user message that follows an answer without tool calls."""
    for index in range(len(messages) - 1, 0, -1):
        previous = as_object(messages[index - 1])
        follows_answer = previous.get("role") == "assistant" and not previous.get("tool_calls")
        if follows_answer and _role(messages[index]) not in {"tool", "assistant", None}:
            return messages[index:]
    return messages


def _last_shared_index(graph: Graph, model: Node) -> int | None:
    """Index of the last message that a call shares with the call it continues."""
    link = graph.continuations.get(model.no)
    return None if link is None else message_place(link.consumer_path)[0]


def _role(message: JSONValue) -> JSONValue:
    return member(message, "role")


def _is_tool_result(message: JSONValue) -> bool:
    return bool(member(message, "tool_call_id"))
