"""The differing outputs of two recordings, and the inputs that the agent's code may have made of them. Pure."""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from operator import attrgetter
from typing import Final

from diffing.attribution.difference_origins import ChangedOutputs, Origin
from diffing.attribution.unexplained_changes import Atom as Root
from diffing.compare.comparison import Comparison, Pair
from diffing.compare.data_flow import Flow, FlowLink
from diffing.compare.placeholders import FAILED
from diffing.compare.run_side import SideStep
from diffing.sequences.word_hunks import Hunk, contains_words, hunks, share_word, split_words
from replay.inputs.copied_values import text_of
from replay.proofs.core.types import Side
from replay.proofs.counterfactual.derivations import END, Derivations, Output, Product, answer, no_payload
from traces.core.json_types import JSONValue
from traces.core.vocabulary import EdgeKind, StepType

_SIDES: Final[tuple[Side, Side]] = ("base", "candidate")
_EXTERNAL: Final = frozenset({StepType.TOOL, StepType.RETRIEVAL})


def derivations(
    comparison: Comparison,
    flow: Flow,
    roots: Sequence[Root],
    copies: Collection[int] = (),
    load: Callable[[str], JSONValue] = no_payload,
) -> Derivations:
    """The differences that may follow from an earlier output; `copies` are places that differ in copied values only."""
    derived = {place for root in roots if root.origin is Origin.DERIVED for place in root.places}
    outputs = ChangedOutputs(comparison)
    further_calls = {
        pair.place
        for pair in comparison.acting
        if not comparison.derived and outputs.precede(pair) and _is_further_call(pair, flow)
    }
    untraced_places = derived | further_calls
    places = untraced_places | {pair.place for pair in comparison.acting if _takes_values(pair, flow)}
    composed_answers = {
        pair.place for pair in comparison.acting if _is_composed_answer(comparison, pair, flow, load)
    } - places
    unused_outputs, failures = _unused_outputs(comparison, flow), _failures(comparison, flow)
    if not places and not composed_answers and not failures:
        return Derivations(unused_outputs=unused_outputs, load=load)
    both_sides = [pair.sides for pair in comparison.pairs if pair.sides and not pair.is_move]
    numbers = [(base.sequence_no, candidate.sequence_no) for base, candidate in both_sides]
    pairs = [comparison.pairs[place] for place in sorted(places | composed_answers)]
    return Derivations(
        outputs=[
            _output(pair.base, pair.candidate, is_passed_on=_is_passed_on(comparison, pair, flow, load))
            for pair in outputs.pairs
        ],
        rounds=_rounds(comparison),
        unused_outputs=unused_outputs,
        load=load,
        products=[
            Product(
                due=(_due(pair, numbers, 0), _due(pair, numbers, 1)),
                is_traced=pair.place not in untraced_places and _is_explained(comparison, pair, flow, load),
                is_assumed=pair.place in composed_answers or pair.place in copies,
            )
            for pair in pairs
        ]
        + failures,
    )


def _is_further_call(pair: Pair, flow: Flow) -> bool:
    """Return whether the code of one run alone calls a model there, in a conversation of its own.

    A replay adds no such call, even if recorded data flow explains its request.
    """
    if pair.sides is not None or pair.step.type != StepType.MODEL:
        return False
    return not any(travel.kind in {EdgeKind.HISTORY, EdgeKind.TOOL_CALL_ID} for travel in flow.incoming(pair.place))


def _takes_values(pair: Pair, flow: Flow) -> bool:
    """Return whether code put values of an earlier step into an input that differs."""
    travels = flow.incoming(pair.place)
    return "input" in pair.changes and any(travel.kind is EdgeKind.VALUE and flow.carries(travel) for travel in travels)


def _is_composed_answer(comparison: Comparison, pair: Pair, flow: Flow, load: Callable[[str], JSONValue]) -> bool:
    """Return whether a final answer differs by more than the outputs that it is made of: code chose or wrote it.

    Example: one run ends with a model's answer, the other with "Please ask a colleague".
    """
    is_answer = pair.step.type == StepType.OUTPUT and "input" in pair.changes
    return is_answer and not _is_explained(comparison, pair, flow, load)


