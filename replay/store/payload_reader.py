"""Recorded payloads of a replay, read once, with read-ahead."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Final

from traces.core.json_types import JSONValue
from traces.payloads.messages import ModelRequest
from traces.payloads.parts import Joiner, MissingPart
from traces.storage import artifacts
from traces.storage.packs import RecentPacks

# Payloads of a group: the first read, and the longest one. Each is twice as long as the one before.
_FIRST_READ: Final = 50
_LONGEST_READ: Final = 1_600
Expectation = Callable[[], Iterable[Iterable[str]]]


class _StoredValues:
    """Values with references in place of their parts.

    Not part of `Payloads`, which only a slow collection would free if its joiner referred to it.
    """

    def __init__(self) -> None:
        self._values: dict[str, JSONValue] = {}
        self._recent_packs = RecentPacks()

    def read(self, refs: Collection[str]) -> Mapping[str, JSONValue]:
        """Return all values read so far, with those of these references that are readable."""
        self._values |= artifacts.load({ref for ref in refs if ref not in self._values}, self._recent_packs)
        return self._values

    def load(self, refs: Iterable[str]) -> dict[str, JSONValue]:
        """Return readable values."""
        names = list(refs)
        values = self.read(names)
        return {ref: values[ref] for ref in names if ref in values}


class Payloads:
    """Recorded values by reference; every artifact is read once."""

    def __init__(self) -> None:
        self._stored_values = _StoredValues()
        self._joiner = Joiner(self._stored_values.load)
        self._values: dict[str, JSONValue] = {}
        # References whose parts are all loaded.
        self._complete_refs: set[str] = set()
        self._expectation: Expectation = tuple
        self._expected: list[list[str]] = []
        self._place: dict[str, tuple[int, int]] = {}
        # By group: the number of payloads that the next read loads.
        self._read_lengths: dict[int, int] = {}

    def __call__(self, ref: str) -> JSONValue:
        """Return the recorded value; raises `MissingPart`."""
        if ref not in self._values:
            self._read_ahead(ref)
        if ref not in self._values:
            self._values[ref] = self._joiner.value(ref) if ref in self._complete_refs else self._joiner.join([ref])[ref]
        return self._values[ref]

    def messages(self, ref: str, start: int) -> Sequence[JSONValue]:
        """Messages of a recorded request from index `start` on; raises `MissingPart`.

        Reading the new messages of each request of a conversation takes linear time, joining each request quadratic.
        """
        if ref not in self._values:
            self._read_ahead(ref)
        if ref in self._complete_refs and ref not in self._values:
            return self._joiner.tail(ref, "messages", start)
        return ModelRequest(self(ref)).messages[start:]

    def roots(self, refs: Collection[str]) -> Mapping[str, JSONValue]:
        """Recorded values with references in place of their parts; unreadable ones are left out."""
        return self._stored_values.read(refs)

    def expect(self, expectation: Expectation) -> None:
        """Announce the references that will be read, in groups and roughly in order.

        The expectation is evaluated at the first read. Each read also loads the next references of its group.
        """
        self._expectation = expectation
        self._expected, self._place, self._read_lengths = [], {}, {}

    def _read_ahead(self, ref: str) -> None:
        """Load a reference and the next ones of its group; missing values are skipped until they are used."""
        if not self._place:
            self._expected = [list(dict.fromkeys(ref for ref in group if ref)) for group in self._expectation()]
            self._place = {ref: (group, at) for group, refs in enumerate(self._expected) for at, ref in enumerate(refs)}
            self._expectation = tuple
        place = self._place.get(ref)
        if ref in self._complete_refs or place is None:
            return
        group, at = place
        length = self._read_lengths.get(group, _FIRST_READ)
        self._read_lengths[group] = min(2 * length, _LONGEST_READ)
        ahead = [
            upcoming for upcoming in self._expected[group][at : at + length] if upcoming not in self._complete_refs
        ]
        try:
            self._joiner.fetch(ahead)
            self._complete_refs.update(ahead)
        except MissingPart:
            self._values.update(artifacts.available(ahead))
            # The old one may contain values without their parts; what it has loaded is read again.
            self._joiner = Joiner(self._stored_values.load)
            self._complete_refs.clear()
