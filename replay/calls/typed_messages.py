"""User messages that reply to an answer that has changed. Pure.

They stay in the request as they were recorded, and the step that holds them says so: with the new answer, the person
might have written something else.
"""

from bisect import bisect_left
from collections.abc import Sequence
from typing import Final

from replay.core.calls import Answer
from replay.core.context import ReplayContext
from replay.core.graph import Node
from replay.core.wording import sentence, step_list
from replay.inputs.rebuilt_inputs import message_place
from replay.state.replay_state import ReplayState
from traces.core.json_types import JSONObject, JSONValue
from traces.core.vocabulary import EdgeKind, StepType
from traces.payloads.messages import Message, ModelRequest

_KEY: Final = "typed_after_a_change"
_PARTS: Final = frozenset(
    {EdgeKind.HISTORY, EdgeKind.VALUE, EdgeKind.TEXT}
)  # of a message that a person may have typed
_LISTED: Final = 8  # messages in a detail


class TypedMessages:
    """Finds user messages that follow a changed answer."""

    def __init__(self, context: ReplayContext, state: ReplayState) -> None:
        self._context = context
        self._state = state
        self._changed_at: dict[int, int] = {}
        self._typed: dict[int, tuple[int, ...]] = {}

    def after_a_change(self, node: Node) -> tuple[int, ...]:
        """Indices of recorded user messages that follow a changed answer."""
        state = self._state
        if node.type is not StepType.MODEL or not node.input_ref:
            return ()
        places = [*self._inherited(node)]
        made: set[int] = set()  # from a changed output, and not by a person
        for link in self._context.graph.links.get(node.no, ()):
            place, _ = message_place(link.consumer_path)
            is_changed = link.producer in state.changes or link.producer in state.histories.unknowable
            if place is None or not is_changed or (link.kind is EdgeKind.HISTORY and not link.producer_path):
                continue
            places.append(place)
            made.update(() if link.kind in _PARTS else (place,))
        if not places:
            return ()
        first = self._changed_at[node.no] = min(places)
        before, start = self._typed_before(node, first)
        messages = ModelRequest(self._context.payload(node.input_ref)).messages
        later = (at for at in range(max(first + 1, start), len(messages)) if at not in made and _is_typed(messages, at))
        found = self._typed[node.no] = (*before, *later)
        return found

    def _typed_before(self, node: Node, first: int) -> tuple[tuple[int, ...], int]:
        """Indices known from the continued step, and how many messages they cover."""
        continued = self._context.graph.continuations.get(node.no)
        if continued is None or self._changed_at.get(continued.producer) != first:
            return (), 0
        place, _ = message_place(continued.consumer_path)
        shared = 0 if place is None else place + (not continued.producer_path)
        known = self._typed.get(continued.producer, ())
        return known[: bisect_left(known, shared)], shared

    def _inherited(self, node: Node) -> Sequence[int]:
        """Index of the first changed answer in the continued conversation."""
        continued = self._context.graph.continuations.get(node.no)
        if continued is None or continued.producer not in self._changed_at:
            return ()
        return (self._changed_at[continued.producer],)


def detail(typed: Sequence[int]) -> JSONObject:
    """Label detail that lists such messages."""
    return {_KEY: [*typed[:_LISTED]]}


def places(answer: Answer) -> list[int]:
    """Indices listed in an answer's detail."""
    found = answer.detail.get(_KEY)
    return [int(str(at)) for at in found] if isinstance(found, list) else []


def note(typed: Sequence[int]) -> str:
    """Explain such messages in one sentence; counted from 1."""
    which = step_list([at + 1 for at in typed]).replace("step", "message", 1)
    verbs = (
        "was typed after an answer that changes, and is"
        if len(typed) == 1
        else "were typed after an answer that changes, and are"
    )
    return sentence(f"{which} of its input {verbs} as recorded: a person might have written something else")


def _is_typed(messages: Sequence[JSONValue], at: int) -> bool:
    """True if a user message follows an answer without tool calls."""
    before = Message(messages[at - 1])
    answered = before.role == "assistant" and not before.calls
    return answered and Message(messages[at]).role == "user"
