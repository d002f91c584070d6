"""A root of the differences as a change: overrides that apply and revert it, or the reason why there are none. Pure."""

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
from diffing.report.examination import Examination
from diffing.sentences.atoms.obstacles import Obstacle, obstacle
from diffing.sentences.atoms.titles import step_location
from diffing.sequences.word_hunks import hunks, spaced_words
from replay.overrides.profile import Override
from replay.proofs.changes.atoms import Change, Slot, Value
from replay.proofs.core.types import Atom
from traces.core.json_access import as_object
from traces.core.json_types import JSONObject, JSONValue
from traces.core.json_walk import scalars
from traces.core.vocabulary import EdgeKind, StepType
from traces.payloads.messages import ModelRequest

_SIDES: Final = ("base", "candidate")
Load = Callable[[Collection[str]], Mapping[str, JSONValue]]


@dataclass
class RunPair:
    """Two recordings side by side; `load` reads payloads that the comparison did not open."""

    examination: Examination
    load: Load
    _payloads: dict[str, JSONValue] = field(default_factory=dict)

    @property
    def pairs(self) -> Sequence[Pair]:
        return self.examination.comparison.pairs

    def value(self, ref: str) -> JSONValue:
        if not ref or ref in self.examination.payloads:
            return self.examination.payloads.get(ref)
        if ref not in self._payloads:
            self._payloads |= self.load([ref])
        return self._payloads.get(ref)

    def inputs(self, pair: Pair) -> tuple[JSONValue, JSONValue]:
        left, right = (self.value(step.input_ref) if step is not None else None for step in (pair.base, pair.candidate))
        return left, right

    def outputs(self, pair: Pair) -> tuple[JSONValue, JSONValue]:
        left, right = (
            self.value(step.output_ref) if step is not None else None for step in (pair.base, pair.candidate)
        )
        return left, right

    @cached_property
    def previous_steps(self) -> dict[str, dict[int, int]]:
        """By side: for each model step that continues a conversation, the step that it continues."""
        previous: dict[str, dict[int, int]] = {"base": {}, "candidate": {}}
        for pair in self.pairs:
            for travel in self.examination.flow.incoming(pair.place):
                if travel.kind is EdgeKind.HISTORY:
                    ends = [self.pairs[place] for place in (travel.consumer, travel.producer)]
                    steps = [pair.base if travel.side == "base" else pair.candidate for pair in ends]
                    numbers = [step.sequence_no for step in steps if step is not None]
                    previous[travel.side].setdefault(numbers[0], numbers[1])
        return previous

    @cached_property
    def output_words(self) -> list[tuple[Pair, list[tuple[str, str]]]]:
        """The words in which each output differs, by side and between spaces; without agents and final answers."""
        return [
            (pair, [spaced_words(hunk) for hunk in hunks(*map(plain_text, self.outputs(pair)))])
            for pair in self.examination.comparison.differing
            if pair.answers_differently and not pair.is_container and pair.step.type is not StepType.OUTPUT
        ]

    def entry_step(self, pair: Pair, side: int, index: int) -> int | None:
        """The step of a side whose request first contains a message of a pair's request.

        It lies before the pair if that run alone continued the conversation in between.
        """
        step = number(pair, side)
        message = self._message(step, side, index)
        while step is not None and message is not None:
            earlier = self.previous_steps[_SIDES[side]].get(step)
            if earlier is None or self._is_paired(earlier, side) or self._message(earlier, side, index) != message:
                break
            step = earlier
        return step

    def _is_paired(self, number: int, side: int) -> bool:
        return self.pairs[self.examination.comparison.places[side][number]].sides is not None

    def _message(self, number: int | None, side: int, index: int) -> JSONValue:
        """A message of a model step's request; None if there is none at this index."""
        if number is None:
            return None
        pair = self.pairs[self.examination.comparison.places[side][number]]
        messages = ModelRequest(self.inputs(pair)[side]).messages
        return messages[index] if 0 <= index < len(messages) else None

    def beginnings(self, places: Sequence[int]) -> list[int]:
        """The model steps among these that continue none of the others: an edit stays in the history."""
        members = set(places)
        continuations = {
            travel.consumer
            for place in places
            for travel in self.examination.flow.incoming(place)
            if travel.kind is EdgeKind.HISTORY and travel.producer in members
        }
        return [place for place in places if place not in continuations]


