"""Measured usefulness of each kind of place. Pure.

`python -m tests.bench.places` measures this; its figures are copied here and into docs/places.md.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from replay.inspection.core.places import PlaceKind
from traces.statistics.rate_intervals import wilson


@dataclass(frozen=True, kw_only=True, slots=True)
class Accuracy:
    """Number of `places` of a kind, of those at the labelled step, and of those at most one message from it."""

    source: str
    places: int
    exact: int
    near: int

    @property
    def interval(self) -> tuple[float, float]:
        """95 % interval (Wilson) of the share that is near."""
        return wilson(self.near, self.places)


@dataclass(frozen=True, kw_only=True, slots=True)
class Frequency:
    """Number of failed and of passed runs with a place of the kind."""

    source: str
    failed: int
    failed_runs: int
    passed: int
    passed_runs: int


_AGENTRX: Final = "AgentRx, tau-bench retail"
ACCURACIES: Final[Mapping[PlaceKind, Sequence[Accuracy]]] = {
    PlaceKind.HIDDEN_ERROR: (Accuracy(source=_AGENTRX, places=11, exact=2, near=2),),
    PlaceKind.UNSUPPORTED_CLAIM: (Accuracy(source=_AGENTRX, places=3, exact=3, near=3),),
}


def _retail(failed: int, passed: int) -> Frequency:
    return Frequency(source="tau2-bench retail", failed=failed, failed_runs=314, passed=passed, passed_runs=590)


def _airline(failed: int, passed: int) -> Frequency:
    return Frequency(source="tau-bench airline", failed=failed, failed_runs=116, passed=passed, passed_runs=84)


FREQUENCIES: Final[Mapping[PlaceKind, Sequence[Frequency]]] = {
    PlaceKind.FAILED_STEP: (_retail(133, 164),),
    PlaceKind.HIDDEN_ERROR: (_airline(27, 9),),
    PlaceKind.REPEATED_CALL: (_retail(33, 31), _airline(4, 0)),
    PlaceKind.LOOP: (_retail(10, 3), _airline(1, 0)),
    PlaceKind.UNSUPPORTED_CLAIM: (_retail(32, 32), _airline(8, 3)),
    PlaceKind.WRITE_FROM_CLAIM: (_retail(3, 4), _airline(3, 0)),
}
