"""Rebuilt conversations: the messages that later model calls continue from. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from replay.core.graph import Link
from replay.state.rebuilt_messages import DivergedHistory, History, RebuiltMessages
from traces.core.vocabulary import EdgeKind


@dataclass
class Histories:
    """Messages that differ from the recording, by source model step."""

    _messages: dict[int, RebuiltMessages] = field(default_factory=dict)
    _divergences: dict[int, DivergedHistory] = field(default_factory=dict)
    # In a plan: calls whose messages contain a live answer.
    unknowable: set[int] = field(default_factory=set)

    def has(self, no: int) -> bool:
        """True if a model step's messages differ from the recording, or are unknown."""
        if no in self._divergences or no in self.unknowable:
            return True
        return no in self._messages and self._messages[no].are_changed

    def record_rebuilt(self, no: int, messages: RebuiltMessages) -> None:
        """Store a model step's messages, which may equal the recording."""
        self._messages[no] = messages

    def record_divergence(self, no: int, history: DivergedHistory) -> None:
        self._divergences[no] = history

    def release(self) -> None:
        """Drop all messages after the last step: they refer to the replay, so only a collection would free them."""
        self._messages.clear()
        self._divergences.clear()

    def sources(self, links: Iterable[Link]) -> list[tuple[Link, History]]:
        """Histories that a call continues at present, with its links to them."""
        sources: list[tuple[Link, History]] = []
        for link in links:
            if link.kind is not EdgeKind.HISTORY:
                continue
            if (history := self._divergences.get(link.producer) or self._messages.get(link.producer)) is not None:
                sources.append((link, history))
        return sources
