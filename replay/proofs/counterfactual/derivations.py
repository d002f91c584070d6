"""What the agent's own code derives from earlier outputs, in probes that do not run that code. Pure.

Two recordings show two cases: what the code made of the base's outputs, and of the candidate's. A probe knows no more.
If every differing output before the code ran is that of one of the two runs, the code makes what it made there; in any
other state, its product is unknown.

    base       router says "billing"    -> code -> "Desk 4 owns invoices."
    candidate  router says "technical"  -> code -> "Desk 9 owns devices."
    probe      router says "technical"  -> the candidate's state: continue as the candidate did
    probe      router says "sales"      -> unknown
"""

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from diffing.attribution.difference_origins import ChangedOutputs, Origin
from diffing.attribution.unexplained_changes import Atom as Root
from diffing.compare.comparison import Comparison, Pair
from diffing.compare.data_flow import Flow
from diffing.compare.run_side import SideStep
from diffing.sentences.atoms.obstacles import Gap, gap
from diffing.sequences.text_diff import shorten
from replay.inputs.copied_values import text_of
from replay.proofs.core.types import Side, Stray
from replay.proofs.counterfactual.answer_wording import AnswerWording, content
from traces.core.json_types import JSONValue
from traces.core.vocabulary import EdgeKind, StepStatus, StepType
from traces.payloads.splitter import split

_SIDES: Final[tuple[Side, Side]] = ("base", "candidate")
_EXTERNAL: Final = frozenset({StepType.TOOL, StepType.RETRIEVAL})
_END: Final = 1 << 31
# Outputs to report of a probe that could not continue.
_MAX_STRAYS: Final = 4
_MAX_CHARACTERS: Final = 2_000


class OtherState(Exception):
    """The probe is in the other run's state, so the rest must be replayed from that run.

    `is_traced`: recorded data flow shows this. `strays`: the outputs that led to that state.
    """

    def __init__(self, *, is_traced: bool, strays: Sequence[Stray] = ()) -> None:
        super().__init__("the outputs are those of the other run")
        self.is_traced, self.strays = is_traced, strays


class UnknownState(Exception):
    """The probe is in neither run's state, so no recording shows what the agent's code does next."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StepAnswer:
    """A step's answer in a probe. `is_new`: it was requested or looked up, neither reused nor set."""

    status: StepStatus | str
    ref: str
    output: JSONValue = None
    is_new: bool = False

    @property
    def answer(self) -> str:
        return answer(self.status, self.ref, self.output)


@dataclass(frozen=True, kw_only=True, slots=True)
class Output:
    """An output that differs: on each side its step's number, or None, and its answer.

    `is_passed_on`: a result of a tool or a search that code passes on to a later step, as recorded data flow shows.
    """

    numbers: tuple[int | None, int | None]
    answers: tuple[str, str]
    signatures: tuple[str, str]
    type: StepType = StepType.MODEL
    refs: tuple[str, str] = ("", "")
    statuses: tuple[StepStatus | str, StepStatus | str] = (StepStatus.OK, StepStatus.OK)
    is_passed_on: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Product:
    """A step whose input the agent's code made. `due`: the step on each side, or the first one after its place.

    `is_traced`: its input contains values of earlier outputs, which a replay replaces with new ones. `is_copied`: the
    same, but only both recordings together show where the values come from.
    """

    due: tuple[int, int]
    is_traced: bool = False
    is_copied: bool = False


def _no_payload(ref: str) -> JSONValue:
    return None


@dataclass(frozen=True, kw_only=True)
class Derivations:
    """The outputs that differ between two recordings, and the steps that code may have derived from them.

    `rounds`: differing outputs of the nth call of the same model step in both runs, regardless of their pairing.
    `unused_outputs`: model answers, equal in both runs, whose use no recorded data flow shows. `load` reads a stored
    payload. `wording`: how the models' answers vary, learned from all probes.
    """

    outputs: Sequence[Output] = ()
    rounds: Sequence[Output] = ()
    products: Sequence[Product] = ()
    unused_outputs: Sequence[Output] = ()
    load: Callable[[str], JSONValue] = _no_payload
    wording: AnswerWording = field(default_factory=AnswerWording)

    def text(self, answer: StepAnswer) -> str:
        """The text of a model's answer."""
        return text_of(StepType.MODEL, self.load(answer.ref) if answer.ref else answer.output)

    def learn(self, signature: str, answer: StepAnswer) -> None:
        """Learn how models word their answers to a request, from a new answer and the recorded ones."""
        self.wording.add(signature, self.text(answer))
        for output in (*self.outputs, *self.rounds, *self.unused_outputs):
            recorded_answers = zip(output.signatures, output.statuses, output.refs, strict=True)
            for own_signature, status, ref in recorded_answers:
                if own_signature == signature and ref:
                    self.wording.add(signature, self.text(StepAnswer(status=status, ref=ref)))

    def means_the_same(self, first: StepAnswer, second: StepAnswer) -> bool:
        """Return whether two answers of a model differ in wording only."""
        words = self.wording.words(output.signatures for output in (*self.outputs, *self.rounds))
        if not words or first.status != second.status:
            return False
        return content(self.text(first), words) == content(self.text(second), words)

    def state(self, side: Side) -> "State":
        """The state of a new probe of a side."""
        return State(derivations=self, side=_SIDES.index(side))


