"""User messages that reply to an answer that has changed. Pure.

They stay in the request as recorded. A note on the step says so, because the person might have replied differently to
the new answer.
"""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from replay.core.calls import NO_REPLIES, Answer, Replies
from replay.core.context import ReplayContext
from replay.core.graph import Node
from replay.core.wording import sentence, step_list
from replay.inputs.rebuilt_inputs import message_place
from replay.state.replay_state import ReplayState
from traces.core.json_access import as_list
from traces.core.json_types import JSONObject, JSONValue
from traces.core.vocabulary import EdgeKind, StepType
from traces.payloads.messages import Message

_KEY: Final = "typed_after_a_change"
_TEXT_KINDS: Final = frozenset(
    {EdgeKind.HISTORY, EdgeKind.VALUE, EdgeKind.TEXT}
    # Kinds of links into messages that a person may have typed.
)
_LIST_LIMIT: Final = 8  # messages in a detail


@dataclass(frozen=True, kw_only=True, slots=True)
class _Indices:
    """The first `count` of `items`, which the requests of one conversation share: each adds its own to them."""

    items: list[int]
    count: int

    def before(self, index: int) -> "_Indices":
        return _Indices(items=self.items, count=bisect_left(self.items, index, hi=self.count))

    def extend(self, indices: Sequence[int]) -> "_Indices":
        """These indices and higher ones."""
        # Another request already continues with its own.
        items = self.items if self.count == len(self.items) else self.items[: self.count]
        items.extend(indices)
        return _Indices(items=items, count=len(items))


class TypedMessages:
    """Finds user messages that follow a changed answer."""

    def __init__(self, context: ReplayContext, state: ReplayState) -> None:
        self._context = context
        self._state = state
        self._first_changed: dict[int, int] = {}
        self._typed_indices: dict[int, _Indices] = {}

    def after_a_change(self, node: Node) -> Replies:
        """Recorded user messages that follow a changed answer."""
        state = self._state
        if node.type is not StepType.MODEL or not node.input_ref:
            return NO_REPLIES
        listed_indices = [*self._inherited_indices(node)]
        # Messages that a changed output produced, not a person.
        output_indices: set[int] = set()
        for link in self._context.graph.links.get(node.no, ()):
            is_changed = link.producer in state.changes or link.producer in state.histories.unknowable
            if not is_changed or link.repeats_request:
                continue
            place, _ = message_place(link.consumer_path)
            if place is not None:
                listed_indices.append(place)
                output_indices.update(() if link.kind in _TEXT_KINDS else (place,))
        if not listed_indices:
            return NO_REPLIES
        first = self._first_changed[node.no] = min(listed_indices)
        known_indices, covered_count = self._typed_before(node, first)
        start = max(first + 1, covered_count)
        # The first one is the message before `start`.
        messages = self._context.recorded_messages(node, start - 1)
        new = [
            start - 1 + at
            for at in range(1, len(messages))
            if start - 1 + at not in output_indices and _is_typed(messages, at)
        ]
        indices = self._typed_indices[node.no] = known_indices.extend(new)
        return Replies(indices=tuple(indices.items[:_LIST_LIMIT]), count=indices.count) if indices.count else NO_REPLIES

    def _typed_before(self, node: Node, first: int) -> tuple[_Indices, int]:
        """Indices known from the continued step, and how many messages they cover."""
        link = self._context.graph.continuations.get(node.no)
        if link is None or self._first_changed.get(link.producer) != first:
            return _Indices(items=[], count=0), 0
        place, _ = message_place(link.consumer_path)
        shared_count = 0 if place is None else place + (not link.producer_path)
        indices = self._typed_indices.get(link.producer, _Indices(items=[], count=0))
        return indices.before(shared_count), shared_count

    def _inherited_indices(self, node: Node) -> Sequence[int]:
        """Index of the first changed answer in the continued conversation."""
        link = self._context.graph.continuations.get(node.no)
        if link is None or link.producer not in self._first_changed:
            return ()
        return (self._first_changed[link.producer],)


def detail(replies: Replies) -> JSONObject:
    """Label detail that lists such messages."""
    return {_KEY: [*replies.indices]}


def listed_indices(answer: Answer) -> list[int]:
    """Indices listed in an answer's detail."""
    listed_places = answer.detail.get(_KEY)
    return [int(str(at)) for at in as_list(listed_places)]


def note(replies: Replies) -> str:
    """Explain such messages in one sentence; counted from 1."""
    numbers = step_list([at + 1 for at in replies.indices], count=replies.count)
    messages = numbers.replace("step", "message", 1)
    verbs = "was typed after a changed answer and stays"
    if replies.count > 1:
        verbs = "were typed after a changed answer and stay"
    return sentence(f"{messages} of its input {verbs} as recorded: a person might have replied differently")


def _is_typed(messages: Sequence[JSONValue], index: int) -> bool:
    """True if a user message follows an answer without tool calls."""
    previous = Message(messages[index - 1])
    follows_answer = previous.role == "assistant" and not previous.calls
    return follows_answer and Message(messages[index]).role == "user"
