"""What two forks of one run set, field by field, however many generations of forks lie between. Pure.

A later generation wins over an earlier one where both set a field of a step. Where what is set overlaps, it is cut into
ranges of steps that every setting covers as a whole, so that each can be made and taken back on its own.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Final

from replay.proofs.changes.atoms import ABSENT, Change, Slot, Value, category_of, fields_of, rank_of, title
from replay.proofs.core.types import Atom
from traces.core.canonical import digest
from traces.core.json_types import JSONObject, JSONValue

StepsOf = Callable[[JSONObject], frozenset[int]]
_GLOBS: Final = ("type", "name", "model")
_OUTPUT: Final = frozenset({"tool", "output"})  # both say what a step answers


class Uncountable(Exception):
    """Settings overlap in a way that no ranges of steps tell apart."""


@dataclass(frozen=True, kw_only=True)
class Setting:
    """One field that a fork sets on some steps; `owner` names the entry that does."""

    slot: Slot
    value: JSONValue
    owner: str

    @property
    def family(self) -> tuple[str, str]:
        return ("output", "") if self.slot.category in _OUTPUT else (self.slot.category, self.slot.field)


def settings(layers: Iterable[Sequence[JSONObject]]) -> list[Setting]:
    """Every field that the generations set, the earliest one first."""
    found: list[Setting] = []
    for at, entries in enumerate(layers):
        for slot, value in fields_of({"overrides": list[JSONValue](entries)}).values():
            found.append(Setting(slot=slot, value=value, owner=digest([at, slot.key])))
    return found


def between(
    base: Sequence[Setting], candidate: Sequence[Setting], steps_of: StepsOf
) -> tuple[list[Change], list[JSONObject]]:
    """The changes, and the overrides that both have; raises `Uncountable`."""
    sides = _disjoint(base, candidate, steps_of)
    left, right = ({each.slot.key: each for each in side} for side in sides)
    changes: dict[str, Change] = {}
    common: list[JSONObject] = []
    for key in dict.fromkeys([*left, *right]):
        before, after = left.get(key), right.get(key)
        slot = (before or right[key]).slot
        if before is not None and after is not None and before.value == after.value:
            common.append(slot.entry(after.value))
            continue
        owners = digest([None if each is None else each.owner for each in (before, after)])
        known = changes.get(owners)
        if known is not None:
            slots = (*known.on_base, slot)
            changes[owners] = replace(known, on_base=slots, on_candidate=slots)
        else:
            changes[owners] = _change(slot, before, after, len(changes))
    return list(changes.values()), common


def _change(slot: Slot, before: Setting | None, after: Setting | None, at: int) -> Change:
    values: tuple[Value, Value] = (ABSENT if before is None else before.value, ABSENT if after is None else after.value)
    atom = Atom(
        id=f"{slot.category}-{slot.key[:10]}",
        category=category_of(slot),
        title=title(slot, *values),
        rank=rank_of(slot, at),
    )
    return Change(atom=atom, on_base=(slot,), on_candidate=(slot,), base=values[0], candidate=values[1])


def _disjoint(
    base: Sequence[Setting], candidate: Sequence[Setting], steps_of: StepsOf
) -> tuple[list[Setting], list[Setting]]:
    """Both sides with the settings that overlap cut into the same ranges of steps."""
    families = dict.fromkeys(each.family for each in (*base, *candidate))
    sides: tuple[list[Setting], list[Setting]] = ([], [])
    for family in families:
        own = [[each for each in side if each.family == family] for side in (base, candidate)]
        cut = _cut(own, steps_of) if _overlap([*own[0], *own[1]], steps_of) else own
        for side, found in zip(sides, cut, strict=True):
            side += found
    return sides


def _overlap(found: Sequence[Setting], steps_of: StepsOf) -> bool:
    """Whether a step is set by two settings that are not for the very same steps, or twice on one side."""
    slots = {each.slot.key: each.slot for each in found}
    taken: set[int] = set()
    for slot in slots.values():
        steps = steps_of(slot.match)
        if taken & steps:
            return True
        taken |= steps
    return False


def _cut(sides: Sequence[Sequence[Setting]], steps_of: StepsOf) -> list[list[Setting]]:
    every = [each for side in sides for each in side]
    globs = {digest([each.slot.match.get(name) for name in _GLOBS]) for each in every if "step" not in each.slot.match}
    if len(globs) > 1 or len({each.slot.category for each in every}) > 1:
        raise Uncountable
    points = sorted({point for each in every for point in _range(each.slot.match)})
    cells = list(pairwise(points))
    return [_winners(side, cells, steps_of) for side in sides]


def _winners(side: Sequence[Setting], cells: Sequence[tuple[int, int]], steps_of: StepsOf) -> list[Setting]:
    """For every range the last setting that covers it."""
    found: list[Setting] = []
    for start, end in cells:
        last = next((each for each in reversed(side) if _covers(each.slot.match, start, end)), None)
        if last is None or (end < _END and not steps_of(last.slot.match) & {*range(start, end)}):
            continue
        found.append(replace(last, slot=replace(last.slot, match=_within(last.slot.match, start, end))))
    return found


_END: Final = 1 << 31


def _range(match: JSONObject) -> tuple[int, int]:
    step: Any = match.get("step")
    if step is not None:
        return int(step), int(step) + 1
    since: Any = match.get("since") or 1
    before: Any = match.get("before") or _END
    return int(since), int(before)


def _covers(match: JSONObject, start: int, end: int) -> bool:
    first, last = _range(match)
    return first <= start and end <= last


def _within(match: JSONObject, start: int, end: int) -> JSONObject:
    """The same steps within a range; of a single step always the step itself, so that both sides say it alike."""
    if end == start + 1:
        return {"step": start}
    kept: JSONObject = {name: match[name] for name in _GLOBS if match.get(name) is not None}
    return {**kept, **({"since": start} if start > 1 else {}), **({"before": end} if end < _END else {})}
