"""Recorded payloads of a replay, read once, with read-ahead."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Final

from traces.core.json_types import JSONValue
from traces.payloads.messages import ModelRequest
from traces.payloads.parts import Joiner, MissingPart
from traces.storage import artifacts

_READ_AHEAD: Final = 200  # payloads
Expectation = Callable[[], Iterable[Iterable[str]]]


class Payloads:
    """Recorded values by reference; every artifact is read once."""

    def __init__(self) -> None:
        self._roots: dict[str, JSONValue] = {}
        self._joiner = Joiner(self._load)
        self._values: dict[str, JSONValue] = {}
        # References whose parts are all loaded.
        self._complete_refs: set[str] = set()
        self._expectation: Expectation = tuple
        self._expected: list[list[str]] = []
        self._place: dict[str, tuple[int, int]] = {}

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
        self._roots |= artifacts.load({ref for ref in refs if ref not in self._roots})
        return self._roots

    def expect(self, expectation: Expectation) -> None:
        """Announce the references that will be read, in groups and roughly in order.

        The expectation is evaluated at the first read. Each read also loads the next references of its group.
        """
        self._expectation = expectation
        self._expected, self._place = [], {}

    def _load(self, refs: Iterable[str]) -> dict[str, JSONValue]:
        """Stored values; missing and damaged ones are absent."""
        names = list(refs)
        roots = self.roots(names)
        return {ref: roots[ref] for ref in names if ref in roots}

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
        ahead = [
            upcoming for upcoming in self._expected[group][at : at + _READ_AHEAD] if upcoming not in self._complete_refs
        ]
        try:
            self._joiner.fetch(ahead)
            self._complete_refs.update(ahead)
        except MissingPart:
            self._values.update(artifacts.available(ahead))
            # The old one may contain values without their parts.
            self._joiner = Joiner(self._load)