def plain_text(value: JSONValue) -> str:
    """The texts and numbers of a value, without JSON's marks: an escaped end of a line would join its last word."""
    return "\n".join(str(leaf) for _, leaf in scalars(value))


def set_to(
    runs: RunPair,
    root: Root,
    category: str,
    field: str,
    base: JSONValue,
    candidate: JSONValue,
    *,
    title: str = "",
) -> Change:
    """A change that sets one value."""
    slots = [_slots(runs, root.places, category, field, side) for side in (0, 1)]
    values: tuple[Value, Value] = (base, candidate)
    if not all(_is_valid(slot.entry(value)) for side in slots for slot in side for value in (base, candidate)):
        return untestable(root, Obstacle.VALUE_REJECTED, title=title, name=field)
    return Change(
        atom=atom_of(root, title=title, name=field),
        on_base=slots[0],
        on_candidate=slots[1],
        base=values[0],
        candidate=values[1],
    )


def override_change(
    root: Root, on_base: Sequence[JSONObject], on_candidate: Sequence[JSONObject], *, name: str = ""
) -> Change:
    """A change of whole overrides, which apply it to the base and revert it from the candidate."""
    if not on_base or not on_candidate or not all(_is_valid(entry) for entry in (*on_base, *on_candidate)):
        return untestable(root, Obstacle.VALUE_REJECTED, name=name)
    return Change(
        atom=atom_of(root, name=name),
        on_base=tuple(_sites(on_base)),
        on_candidate=tuple(_sites(on_candidate)),
        apply_overrides=tuple(on_base),
        revert_overrides=tuple(on_candidate),
    )


def untestable(root: Root, kind: Obstacle, *, step: str = "", title: str = "", name: str = "") -> Change:
    return Change(atom=atom_of(root, title=title, name=name, why_not=obstacle(kind, step=step)))


def atom_of(root: Root, *, title: str = "", name: str = "", why_not: str = "") -> Atom:
    pair = root.pair
    kind = root.facet.kind if root.facet is not None else "step"
    return Atom(
        id=f"{kind.replace(' ', '-')}-{pair.place}" + (f"-{name}" if name else ""),
        category=root.category,
        title=title or atom_phrase(root),
        description=step_location(pair.step.sequence_no, pair.step.type, len(root.places) - 1),
        why_not=why_not,
        follows=root.origin is Origin.OPEN,
        is_by_code=root.ends_loop,
        base=step_ref(pair.base),
        candidate=step_ref(pair.candidate),
    )


def number(pair: Pair, side: int) -> int | None:
    step = pair.candidate if side else pair.base
    return None if step is None else step.sequence_no


def _sites(entries: Iterable[JSONObject]) -> Iterator[Slot]:
    """The slots that overrides set."""
    for entry in entries:
        for name in entry.keys() - {"match"}:
            yield Slot(match=as_object(entry["match"]), category=name)


def _slots(runs: RunPair, places: Sequence[int], category: str, field: str, side: int) -> tuple[Slot, ...]:
    """The slots on one side; all model calls are matched by type, so that new ones match as well."""
    models = [pair.place for pair in runs.pairs if pair.step.type == StepType.MODEL]
    if category in {"prompt", "model"} and field != "*" and set(models) <= set(places):
        return (Slot(match={"type": "model"}, category=category, field=field),)
    numbers = (number(runs.pairs[place], side) for place in places)
    return tuple(Slot(match={"step": no}, category=category, field=field) for no in numbers if no is not None)


def _is_valid(entry: JSONObject) -> bool:
    try:
        Override.model_validate(entry)
    except pydantic.ValidationError:
        return False
    return True
