"""Field-by-field differences between the overrides of two forks of one run, over any number of generations. Pure.

A later generation wins over an earlier one if both set a field of a step. Overlapping settings are cut into ranges of
steps that every setting covers completely, so that each can be applied and reverted independently.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Final

from replay.proofs.changes.atoms import ABSENT, Change, Slot, Value, category_of, fields_of, rank_of
from replay.proofs.changes.titles import title
from replay.proofs.core.types import Atom
from traces.core.canonical import digest
from traces.core.json_types import JSONObject, JSONValue

StepsOf = Callable[[JSONObject], frozenset[int]]
_GLOBS: Final = ("type", "name", "model")
# Both set the answer of a step.
_OUTPUT: Final = frozenset({"tool", "output"})


class InseparableSettings(Exception):
    """Settings overlap in a way that no ranges of steps can separate."""


@dataclass(frozen=True, kw_only=True)
class Setting:
    """One field that a fork sets on some steps; `owner` identifies the entry that sets it."""

    slot: Slot
    value: JSONValue
    owner: str

    @property
    def family(self) -> tuple[str, str]:
        return ("output", "") if self.slot.category in _OUTPUT else (self.slot.category, self.slot.field)


def settings(layers: Iterable[Sequence[JSONObject]]) -> list[Setting]:
    """Every field that the generations set, the earliest generation first."""
    return [
        Setting(slot=slot, value=value, owner=digest([generation, slot.key]))
        for generation, entries in enumerate(layers)
        for slot, value in fields_of({"overrides": list[JSONValue](entries)}).values()
    ]


def changes_between(
    base: Sequence[Setting], candidate: Sequence[Setting], steps_of: StepsOf
) -> tuple[list[Change], list[JSONObject]]:
    """The changes, and the overrides that both sides have; raises `InseparableSettings`."""
    sides = _disjoint(base, candidate, steps_of)
    left, right = ({setting.slot.key: setting for setting in side} for side in sides)
    changes: dict[str, Change] = {}
    common: list[JSONObject] = []
    for key in dict.fromkeys([*left, *right]):
        before, after = left.get(key), right.get(key)
        slot = (before or right[key]).slot
        if before is not None and after is not None and before.value == after.value:
            common.append(slot.entry(after.value))
            continue
        owners = digest([None if setting is None else setting.owner for setting in (before, after)])
        change = changes.get(owners)
        if change is not None:
            slots = (*change.on_base, slot)
            changes[owners] = replace(change, on_base=slots, on_candidate=slots)
        else:
            changes[owners] = _change(slot, before, after, len(changes))
    return list(changes.values()), common


def _change(slot: Slot, before: Setting | None, after: Setting | None, index: int) -> Change:
    values: tuple[Value, Value] = (ABSENT if before is None else before.value, ABSENT if after is None else after.value)
    atom = Atom(
        id=f"{slot.category}-{slot.key[:10]}",
        category=category_of(slot),
        title=title(slot, *values),
        rank=rank_of(slot, index),
    )
    return Change(atom=atom, on_base=(slot,), on_candidate=(slot,), base=values[0], candidate=values[1])


def _disjoint(
    base: Sequence[Setting], candidate: Sequence[Setting], steps_of: StepsOf
) -> tuple[list[Setting], list[Setting]]:
    """Both sides, with overlapping settings cut into the same ranges of steps."""
    families = dict.fromkeys(setting.family for setting in (*base, *candidate))
    sides: tuple[list[Setting], list[Setting]] = ([], [])
    for family in families:
        own = [[setting for setting in side if setting.family == family] for side in (base, candidate)]
        pieces = _cut(own, steps_of) if _overlap([*own[0], *own[1]], steps_of) else own
        for side, side_pieces in zip(sides, pieces, strict=True):
            side += side_pieces
    return sides


def _overlap(members: Sequence[Setting], steps_of: StepsOf) -> bool:
    """Return whether settings with different matches set the same step."""
    slots = {setting.slot.key: setting.slot for setting in members}
    covered_steps: set[int] = set()
    for slot in slots.values():
        steps = steps_of(slot.match)
        if covered_steps & steps:
            return True
        covered_steps |= steps
    return False


def _cut(sides: Sequence[Sequence[Setting]], steps_of: StepsOf) -> list[list[Setting]]:
    members = [setting for side in sides for setting in side]
    matches = [setting.slot.match for setting in members]
    globs = {digest([match.get(name) for name in _GLOBS]) for match in matches if "step" not in match}
    if len(globs) > 1 or len({setting.slot.category for setting in members}) > 1:
        raise InseparableSettings
    points = sorted({point for match in matches for point in _range(match)})
    cells = list(pairwise(points))
    return [_winners(side, cells, steps_of) for side in sides]


def _winners(side: Sequence[Setting], cells: Sequence[tuple[int, int]], steps_of: StepsOf) -> list[Setting]:
    """For every range, the last setting that covers it."""
    winners: list[Setting] = []
    for start, end in cells:
        last = next((setting for setting in reversed(side) if _covers(setting.slot.match, start, end)), None)
        if last is None or (end < _END and not steps_of(last.slot.match) & {*range(start, end)}):
            continue
        winners.append(replace(last, slot=replace(last.slot, match=_narrow(last.slot.match, start, end))))
    return winners


_END: Final = 1 << 31


def _range(match: JSONObject) -> tuple[int, int]:
    step: Any = match.get("step")
    if step is not None:
        return int(step), int(step) + 1
    start: Any = match.get("since") or 1
    end: Any = match.get("before") or _END
    return int(start), int(end)


def _covers(match: JSONObject, start: int, end: int) -> bool:
    first, last = _range(match)
    return first <= start and end <= last


def _narrow(match: JSONObject, start: int, end: int) -> JSONObject:
    """Narrow a match to a range; a single step is matched by number, so that both sides have the same key."""
    if end == start + 1:
        return {"step": start}
    globs: JSONObject = {name: match[name] for name in _GLOBS if match.get(name) is not None}
    return {**globs, **({"since": start} if start > 1 else {}), **({"before": end} if end < _END else {})}
