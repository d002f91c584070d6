"""Calls that are repeated with the same input, and loops of calls. Pure."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Final

from replay.inspection.core.places import CALLS, Place, PlaceKind, StepContent

MIN_REPEATS: Final = 3  # equal calls of one run
_MIN_ROUNDS: Final = 3  # equal rounds of a loop
_MAX_ROUND_LENGTH: Final = 8  # calls
_MAX_STEPS: Final = 8


def repeated_calls(steps: Sequence[StepContent]) -> Iterator[Place]:
    """Calls made often with the same input, outside of loops; the place is the first repetition."""
    calls = _calls(steps)
    circling = {step.no for start, length, count in _rounds(calls) for step in calls[start : start + length * count]}
    groups: dict[str, list[StepContent]] = defaultdict(list)
    for step in calls:
        groups[step.signature].append(step)
    for group in groups.values():
        if len(group) >= MIN_REPEATS and not all(step.no in circling for step in group):
            yield Place(
                kind=PlaceKind.REPEATED_CALL,
                step=group[1].no,
                title=f"{group[0].name} was called {len(group)} times with the same input",
                text=_results(group),
                related=tuple(step.no for step in group if step is not group[1])[:_MAX_STEPS],
            )


def loops(steps: Sequence[StepContent]) -> Iterator[Place]:
    """Consecutive rounds of the same calls in the same order; the place is the first repetition."""
    calls = _calls(steps)
    for start, length, count in _rounds(calls):
        names = ", ".join(step.name for step in calls[start : start + length])
        rounds = [calls[start + length * at].no for at in range(count)]
        yield Place(
            kind=PlaceKind.LOOP,
            step=rounds[1],
            title=f"{count} equal rounds of calls in a row",
            text=names,
            related=tuple(no for no in rounds if no != rounds[1])[:_MAX_STEPS],
        )


def _calls(steps: Sequence[StepContent]) -> list[StepContent]:
    return [step for step in steps if step.type in CALLS and step.signature]


def _rounds(calls: Sequence[StepContent]) -> Iterator[tuple[int, int, int]]:
    """Start, length and count of consecutive equal rounds, by the shortest round that repeats."""
    keys = [step.signature for step in calls]
    at = 0
    while at < len(keys):
        length, count = next(
            (
                (length, count)
                for length in range(1, _MAX_ROUND_LENGTH + 1)
                if (count := _count(keys, at, length)) >= _MIN_ROUNDS
            ),
            (1, 1),
        )
        if count >= _MIN_ROUNDS:
            yield at, length, count
        at += length * count


def _count(keys: Sequence[str], at: int, length: int) -> int:
    """How often the calls from an index on are repeated directly after themselves."""
    count = 1
    while keys[at + count * length : at + (count + 1) * length] == keys[at : at + length] and length:
        count += 1
        if at + count * length >= len(keys):
            break
    return count


def _results(group: Sequence[StepContent]) -> str:
    same = all(step.output == group[0].output for step in group)
    return "Every call gave the same result." if same else "The results differ."
