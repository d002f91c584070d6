"""Comparison of two runs: paired steps, and the differences that are visible without their payloads."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from diffing.compare import alignment
from diffing.compare.alignment import Match
from diffing.compare.run_side import COMPARABLE, CONTAINERS, Side, SideStep, inner_calls
from diffing.schemas.sections import FoundBy, Relation
from traces.core.step_header import step_view
from traces.core.vocabulary import Reason, StepType

# US dollars; smaller differences of cost are rounding.
COST: Final = 0.0001
# Share of the base's duration; smaller differences are jitter.
DURATION: Final = 0.10
# In Python 3.11, reading a member of an enum takes ten times as long as reading a constant.
_MODEL: Final = StepType.MODEL
_CONTENT: Final = frozenset({"input", "output", "status", "model", "parameters"})


@step_view
class Pair:
    """Two corresponding steps, or an unpaired one; `place` is its index in the comparison.

    `pair_of` derives the last five fields, which a report reads many times for each step.
    """

    place: int
    base: SideStep | None
    candidate: SideStep | None
    found_by: FoundBy
    confidence: float
    is_move: bool
    changes: tuple[str, ...]
    # The candidate's step, else the base's.
    step: SideStep = field(compare=False)
    sides: tuple[SideStep, SideStep] | None = field(compare=False)
    # True if the input, output, status, model or parameters differ; tokens, cost and time do not count.
    differs: bool = field(compare=False)
    answers_differently: bool = field(compare=False)
    relation: Relation = field(compare=False)

    @property
    def order_key(self) -> tuple[int, int, list[str]]:
        """Sort key that is the same if the sides are swapped; moved steps differ in order by side."""
        steps = self.sides or (self.step, self.step)
        numbers = [step.sequence_no for step in steps]
        return sum(numbers), min(numbers), sorted(step.input_ref + step.output_ref for step in steps)

    @property
    def is_container(self) -> bool:
        return self.step.type in CONTAINERS

    @property
    def differs_itself(self) -> bool:
        """True if the pair differs, apart from a container's output, which follows from the steps inside."""
        is_paired_container = self.is_container and self.sides is not None
        return "input" in self.changes if is_paired_container else self.differs

    @property
    def overridden(self) -> bool:
        """True if an operator overrode the output of one side."""
        return any(side is not None and side.reason == Reason.OPERATOR_OVERRIDE for side in (self.base, self.candidate))


