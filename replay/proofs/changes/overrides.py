"""A root as a change that can be made and taken back, or listed with the reason why it cannot. Pure."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

import pydantic

from diffing.attribution.difference_origins import Origin
from diffing.attribution.unexplained_changes import Atom as Root
from diffing.attribution.verdict import atom_phrase
from diffing.compare.comparison import Pair
from diffing.compare.references import step_ref
from diffing.report.build import Examined
from replay.overrides.profile import Override
from replay.proofs.changes.atoms import Change, Slot, Value
from replay.proofs.core.types import Atom
from traces.core.json_types import JSONObject, JSONValue
from traces.core.vocabulary import EdgeKind, StepType

_SIDES: Final = ("base", "candidate")
Load = Callable[[Collection[str]], Mapping[str, JSONValue]]
RUN_BOTH: Final = "to test it, run the agent itself with and without it, and record both"


@dataclass
class Found:
    """Two recordings side by side; `load` gives payloads that the comparison did not open."""

    seen: Examined
    load: Load
    _loaded: dict[str, JSONValue] = field(default_factory=dict)

    @property
    def pairs(self) -> Sequence[Pair]:
        return self.seen.comparison.pairs

    def value(self, ref: str) -> JSONValue:
        if not ref or ref in self.seen.payloads:
            return self.seen.payloads.get(ref)
        if ref not in self._loaded:
            self._loaded |= self.load([ref])
        return self._loaded.get(ref)

    def inputs(self, pair: Pair) -> tuple[JSONValue, JSONValue]:
        left, right = (self.value(step.input_ref) if step is not None else None for step in (pair.base, pair.candidate))
        return left, right

    def outputs(self, pair: Pair) -> tuple[JSONValue, JSONValue]:
        left, right = (
            self.value(step.output_ref) if step is not None else None for step in (pair.base, pair.candidate)
        )
        return left, right

    @cached_property
    def continued(self) -> dict[str, dict[int, int]]:
        """By side: the number of the step whose messages a model step goes on, by its own."""
        found: dict[str, dict[int, int]] = {"base": {}, "candidate": {}}
        for travels in self.seen.flow.incoming.values():
            for travel in travels:
                if travel.kind is EdgeKind.HISTORY:
                    ends = [self.pairs[place] for place in (travel.consumer, travel.producer)]
                    steps = [pair.base if travel.side == "base" else pair.candidate for pair in ends]
                    numbers = [step.sequence_no for step in steps if step is not None]
                    found[travel.side].setdefault(numbers[0], numbers[1])
        return found

    def entry(self, pair: Pair, side: int, index: int) -> int | None:
        """The step of a side at which a message of a pair's request first stands.

        Where one run alone goes on with a conversation in between, its message was given before the pair.
        """
        step = number(pair, side)
        message = self._message(step, side, index)
        while step is not None and message is not None:
            earlier = self.continued[_SIDES[side]].get(step)
            if earlier is None or self._is_paired(earlier, side) or self._message(earlier, side, index) != message:
                break
            step = earlier
        return step

    def _is_paired(self, number: int, side: int) -> bool:
        return self.pairs[self.seen.comparison.places[side][number]].sides is not None

    def _message(self, number: int | None, side: int, index: int) -> JSONValue:
        """A message of a model step's request; None where it has none there."""
        if number is None:
            return None
        pair = self.pairs[self.seen.comparison.places[side][number]]
        messages = obj(self.inputs(pair)[side]).get("messages")
        return messages[index] if isinstance(messages, list) and 0 <= index < len(messages) else None

    def beginnings(self, places: Sequence[int]) -> list[int]:
        """Of these model steps those that go on the messages of no other one: an edit stays in the history."""
        known = set(places)
        going_on = {
            travel.consumer
            for place in places
            for travel in self.seen.flow.incoming.get(place, ())
            if travel.kind is EdgeKind.HISTORY and travel.producer in known
        }
        return [place for place in places if place not in going_on]


def set_to(
    found: Found,
    root: Root,
    category: str,
    field: str,
    base: JSONValue,
    candidate: JSONValue,
    *,
    title: str = "",
) -> Change:
    """One value in the place of another."""
    slots = [_slots(found, root.places, category, field, side) for side in (0, 1)]
    values: tuple[Value, Value] = (base, candidate)
    if not all(_is_taken(slot, value) for side in slots for slot in side for value in (base, candidate)):
        return untestable(root, "an override does not take such a value", title=title, name=field)
    return Change(
        atom=atom_of(root, title=title, name=field),
        on_base=slots[0],
        on_candidate=slots[1],
        base=values[0],
        candidate=values[1],
    )


def made_by(root: Root, made: Sequence[JSONObject], undone: Sequence[JSONObject], *, name: str = "") -> Change:
    """Whole overrides that make it on the base and take it back from the candidate."""
    if not made or not undone or not all(_is_valid(entry) for entry in (*made, *undone)):
        return untestable(root, "an override does not take such values", name=name)
    slots = [tuple(_sites(entries)) for entries in (made, undone)]
    return Change(
        atom=atom_of(root, name=name), on_base=slots[0], on_candidate=slots[1], made=tuple(made), undone=tuple(undone)
    )


def untestable(root: Root, why: str, *, title: str = "", name: str = "") -> Change:
    return Change(atom=atom_of(root, title=title, name=name, why=why))


def atom_of(root: Root, *, title: str = "", name: str = "", why: str = "") -> Atom:
    pair = root.pair
    kind = root.facet.kind if root.facet is not None else "step"
    count = len(root.places)
    also = f" and {count - 1} more" if count > 1 else ""
    return Atom(
        id=f"{kind.replace(' ', '-')}-{pair.place}" + (f"-{name}" if name else ""),
        category=root.category,
        title=title or atom_phrase(root),
        description=f"At step {pair.step.sequence_no} ({pair.step.type}){also}.",
        why_not=why,
        follows=root.origin is Origin.OPEN,
        base=step_ref(pair.base),
        candidate=step_ref(pair.candidate),
    )


def number(pair: Pair, side: int) -> int | None:
    step = pair.candidate if side else pair.base
    return None if step is None else step.sequence_no


def obj(value: JSONValue) -> JSONObject:
    return value if isinstance(value, dict) else {}


def _sites(entries: Iterable[JSONObject]) -> Iterator[Slot]:
    """Where overrides apply."""
    for entry in entries:
        for name in entry.keys() - {"match"}:
            yield Slot(match=obj(entry["match"]), category=name)


def _slots(found: Found, places: Sequence[int], category: str, field: str, side: int) -> tuple[Slot, ...]:
    """The steps on one side: by their type where all model calls are meant, so that new ones are too."""
    models = [pair.place for pair in found.pairs if pair.step.type == StepType.MODEL]
    if category in {"prompt", "model"} and field != "*" and set(models) <= set(places):
        return (Slot(match={"type": "model"}, category=category, field=field),)
    numbers = (number(found.pairs[place], side) for place in places)
    return tuple(Slot(match={"step": no}, category=category, field=field) for no in numbers if no is not None)


def _is_taken(slot: Slot, value: JSONValue) -> bool:
    return _is_valid(slot.entry(value))


def _is_valid(entry: JSONObject) -> bool:
    try:
        Override.model_validate(entry)
    except pydantic.ValidationError:
        return False
    return True
