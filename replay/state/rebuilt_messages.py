"""A model step's messages, rebuilt at the first use. Pure."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from replay.core.graph import Link
from replay.inputs.changes import Incoming, Misses
from replay.inputs.rebuilt_inputs import Slots
from traces.core.json_access import as_text
from traces.core.json_types import JSONValue


@dataclass(frozen=True, kw_only=True)
class MessageVariants:
    """Messages of a model step before and after its own edits."""

    plain_slots: Slots
    edited_slots: Slots


# Rebuilds messages from the histories they continue, and adds links whose value is unknown.
Rebuild = Callable[[Misses | None], MessageVariants]


@dataclass(kw_only=True, eq=False)
class RebuiltMessages:
    """Messages of a model step, whose request a plan may never need.

    `incoming` and `sources` are the changes and the earlier histories that reach them when the step is visited, so that
    a later use gives the same messages.
    """

    recording: Callable[[], Sequence[JSONValue]]
    rebuild: Rebuild
    incoming: Incoming = ()
    sources: Sequence[tuple[Link, "History"]] = ()
    _variants: MessageVariants | None = field(default=None, init=False)

    def variants(self, misses: Misses | None = None) -> MessageVariants:
        """Rebuild the messages if no earlier use did."""
        self._rebuild_sources()
        if self._variants is None:
            self._variants = self.rebuild(misses)
        return self._variants

    @property
    def slots(self) -> Slots:
        """The messages after the step's own edits."""
        return self.variants().edited_slots

    def extend(self, addition: Callable[[Slots], Slots]) -> "RebuiltMessages":
        """These messages with others after them."""
        variants = self.variants()
        longer_variants = MessageVariants(
            plain_slots=addition(variants.plain_slots), edited_slots=addition(variants.edited_slots)
        )
        return RebuiltMessages(recording=self.recording, rebuild=lambda misses: longer_variants)

    @cached_property
    def are_changed(self) -> bool:
        """True unless the messages are the recorded ones, or there are none."""
        return bool(self.slots) and not _are_recorded(self.slots, self.recording())

    def _rebuild_sources(self) -> None:
        """Rebuild earlier messages of the conversation first, oldest ones first: there may be thousands."""
        pending = [self]
        while pending:
            if earlier_messages := list(pending[-1]._unbuilt_sources()):
                pending += earlier_messages
            elif (messages := pending.pop()) is not self and messages._variants is None:
                messages._variants = messages.rebuild(None)

    def _unbuilt_sources(self) -> Iterator["RebuiltMessages"]:
        if self._variants is not None:
            return
        for _, history in self.sources:
            messages = history.base if isinstance(history, DivergedHistory) else history
            if messages._variants is None:
                yield messages


@dataclass(frozen=True, kw_only=True)
class DivergedHistory:
    """Messages of a loop that left its recording: `base` up to the divergence, `tail` since.

    `call_ids` are recorded calls that were not made; later recorded messages contain their results.
    """

    base: RebuiltMessages
    tail: list[JSONValue]
    call_ids: frozenset[str]


History = RebuiltMessages | DivergedHistory


def prefix_of(
    sources: Iterable[tuple[Link, History]], messages: Sequence[JSONValue], *, own_edits: bool
) -> Slots | None:
    """Rebuilt messages that replace the prefix which a call shares with the call it continues; None if unchanged.

    Message edits of one call remain in the history of later calls. A call that has message edits itself starts
    from the unedited messages, because its edits address those by index.
    """
    for link, history in sources:
        if isinstance(history, DivergedHistory):
            return _diverged_prefix(history, link, messages)
        if history.are_changed:
            return history.variants().plain_slots if own_edits else history.slots
    return None


def _diverged_prefix(history: DivergedHistory, link: Link, messages: Sequence[JSONValue]) -> Slots:
    """Replace the recorded messages after the divergence by the new ones; later user messages stay."""
    place = link.consumer_path.removeprefix("/messages").removeprefix("/")
    base = history.base.slots
    end = int(place) + 1 if place.isdecimal() else len(base)
    slots: Slots = [*base, *([] for _ in range(end - len(base)))]
    if slots:
        slots[-1] = [*slots[-1], *history.tail]
    while len(slots) < len(messages) and _answers(messages[len(slots)], history.call_ids):
        slots.append([])
    return slots


def _are_recorded(slots: Slots, messages: Sequence[JSONValue]) -> bool:
    """True if every slot holds its recorded message; stops at the first difference."""
    if len(slots) != len(messages):
        return False
    return all(len(slot) == 1 and slot[0] == message for slot, message in zip(slots, messages, strict=True))


def _answers(message: JSONValue, call_ids: frozenset[str]) -> bool:
    return isinstance(message, dict) and as_text(message.get("tool_call_id")) in call_ids