def pair_of(
    *,
    place: int,
    base: SideStep | None,
    candidate: SideStep | None,
    found_by: FoundBy,
    confidence: float,
    is_move: bool,
    changes: tuple[str, ...],
) -> Pair:
    """A pair with what follows from its sides and changes."""
    step = candidate or base
    assert step is not None  # a pair has at least one side
    relation: Relation
    if base and candidate:
        sides = base, candidate
        differs = not _CONTENT.isdisjoint(changes)
        relation = "changed" if differs else "moved" if is_move else "same"
    else:
        sides, differs, relation = None, True, "removed" if base else "added"
    return Pair(
        place=place,
        base=base,
        candidate=candidate,
        found_by=found_by,
        confidence=confidence,
        is_move=is_move,
        changes=changes,
        step=step,
        sides=sides,
        differs=differs,
        answers_differently=sides is None or "output" in changes or "status" in changes,
        relation=relation,
    )


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Two runs and their pairs in reading order."""

    base: Side
    candidate: Side
    pairs: Sequence[Pair]

    @cached_property
    def places(self) -> tuple[dict[int, int], dict[int, int]]:
        """The place of a pair by its sequence number in the base and in the candidate."""
        return (
            {pair.base.sequence_no: pair.place for pair in self.pairs if pair.base},
            {pair.candidate.sequence_no: pair.place for pair in self.pairs if pair.candidate},
        )

    @cached_property
    def acting(self) -> Sequence[Pair]:
        """The pairs that are not containers; all pairs if there are only containers."""
        return [pair for pair in self.pairs if pair.step.type not in CONTAINERS] or self.pairs

    @cached_property
    def containers(self) -> Sequence[Pair]:
        """The pairs of agents and turns."""
        return [pair for pair in self.pairs if pair.step.type in CONTAINERS]

    @cached_property
    def differing(self) -> Sequence[Pair]:
        """The acting pairs that differ: few of the pairs of two long runs, and the only ones that explain anything."""
        return [pair for pair in self.acting if pair.differs]

    @cached_property
    def _by_type(self) -> Mapping[StepType, Sequence[Pair]]:
        pairs: dict[StepType, list[Pair]] = {}
        for pair in self.pairs:
            pairs.setdefault(pair.step.type, []).append(pair)
        return pairs

    def of_type(self, step_type: StepType) -> Sequence[Pair]:
        """The pairs of one type, in order."""
        return self._by_type.get(step_type, ())

    @cached_property
    def _ordered_numbers(self) -> tuple[list[int], list[int]]:
        """The sequence numbers, on both sides, of the steps that are paired in order."""
        pairs = [pair.sides for pair in self.pairs if pair.sides and not pair.is_move]
        return sorted(base.sequence_no for base, _ in pairs), sorted(candidate.sequence_no for _, candidate in pairs)

    def turn(self, place: int) -> int:
        """The order of a pair, independent of which side is the base.

        Unpaired steps between two pairs have the same turn: neither side comes first.
        """
        pair = self.pairs[place]
        preceding = [
            bisect_left(positions, step.sequence_no)
            for positions, step in zip(self._ordered_numbers, (pair.base, pair.candidate), strict=True)
            if step
        ]
        return 2 * min(preceding) + (pair.sides is not None and not pair.is_move)

    @cached_property
    def final(self) -> Pair | None:
        """The pair with the final answer: the last output step, else the last model step."""
        for step_type in (StepType.OUTPUT, StepType.MODEL):
            candidates = self.of_type(step_type)
            both_sides = [pair for pair in candidates if pair.sides]
            if candidates:
                return max(both_sides or candidates, key=lambda pair: pair.step.sequence_no)
        return self.pairs[-1] if self.pairs else None

    @cached_property
    def resampled_places(self) -> frozenset[int]:
        """The places of unpaired model steps whose request was answered differently on the other side.

        Each of them is paired with the model that requested the same call, or with none.
        """
        # Most models are paired with the same request, and need no look at the whole runs.
        open_pairs = [
            pair
            for pair in self.of_type(StepType.MODEL)
            if pair.sides is None or pair.sides[0].signature != pair.sides[1].signature
        ]
        bases = {pair.base.signature: pair for pair in open_pairs if pair.base and pair.base.signature}
        candidates = {pair.candidate.signature: pair for pair in open_pairs if pair.candidate}
        requests = bases.keys() & candidates.keys()
        if not requests:
            return frozenset()
        counts = [
            Counter(step.signature for step in side.steps if step.type == _MODEL and step.signature in requests)
            for side in (self.base, self.candidate)
        ]
        unique_requests = {request for request in requests if counts[0][request] == counts[1][request] == 1}
        pairs = [(bases[request], candidates[request]) for request in unique_requests]
        return frozenset(pair.place for sides in pairs if _answer_differently(*sides) for pair in sides)

    @cached_property
    def inner_ends(self) -> Mapping[int, tuple[int, int]]:
        """The places of calls of tools that answer differently as a step inside them does, with their last inner steps.

        Such a call runs another agent, which ends with the call. The steps are given by side; -1: none.
        """
        ends: dict[int, list[int]] = {}
        causes: set[int] = set()
        differing = {pair.place for pair in self.differing if pair.answers_differently}
        for side, steps in enumerate((self.base.steps, self.candidate.steps)):
            places, calls = self.places[side], inner_calls(steps)
            for number, call in calls.items():
                outer: int | None = call
                while outer is not None:
                    end = ends.setdefault(places[outer], [-1, -1])
                    end[side] = max(end[side], number)
                    causes |= {places[outer]} if places[number] in differing else set()
                    outer = calls.get(outer)
        return {place: (end[0], end[1]) for place, end in ends.items() if place in causes & differing}

    @cached_property
    def run_inputs(self) -> frozenset[str]:
        """The inputs of the runs and their turns, as one-line summaries of their containers."""
        steps = (*self.base.steps, *self.candidate.steps)
        return frozenset(step.summary for step in steps if step.type in CONTAINERS and step.summary)

    def with_changes(self, changes: Mapping[int, Collection[str]]) -> "Comparison":
        """Replace the content changes of pairs by those that their payloads show; `changes` are by place."""
        pairs = [_refine_pair(pair, changes[pair.place]) if pair.place in changes else pair for pair in self.pairs]
        return Comparison(base=self.base, candidate=self.candidate, pairs=pairs)

    @property
    def derived(self) -> bool:
        """True if one run derives from the other, or both from a third, over any number of forks."""
        base, candidate = self.base.run, self.candidate.run
        if base.id == candidate.id:
            return base.source_run is not None
        lines = ({run.id, run.source_run, *run.ancestors} - {None} for run in (base, candidate))
        return bool(set.intersection(*lines))


def _answer_differently(pair: Pair, other: Pair) -> bool:
    """True if the base of one pair and the candidate of another have different answers."""
    return pair.base is not None and other.candidate is not None and pair.base.output_ref != other.candidate.output_ref


def _refine_pair(pair: Pair, fields: Collection[str]) -> Pair:
    other_fields = [name for name in pair.changes if name not in {"input", "output"}]
    return pair_of(
        place=pair.place,
        base=pair.base,
        candidate=pair.candidate,
        found_by=pair.found_by,
        confidence=pair.confidence,
        is_move=pair.is_move,
        changes=(*(name for name in ("input", "output", "parameters") if name in fields), *other_fields),
    )


def compare(base: Side, candidate: Side) -> Comparison:
    """Align the steps and list their differences, without payloads."""
    return Comparison(base=base, candidate=candidate, pairs=_pairs(base.steps, candidate.steps))


def _pairs(base: Sequence[SideStep], candidate: Sequence[SideStep]) -> list[Pair]:
    matches = alignment.align(base, candidate)
    rows = _reading_order(matches, len(base), len(candidate))
    return [_pair(place, row, base, candidate) for place, row in enumerate(rows)]


Row = tuple[int | None, int | None, Match | None]


def _reading_order(matches: Sequence[Match], base_count: int, candidate_count: int) -> list[Row]:
    """Rows in the candidate's order; steps of the base alone come before the next pair of the base."""
    by_candidate = {match.candidate: match for match in matches}
    matched_bases = {match.base for match in matches}
    rows: list[Row] = []
    at = 0
    for j in range(candidate_count):
        match = by_candidate.get(j)
        if match is None:
            rows.append((None, j, None))
            continue
        base, _, _, _, is_move = match
        if base >= at and not is_move:
            rows += [(i, None, None) for i in range(at, base) if i not in matched_bases]
            at = base + 1
        rows.append((base, j, match))
    return rows + [(i, None, None) for i in range(at, base_count) if i not in matched_bases]


