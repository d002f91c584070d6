"""Inspection of one run: every kind of place, in the order of the steps. Pure."""

from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import Final

from replay.inspection.core.failures import failed_steps, hidden_errors
from replay.inspection.core.places import Place, PlaceKind, StepContent
from replay.inspection.core.repeated_calls import loops, repeated_calls
from replay.inspection.core.unsupported_claims import claims

_ORDER: Final = {kind: at for at, kind in enumerate(PlaceKind)}


def inspect(steps: Sequence[StepContent], *, is_write: Callable[[str], bool]) -> list[Place]:
    """Places worth a look that the recording alone shows."""
    places = chain(
        failed_steps(steps), hidden_errors(steps), repeated_calls(steps), loops(steps), claims(steps, is_write)
    )
    return in_order(places)


def in_order(places: Iterable[Place]) -> list[Place]:
    """Sort places: those of the whole run first, then by step."""
    return sorted(places, key=lambda place: (place.step or 0, _ORDER[place.kind]))
