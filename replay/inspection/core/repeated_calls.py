"""Calls that are made again with the same input, and rounds of calls that go in circles. Pure."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Final

from replay.inspection.core.places import CALLS, Place, PlaceKind, StepContent

OFTEN: Final = 3  # equal calls of one run that are worth a look
_ROUNDS: Final = 3  # equal rounds that are a loop
_LONGEST: Final = 8  # calls of one round
_SHOWN: Final = 8


def repeated_calls(steps: Sequence[StepContent]) -> Iterator[Place]:
    """Calls made often with the same input, outside of loops; the place is the first repetition."""
    calls = _calls(steps)
    circling = {step.no for start, length, count in _rounds(calls) for step in calls[start : start + length * count]}
    groups: dict[str, list[StepContent]] = defaultdict(list)
    for step in calls:
        groups[step.signature].append(step)
    for group in groups.values():
        if len(group) >= OFTEN and not all(step.no in circling for step in group):
            yield Place(
                kind=PlaceKind.REPEATED_CALL,
                step=group[1].no,
                title=f"{group[0].name} was called {len(group)} times with the same input",
                text=_results(group),
                related=tuple(step.no for step in group if step is not group[1])[:_SHOWN],
            )


def loops(steps: Sequence[StepContent]) -> Iterator[Place]:
    """Rounds of the same calls in the same order, one after the other; the place is the first repetition."""
    calls = _calls(steps)
    for start, length, count in _rounds(calls):
        names = ", ".join(step.name for step in calls[start : start + length])
        rounds = [calls[start + length * at].no for at in range(count)]
        yield Place(
            kind=PlaceKind.LOOP,
            step=rounds[1],
            title=f"{count} equal rounds of calls in a row",
            text=names,
            related=tuple(no for no in rounds if no != rounds[1])[:_SHOWN],
        )


def _calls(steps: Sequence[StepContent]) -> list[StepContent]:
    return [step for step in steps if step.type in CALLS and step.signature]


def _rounds(calls: Sequence[StepContent]) -> Iterator[tuple[int, int, int]]:
    """Where rounds begin, how many calls one has, and how many there are; the shortest round that fits."""
    keys = [step.signature for step in calls]
    at = 0
    while at < len(keys):
        length, count = next(
            ((length, count) for length in range(1, _LONGEST + 1) if (count := _count(keys, at, length)) >= _ROUNDS),
            (1, 1),
        )
        if count >= _ROUNDS:
            yield at, length, count
        at += length * count


def _count(keys: Sequence[str], at: int, length: int) -> int:
    """How often the calls from a place on are made again right after themselves."""
    count = 1
    while keys[at + count * length : at + (count + 1) * length] == keys[at : at + length] and length:
        count += 1
        if at + count * length >= len(keys):
            break
    return count


def _results(group: Sequence[StepContent]) -> str:
    same = all(step.output == group[0].output for step in group)
    return "Every call gave the same result." if same else "The results differ."