def derivations(
    comparison: Comparison,
    flow: Flow,
    roots: Sequence[Root],
    copies: Collection[int] = (),
    load: Callable[[str], JSONValue] = _no_payload,
) -> Derivations:
    """The differences that may follow from an earlier output; `copies` are places that differ in copied values only."""
    derived = {place for root in roots if root.origin is Origin.DERIVED for place in root.places}
    places = derived | {pair.place for pair in comparison.acting if _takes_values(pair, flow)}
    unused_outputs = _unused_outputs(comparison, flow)
    if not places:
        return Derivations(unused_outputs=unused_outputs, load=load)
    both_sides = [pair.sides for pair in comparison.pairs if pair.sides and not pair.is_move]
    numbers = [(base.sequence_no, candidate.sequence_no) for base, candidate in both_sides]
    pairs = [comparison.pairs[place] for place in sorted(places)]
    return Derivations(
        outputs=[
            _output(pair.base, pair.candidate, is_passed_on=_is_passed_on(pair, flow))
            for pair in ChangedOutputs(comparison).pairs
        ],
        rounds=_rounds(comparison),
        unused_outputs=unused_outputs,
        load=load,
        products=[
            Product(
                due=(_due(pair, numbers, 0), _due(pair, numbers, 1)),
                is_traced=pair.place not in derived,
                is_copied=pair.place in copies,
            )
            for pair in pairs
        ],
    )


def _takes_values(pair: Pair, flow: Flow) -> bool:
    """Return whether code put values of an earlier step into an input that differs."""
    travels = flow.incoming.get(pair.place, ())
    return "input" in pair.changes and any(travel.kind is EdgeKind.VALUE and flow.carries(travel) for travel in travels)


def _unused_outputs(comparison: Comparison, flow: Flow) -> list[Output]:
    """Equal answers that only code can have read: no recording shows what it does with a different answer."""
    return [
        _output(pair.base, pair.candidate)
        for pair in comparison.acting
        if pair.step.type == StepType.MODEL
        and pair.sides is not None
        and not pair.answers_differently
        and not flow.outgoing.get(pair.place)
    ]


def answer(status: StepStatus | str, ref: str, value: JSONValue) -> str:
    """A step's answer in a form that is comparable between runs."""
    return f"{StepStatus(status)} {ref or ('' if value is None else split(value).digest)}"


