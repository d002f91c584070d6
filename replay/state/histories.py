"""Rebuilt conversations: the messages that later model calls continue from. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from replay.core.environment import ReplayEnvironment
from replay.core.graph import Link, Node
from replay.inputs.rebuilt_inputs import Slots
from traces.core.json_types import JSONValue
from traces.core.vocabulary import EdgeKind
from traces.payloads.messages import ModelRequest


@dataclass(frozen=True, kw_only=True)
class DivergedHistory:
    """Messages of a loop that left its recording: `base` up to the divergence, `tail` since.

    `call_ids` are recorded calls that were not made; later recorded messages contain their results.
    """

    base: Slots
    tail: list[JSONValue]
    call_ids: frozenset[str]


@dataclass
class Histories:
    """Rebuilt messages by source model step."""

    environment: ReplayEnvironment
    _plain_slots: dict[int, Slots] = field(default_factory=dict)
    _edited_slots: dict[int, Slots] = field(default_factory=dict)
    _divergences: dict[int, DivergedHistory] = field(default_factory=dict)
    # In a plan: calls whose messages contain a live answer.
    unknowable: set[int] = field(default_factory=set)

    def has(self, no: int) -> bool:
        return no in self._plain_slots or no in self._divergences or no in self.unknowable

    def record_rebuilt(self, node: Node, plain_slots: Slots, edited_slots: Slots) -> None:
        """Store a model step's messages before and after its own edits, unless they equal the recording."""
        if edited_slots and not _is_recorded(
            edited_slots, ModelRequest(self.environment.payload(node.input_ref)).messages
        ):
            self._plain_slots[node.no] = plain_slots
            self._edited_slots[node.no] = edited_slots

    def record_divergence(self, no: int, history: DivergedHistory) -> None:
        self._divergences[no] = history

    def prefix(self, links: Iterable[Link], messages: Sequence[JSONValue], *, own_edits: bool) -> Slots | None:
        """Rebuilt messages that replace the prefix which a call shares with the call it continues; None if unchanged.

        Message edits of one call remain in the history of later calls. A call that has message edits itself starts
        from the unedited messages, because its edits address those by index.
        """
        for link in links:
            if link.kind is not EdgeKind.HISTORY:
                continue
            if (history := self._divergences.get(link.producer)) is not None:
                return _diverged_prefix(history, link, messages)
            if link.producer in self._plain_slots:
                return (self._plain_slots if own_edits else self._edited_slots)[link.producer]
        return None


def _diverged_prefix(history: DivergedHistory, link: Link, messages: Sequence[JSONValue]) -> Slots:
    """Replace the recorded messages after the divergence by the new ones; later user messages stay."""
    place = link.consumer_path.removeprefix("/messages").removeprefix("/")
    end = int(place) + 1 if place.isdecimal() else len(history.base)
    slots: Slots = [*history.base, *([] for _ in range(end - len(history.base)))]
    if slots:
        slots[-1] = [*slots[-1], *history.tail]
    while len(slots) < len(messages) and _answers(messages[len(slots)], history.call_ids):
        slots.append([])
    return slots


def _is_recorded(slots: Slots, messages: Sequence[JSONValue]) -> bool:
    """True if every slot holds its recorded message; stops at the first difference."""
    if len(slots) != len(messages):
        return False
    return all(len(slot) == 1 and slot[0] == message for slot, message in zip(slots, messages, strict=True))


def _answers(message: JSONValue, call_ids: frozenset[str]) -> bool:
    return isinstance(message, dict) and message.get("tool_call_id") in call_ids