def _pair(place: int, row: Row, base: Sequence[SideStep], candidate: Sequence[SideStep]) -> Pair:
    i, j, match = row
    left = base[i] if i is not None else None
    right = candidate[j] if j is not None else None
    if match and left and right and left[COMPARABLE] == right[COMPARABLE]:
        return _equal_pair(place, left, right, match)
    if left and right and left.model != right.model:
        left, right = _own_name(left, right), _own_name(right, left)
    return pair_of(
        place=place,
        base=left,
        candidate=right,
        found_by=match.found_by if match else "none",
        confidence=match.confidence if match else 1.0,
        is_move=bool(match and match.is_move),
        changes=tuple(_changes(left, right)) if left and right else (),
    )


def _equal_pair(place: int, base: SideStep, candidate: SideStep, match: Match) -> Pair:
    """A pair without changes, as most pairs of two long runs are: `pair_of` with nothing to derive."""
    return Pair(
        place=place,
        base=base,
        candidate=candidate,
        found_by=match.found_by,
        confidence=match.confidence,
        is_move=match.is_move,
        changes=(),
        step=candidate,
        sides=(base, candidate),
        differs=False,
        answers_differently=False,
        relation="moved" if match.is_move else "same",
    )


def _own_name(step: SideStep, partner: SideStep) -> SideStep:
    """Name a model step by its own model: a replay with another model inherits the recorded step's name."""
    is_inherited = step.type == StepType.MODEL and step.name == partner.name == partner.model != step.model
    return step._replace(name=step.model) if is_inherited and step.model else step


def _changes(base: SideStep, candidate: SideStep) -> list[str]:
    """Names of the differing fields. What only one side recorded, such as a cost, is a gap and no change."""
    changes = []
    if base.input_ref != candidate.input_ref and _requests_differ(base, candidate):
        changes.append("input")
    if base.output_ref != candidate.output_ref:
        changes.append("output")
    if base.status != candidate.status:
        changes.append("status")
    if base.model != candidate.model or base.provider != candidate.provider:
        changes.append("model")
    if _difference(base.tokens, candidate.tokens):
        changes.append("tokens")
    if _difference(base.cost_usd, candidate.cost_usd) > COST:
        changes.append("cost")
    if _difference(base.duration_ms, candidate.duration_ms) > DURATION * (base.duration_ms or 0.0):
        changes.append("duration")
    return changes


def _requests_differ(base: SideStep, candidate: SideStep) -> bool:
    """True if different inputs are recorded on both sides, and differ in fields that signatures include."""
    same_signature = bool(base.signature) and base.signature == candidate.signature
    return not same_signature and bool(base.input_ref and candidate.input_ref)


def _difference(base: float | None, candidate: float | None) -> float:
    """The distance of two numbers; 0 if one of them is unknown."""
    return 0.0 if base is None or candidate is None else abs(candidate - base)