def _is_explained(comparison: Comparison, pair: Pair, flow: Flow, load: Callable[[str], JSONValue]) -> bool:
    """Return whether values of earlier outputs are all that differs in an input.

    A replay replaces these values only. Whatever else differs, code made of something. The messages of a model have
    been checked one by one (`diffing.attribution.roots`).
    """
    if pair.sides is None or pair.step.type == StepType.MODEL:
        return True
    travels = [travel for travel in flow.incoming(pair.place) if flow.carries(travel)]
    values = [hunk for travel in travels for hunk in _carried_hunks(comparison, travel, load)]
    own = _hunks(StepType.TOOL, (pair.sides[0].input_ref, pair.sides[1].input_ref), load)
    return all(
        {*split_words(text)} <= {word for value in values for word in split_words(words_of(value))}
        for words_of in (attrgetter("base"), attrgetter("candidate"))
        for text in map(words_of, own)
    )


def _carried_hunks(comparison: Comparison, travel: FlowLink, load: Callable[[str], JSONValue]) -> list[Hunk]:
    """The differences of an output that a replay puts into the consumer's input."""
    source = comparison.pairs[travel.producer]
    differences = _hunks(source.step.type, _output_refs(source), load)
    if not _is_value_in_answer(comparison, travel):
        return differences
    side = _SIDES.index(travel.side)
    return [hunk for hunk in differences if share_word((hunk.base, hunk.candidate)[side], travel.evidence)]


def _is_value_in_answer(comparison: Comparison, travel: FlowLink) -> bool:
    """Return whether a link shows only one value of a result in an answer that code composed.

    Example: an answer ends with "(Bern, 30 days)". Only "Bern" is distinctive enough for a link, so a replay with
    another number of days leaves the 30.
    """
    source, consumer = (comparison.pairs[place].step.type for place in (travel.producer, travel.consumer))
    return travel.kind is EdgeKind.VALUE and source in _EXTERNAL and consumer == StepType.OUTPUT


def _output_refs(pair: Pair) -> tuple[str, str]:
    """The outputs of a pair that has both sides."""
    base, candidate = pair.base, pair.candidate
    return base.output_ref if base else "", candidate.output_ref if candidate else ""


def _hunks(type: str, refs: tuple[str, str], load: Callable[[str], JSONValue]) -> list[Hunk]:
    """The differing words of two payloads."""
    base, candidate = (text_of(StepType(type), load(ref) if ref else None) for ref in refs)
    return hunks(base, candidate)


def _unused_outputs(comparison: Comparison, flow: Flow) -> list[Output]:
    """Equal answers that only code can have read: no recording shows what it does with a different answer."""
    return [
        _output(pair.base, pair.candidate)
        for pair in comparison.acting
        if pair.step.type == StepType.MODEL
        and pair.sides is not None
        and not pair.answers_differently
        and not flow.outgoing(pair.place)
    ]


def _rounds(comparison: Comparison) -> list[Output]:
    """Differing model answers by role and ordinal: in a loop, the alignment may pair rounds differently."""
    sides: list[dict[tuple[str, int], SideStep]] = []
    for side in (comparison.base, comparison.candidate):
        models = [step for step in side.steps if step.type == StepType.MODEL and step.output_ref]
        counts: Counter[str] = Counter()
        calls: dict[tuple[str, int], SideStep] = {}
        for step in models:
            counts[step.role] += 1
            calls[step.role, counts[step.role]] = step
        sides.append(calls)
    final_refs = _final_attempts(comparison, sides)
    pairs = [(step, sides[1][call]) for call, step in sides[0].items() if call in sides[1]]
    return [
        replace(_output(base, candidate), final_refs=final_refs.get(base.role, ("", "")))
        for base, candidate in pairs
        if base.output_ref != candidate.output_ref
    ]


def _final_attempts(
    comparison: Comparison, sides: Sequence[Mapping[tuple[str, int], SideStep]]
) -> dict[str, tuple[str, str]]:
    """The outputs that remain of calls which one run repeats more often, with nothing but failed calls in between.

    Example: code rejects an answer and asks again. Only the last answer goes on.
    """
    counts = [Counter(role for role, _ in calls) for calls in sides]
    streaks = [_streaks(side.steps) for side in (comparison.base, comparison.candidate)]
    return {
        role: (sides[0][role, counts[0][role]].output_ref, sides[1][role, counts[1][role]].output_ref)
        for role in counts[0].keys() & counts[1].keys()
        if counts[0][role] != counts[1][role] and all(streaks[side][role] == counts[side][role] for side in (0, 1))
    }