@dataclass
class State:
    """The outputs of a probe so far.

    `added`: calls and answers of steps that the side does not have. `arrived_at`: the last step whose products were
    checked. `assumes_code`: values were copied in a combination that neither recording has, or code read an answer in
    other words. `first_new_unused`: the first step that gave only code an answer which it has in neither run.
    """

    derivations: Derivations
    side: int
    answers: dict[int, StepAnswer] = field(default_factory=dict)
    new_answers: dict[int, StepAnswer] = field(default_factory=dict)
    added: set[tuple[str, str]] = field(default_factory=set)
    arrived_at: int = 0
    assumes_code: bool = False
    first_new_unused: int | None = None

    def note(self, number: int | None, signature: str, answer: StepAnswer) -> None:
        """Record the answer of a step of the side, or of a new one (None)."""
        if number is None:
            self.added.add((signature, answer.answer))
            return
        self.answers[number] = answer
        if not answer.is_new:
            return
        self.new_answers[number] = answer
        if number in self._models and signature:
            self.derivations.learn(signature, answer)
        output = self._unused_outputs.get(number)
        if output is not None and self.first_new_unused is None and not self._is_answer(answer, output, self.side):
            self.first_new_unused = number

    @cached_property
    def _unused_outputs(self) -> dict[int, Output]:
        """The outputs that only code read, by the side's steps."""
        return {
            number: output
            for output in self.derivations.unused_outputs
            if (number := output.numbers[self.side]) is not None
        }

    @cached_property
    def _models(self) -> set[int | None]:
        """The side's steps at which models answer differently, or for code only."""
        outputs = (*self.derivations.outputs, *self.derivations.rounds, *self.derivations.unused_outputs)
        return {output.numbers[self.side] for output in outputs if output.type is StepType.MODEL}

    def _is_answer(self, answer: StepAnswer, output: Output, side: int) -> bool:
        """Return whether an answer is that of a run, if need be in other words."""
        if answer.answer == output.answers[side]:
            return True
        recorded_answer = StepAnswer(status=output.statuses[side], ref=output.refs[side])
        if output.type is not StepType.MODEL or not self.derivations.means_the_same(answer, recorded_answer):
            return False
        self.assumes_code = True
        return True

    def strays(self, load: Callable[[str], JSONValue]) -> list[Stray]:
        """The latest new outputs at steps where the two runs differ; `load` reads a stored payload."""
        strays: list[Stray] = []
        for output in self.derivations.rounds:
            number = output.numbers[self.side]
            answer = None if number is None else self.new_answers.get(number)
            if number is None or answer is None:
                continue
            values = (load(answer.ref) if answer.ref else answer.output, *map(load, output.refs))
            text, base, candidate = (shorten(text_of(output.type, value), _MAX_CHARACTERS) for value in values)
            recorded_answers = [
                StepAnswer(status=status, ref=ref) for status, ref in zip(output.statuses, output.refs, strict=True)
            ]
            is_wording = self.derivations.means_the_same(*recorded_answers)
            strays.append(Stray(step=number, text=text, base=base, candidate=candidate, is_wording=is_wording))
        return strays[-_MAX_STRAYS:]

    def arrive(self, number: int) -> None:
        """Check the products of code before a step; raises `OtherState` or `UnknownState`."""
        if self.first_new_unused is not None and number > self.first_new_unused:
            raise UnknownState(gap(Gap.CODE_UNSEEN))
        due = [product for product in self.derivations.products if self.arrived_at < product.due[self.side] <= number]
        for product in sorted(due, key=lambda product: (product.due, product.is_traced)):
            self._check(product)
        self.arrived_at = max(self.arrived_at, number)

    def end(self) -> None:
        """Check the remaining products when the probe is over."""
        self.arrive(_END)

    def _check(self, product: Product) -> None:
        if self._matches(self.side, product.due):
            return
        if self._matches(1 - self.side, product.due):
            raise OtherState(is_traced=product.is_traced)
        self.assumes_code = self.assumes_code or product.is_copied
        if product.is_traced or product.is_copied:
            return
        if self._matches(self.side, product.due, decisions_only=True):
            self.assumes_code = True
            return
        if self._matches(1 - self.side, product.due, decisions_only=True):
            raise OtherState(is_traced=False)
        raise UnknownState(gap(Gap.CODE_UNSEEN))

    def _matches(self, side: int, due: tuple[int, int], *, decisions_only: bool = False) -> bool:
        """Return whether the outputs before a product are those of a run."""
        if side == self.side and self.added:
            return False
        outputs = self.derivations.outputs
        if decisions_only:
            outputs = [output for output in outputs if not output.is_passed_on]
            if not any((output.numbers[self.side] or due[self.side]) < due[self.side] for output in outputs):
                return False
        return all(self._agrees(output, side, due) for output in outputs)

    def _agrees(self, output: Output, side: int, due: tuple[int, int]) -> bool:
        own, opposite = output.numbers[self.side], output.numbers[1 - self.side]
        if own is not None:
            if own >= due[self.side]:
                return True
            answer = self.answers.get(own)
            if answer is None or output.numbers[side] is None:
                return answer is None and output.numbers[side] is None
            return self._is_answer(answer, output, side)
        if opposite is None or opposite >= due[1 - self.side] or side == self.side:
            return True
        return (output.signatures[side], output.answers[side]) in self.added


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
    pairs = [(step, sides[1][call]) for call, step in sides[0].items() if call in sides[1]]
    return [_output(base, candidate) for base, candidate in pairs if base.output_ref != candidate.output_ref]


def _is_passed_on(pair: Pair, flow: Flow) -> bool:
    """Return whether both runs show that code passes on a result of a tool or a search."""
    sides = {travel.side for travel in flow.outgoing.get(pair.place, ())}
    return pair.sides is not None and pair.step.type in _EXTERNAL and sides == {*_SIDES}


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
    return min((numbers[side] for numbers in pair_numbers if numbers[1 - side] > opposite), default=_END)
