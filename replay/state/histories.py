"""Conversations that were rebuilt, so that later calls continue them as they are now. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from replay.core.environment import ReplayEnvironment
from replay.core.graph import Link, Node
from replay.inputs.rebuilt_inputs import Slots
from traces.core.json_types import JSONObject, JSONValue
from traces.core.vocabulary import EdgeKind


@dataclass(frozen=True, kw_only=True)
class Followed:
    """A loop that went another way: its messages up to where it left the recording, and what came then.

    `call_ids` are the recorded calls whose results stand in later recorded messages and are gone.
    """

    base: Slots
    tail: list[JSONValue]
    call_ids: frozenset[str]


@dataclass
class Histories:
    """By the number of a source model step: what its messages became."""

    environment: ReplayEnvironment
    _plain: dict[int, Slots] = field(default_factory=dict)
    _edited: dict[int, Slots] = field(default_factory=dict)
    _followed: dict[int, Followed] = field(default_factory=dict)
    unknowable: set[int] = field(default_factory=set)  # in a plan: calls whose messages hold a live answer

    def has(self, no: int) -> bool:
        return no in self._plain or no in self._followed or no in self.unknowable

    def rebuilt(self, node: Node, plain: Slots, edited: Slots) -> None:
        """Remember a model step's messages before and after its own edits, unless they are as recorded."""
        if edited and not _as_recorded(edited, _messages(self.environment.payload(node.input_ref))):
            self._plain[node.no] = plain
            self._edited[node.no] = edited

    def followed(self, no: int, went: Followed) -> None:
        self._followed[no] = went

    def prefix(self, links: Iterable[Link], messages: Sequence[JSONValue], *, own_edits: bool) -> Slots | None:
        """What stands in place of the messages that a call has from the one that it continues.

        A message edit at one call stays in the history of the calls after it; a call with edits of its own
        starts from the unedited messages, because its edits count those.
        """
        for link in links:
            if link.kind is not EdgeKind.HISTORY:
                continue
            if (went := self._followed.get(link.producer)) is not None:
                return _detour(went, link, messages)
            if link.producer in self._plain:
                return (self._plain if own_edits else self._edited)[link.producer]
        return None


def _detour(went: Followed, link: Link, messages: Sequence[JSONValue]) -> Slots:
    """The recorded messages after the point of departure give way to what came instead, but for what others said."""
    place = link.consumer_path.removeprefix("/messages").removeprefix("/")
    end = int(place) + 1 if place.isdecimal() else len(went.base)
    slots: Slots = [*went.base, *([] for _ in range(end - len(went.base)))]
    if slots:
        slots[-1] = [*slots[-1], *went.tail]
    while len(slots) < len(messages) and _answers(messages[len(slots)], went.call_ids):
        slots.append([])
    return slots


def _as_recorded(slots: Slots, messages: Sequence[JSONValue]) -> bool:
    """Ends at the first difference, which in a long conversation comes early."""
    if len(slots) != len(messages):
        return False
    return all(len(slot) == 1 and slot[0] == message for slot, message in zip(slots, messages, strict=True))


def _answers(message: JSONValue, call_ids: frozenset[str]) -> bool:
    return isinstance(message, dict) and message.get("tool_call_id") in call_ids


def _messages(input: JSONValue) -> list[JSONValue]:
    given: JSONObject = input if isinstance(input, dict) else {}
    messages = given.get("messages")
    return messages if isinstance(messages, list) else []
