"""Messages between model calls other than tool results: user turns and retrieved documents. Pure."""

from collections.abc import Sequence

from replay.core.context import ReplayContext
from replay.core.graph import Graph, Node
from replay.inputs.rebuilt_inputs import message_place
from traces.core.json_access import as_object, member
from traces.core.json_types import JSONValue
from traces.core.vocabulary import StepType


def follows_user_message(context: ReplayContext, model: Node) -> bool:
    """True if a user message precedes this call (no answer, tool result or retrieved document)."""
    place = _last_shared_index(context.graph, model)
    if place is None:
        return False
    # Only the end of a request, which may be long.
    messages = context.recorded_messages(model, place)
    indices = [at for at in range(1, len(messages)) if _role(messages[at]) not in {"tool", "assistant", None}]
    if not indices:
        return False
    document_indices = _document_places(context.graph, model, place, messages)
    return any(place + at not in document_indices for at in indices)


def continues_tool_calls(graph: Graph, model: Node, messages: Sequence[JSONValue]) -> bool:
    """True if the messages before this call belong to the tool calls of the continued step."""
    place = _last_shared_index(graph, model)
    return place is not None and _answer_calls(messages[place:])


def document_places(graph: Graph, model: Node, messages: Sequence[JSONValue]) -> list[int]:
    """Indices of messages with documents retrieved since the continued call."""
    place = _last_shared_index(graph, model)
    return [] if place is None else _document_places(graph, model, place, messages[place:])


def _document_places(graph: Graph, model: Node, place: int, messages: Sequence[JSONValue]) -> list[int]:
    """Indices of messages with documents, of `messages` from index `place` on."""
    if not _answer_calls(messages):
        return []
    continued_no = graph.continuations[model.no].producer
    links = (link for link in graph.links.get(model.no, ()) if link.producer > continued_no)
    document_links = (
        link for link in links if (producer := graph.by_no.get(link.producer)) and producer.type is StepType.RETRIEVAL
    )
    places = {message_place(link.consumer_path)[0] for link in document_links}
    return [place + at for at in range(1, len(messages)) if place + at in places and not _is_tool_result(messages[at])]


def _answer_calls(messages: Sequence[JSONValue]) -> bool:
    """True if the first message requests tool calls, or a later one has the result of one."""
    if not messages:
        return False
    return bool(member(messages[0], "tool_calls")) or any(_role(message) == "tool" for message in messages[1:])


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