def _streaks(steps: Sequence[SideStep]) -> Counter[str]:
    """The number of calls of each role in its longest streak without another call that succeeded."""
    calls = [
        step for step in steps if step.type == StepType.MODEL or (step.type in _EXTERNAL and step.status not in FAILED)
    ]
    streaks: Counter[str] = Counter()
    for role, group in groupby(calls, key=lambda step: step.role if step.type == StepType.MODEL else ""):
        streaks[role] = max(streaks[role], len(list(group)))
    return streaks


def _is_passed_on(comparison: Comparison, pair: Pair, flow: Flow, load: Callable[[str], JSONValue]) -> bool:
    """Return whether both runs show that code passes on all that differs in a result of a tool or a search."""
    if pair.sides is None or pair.step.type not in _EXTERNAL or pair.sides[0].status != pair.sides[1].status:
        return False
    travels = flow.outgoing(pair.place)
    texts = [text_of(pair.step.type, load(step.output_ref)) for step in pair.sides]
    for index, side in enumerate(_SIDES):
        own_travels = [travel for travel in travels if travel.side == side]
        inputs = [_shown_text(comparison, travel, load) for travel in own_travels]
        words = [(hunk.base, hunk.candidate)[index] for hunk in hunks(*texts)]
        if not inputs or not all(any(contains_words(own, text) for text in inputs) for own in words if own):
            return False
    return True


def _shown_text(comparison: Comparison, travel: FlowLink, load: Callable[[str], JSONValue]) -> str:
    """The part of the consumer's input in which a replay replaces what a link passes on."""
    if _is_value_in_answer(comparison, travel):
        return travel.evidence
    consumer = comparison.pairs[travel.consumer]
    step = (consumer.base, consumer.candidate)[_SIDES.index(travel.side)]
    return "" if step is None else text_of(StepType.TOOL, load(step.input_ref))


def _failures(comparison: Comparison, flow: Flow) -> list[Product]:
    """The points after calls that failed in one run only, unless that run passes the error on: code decides there."""
    products: list[Product] = []
    for pair in comparison.acting:
        failing = [side for side, step in zip(_SIDES, pair.sides or (), strict=False) if step.status in FAILED]
        users = {travel.side for travel in flow.outgoing(pair.place)}
        if pair.sides and pair.step.type in _EXTERNAL and len(failing) == 1 and failing[0] not in users:
            base, candidate = pair.sides
            products.append(Product(due=(base.sequence_no + 1, candidate.sequence_no + 1)))
    return products


def _output(base: SideStep | None, candidate: SideStep | None, *, is_passed_on: bool = False) -> Output:
    steps = base, candidate
    return Output(
        numbers=(_number_of(base), _number_of(candidate)),
        answers=(_answer_of(base), _answer_of(candidate)),
        signatures=(base.signature if base else "", candidate.signature if candidate else ""),
        type=StepType(next(step.type for step in steps if step is not None)),
        refs=(base.output_ref if base else "", candidate.output_ref if candidate else ""),
        statuses=(base.status if base else "", candidate.status if candidate else ""),
        is_passed_on=is_passed_on,
    )


def _number_of(step: SideStep | None) -> int | None:
    return None if step is None else step.sequence_no


def _answer_of(step: SideStep | None) -> str:
    return "" if step is None else answer(step.status, step.output_ref, None)


def _number(pair: Pair, side: int) -> int | None:
    return _number_of((pair.base, pair.candidate)[side])


def _due(pair: Pair, pair_numbers: Sequence[tuple[int, int]], side: int) -> int:
    own = _number(pair, side)
    if own is not None:
        return own
    opposite = _number(pair, 1 - side)
    # A pair has at least one side.
    assert opposite is not None
    return min((numbers[side] for numbers in pair_numbers if numbers[1 - side] > opposite), default=END)
