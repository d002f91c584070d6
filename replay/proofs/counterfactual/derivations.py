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
from traces.core.json_types import JSONValue
from traces.core.vocabulary import EdgeKind, StepStatus, StepType
from traces.payloads.splitter import split

_SIDES: Final[tuple[Side, Side]] = ("base", "candidate")
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
    """An output that differs: on each side its step's number, or None, and its answer."""

    numbers: tuple[int | None, int | None]
    answers: tuple[str, str]
    signatures: tuple[str, str]
    type: StepType = StepType.MODEL
    refs: tuple[str, str] = ("", "")


@dataclass(frozen=True, kw_only=True, slots=True)
class Product:
    """A step whose input the agent's code made. `due`: the step on each side, or the first one after its place.

    `is_traced`: its input contains values of earlier outputs, which a replay replaces with new ones. `is_copied`: the
    same, but only both recordings together show where the values come from.
    """

    due: tuple[int, int]
    is_traced: bool = False
    is_copied: bool = False


@dataclass(frozen=True, kw_only=True)
class Derivations:
    """The outputs that differ between two recordings, and the steps that code may have derived from them.

    `rounds`: differing outputs of the nth call of the same model step in both runs, regardless of their pairing.
    `unused_outputs`: model answers, equal in both runs, whose use no recorded data flow shows.
    """

    outputs: Sequence[Output] = ()
    rounds: Sequence[Output] = ()
    products: Sequence[Product] = ()
    unused_outputs: Sequence[Output] = ()

    def state(self, side: Side) -> "State":
        """The state of a new probe of a side."""
        return State(derivations=self, side=_SIDES.index(side))


def derivations(comparison: Comparison, flow: Flow, roots: Sequence[Root], copies: Collection[int] = ()) -> Derivations:
    """The differences that may follow from an earlier output; `copies` are places that differ in copied values only."""
    derived = {place for root in roots if root.origin is Origin.DERIVED for place in root.places}
    places = derived | {pair.place for pair in comparison.acting if _takes_values(pair, flow)}
    unused_outputs = _unused_outputs(comparison, flow)
    if not places:
        return Derivations(unused_outputs=unused_outputs)
    both_sides = [pair.sides for pair in comparison.pairs if pair.sides and not pair.is_move]
    numbers = [(base.sequence_no, candidate.sequence_no) for base, candidate in both_sides]
    pairs = [comparison.pairs[place] for place in sorted(places)]
    return Derivations(
        outputs=[_output(pair.base, pair.candidate) for pair in ChangedOutputs(comparison).pairs],
        rounds=_rounds(comparison),
        unused_outputs=unused_outputs,
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
    checked. `used_copies`: values were copied in a combination that neither recording has. `first_new_unused`: the
    first step that gave only code an answer which it has in neither run.
    """

    derivations: Derivations
    side: int
    answers: dict[int, str] = field(default_factory=dict)
    new_answers: dict[int, StepAnswer] = field(default_factory=dict)
    added: set[tuple[str, str]] = field(default_factory=set)
    arrived_at: int = 0
    used_copies: bool = False
    first_new_unused: int | None = None

    def note(self, number: int | None, signature: str, answer: StepAnswer) -> None:
        """Record the answer of a step of the side, or of a new one (None)."""
        if number is None:
            self.added.add((signature, answer.answer))
            return
        self.answers[number] = answer.answer
        if answer.is_new:
            self.new_answers[number] = answer
            if self._unused_answers.get(number, answer.answer) != answer.answer and self.first_new_unused is None:
                self.first_new_unused = number

    @cached_property
    def _unused_answers(self) -> dict[int, str]:
        """The recorded answers that only code read, by the side's steps."""
        return {
            number: output.answers[self.side]
            for output in self.derivations.unused_outputs
            if (number := output.numbers[self.side])
        }

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
            strays.append(Stray(step=number, text=text, base=base, candidate=candidate))
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
        self.used_copies = self.used_copies or product.is_copied
        if product.is_traced or product.is_copied:
            return
        raise UnknownState(gap(Gap.CODE_UNSEEN))

    def _matches(self, side: int, due: tuple[int, int]) -> bool:
        """Return whether the outputs before a product are those of a run."""
        if side == self.side and self.added:
            return False
        return all(self._agrees(output, side, due) for output in self.derivations.outputs)

    def _agrees(self, output: Output, side: int, due: tuple[int, int]) -> bool:
        own, opposite = output.numbers[self.side], output.numbers[1 - self.side]
        if own is not None:
            if own >= due[self.side]:
                return True
            expected = output.answers[side] if output.numbers[side] is not None else None
            return self.answers.get(own) == expected
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


def _output(base: SideStep | None, candidate: SideStep | None) -> Output:
    steps = base, candidate
    return Output(
        numbers=(_number_of(base), _number_of(candidate)),
        answers=(_answer_of(base), _answer_of(candidate)),
        signatures=(base.signature if base else "", candidate.signature if candidate else ""),
        type=StepType(next(step.type for step in steps if step is not None)),
        refs=(base.output_ref if base else "", candidate.output_ref if candidate else ""),
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
