"""Recorded payloads of a replay, read once, with read-ahead."""

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Final

from traces.core.json_types import JSONValue
from traces.payloads.parts import Joiner, MissingPart
from traces.storage import artifacts

_AHEAD: Final = 200
Announced = Callable[[], Iterable[Iterable[str]]]


class Payloads:
    """Recorded values by reference; every artifact is read once."""

    def __init__(self) -> None:
        self._joiner = Joiner(artifacts.load)
        self._values: dict[str, JSONValue] = {}
        self._roots: dict[str, JSONValue] = {}
        self._announced: Announced = tuple
        self._expected: list[list[str]] = []
        self._place: dict[str, tuple[int, int]] = {}

    def __call__(self, ref: str) -> JSONValue:
        """Raises `MissingPart`."""
        if ref not in self._values:
            self._read_ahead(ref)
        if ref not in self._values:
            self._values.update(self._joiner.join([ref]))
        return self._values[ref]

    def roots(self, refs: Collection[str]) -> Mapping[str, JSONValue]:
        """Recorded values with references in place of their parts; missing ones are absent."""
        self._roots |= artifacts.load({ref for ref in refs if ref not in self._roots})
        return self._roots

    def expect(self, announced: Announced) -> None:
        """Values by group that will be wanted in about this order, worked out when the first one is.

        Wanting one reads the next few of its group in the same queries.
        """
        self._announced = announced
        self._expected, self._place = [], {}

    def _read_ahead(self, ref: str) -> None:
        """What is missing is left out: it matters only where it is used."""
        if not self._place:
            self._expected = [list(dict.fromkeys(ref for ref in group if ref)) for group in self._announced()]
            self._place = {ref: (group, at) for group, refs in enumerate(self._expected) for at, ref in enumerate(refs)}
            self._announced = tuple
        if (place := self._place.get(ref)) is not None:
            group, at = place
            ahead = [one for one in self._expected[group][at : at + _AHEAD] if one not in self._values]
            try:
                self._values.update(self._joiner.join(ahead))
            except MissingPart:
                self._values.update(artifacts.available(ahead))
