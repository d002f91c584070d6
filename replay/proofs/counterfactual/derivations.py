"""What the agent's own code makes of earlier outputs, in probes that do not run that code. Pure.

Two recordings show it twice: what the code made of the base's outputs, and what of the candidate's. A probe knows no
more than that. Where it has brought about every output that differs before the code ran as one of the two runs had it,
the code makes what it made there; in any other state that is not known.

    base       router says "billing"    -> code -> "Desk 4 owns invoices."
    candidate  router says "technical"  -> code -> "Desk 9 owns devices."
    probe      router says "technical"  -> the candidate's state: it goes on as the candidate did
    probe      router says "sales"      -> not known
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
from diffing.sequences.text_diff import shorten
from replay.inputs.copied_values import text_of
from replay.proofs.core.types import Side, Stray
from traces.core.json_types import JSONValue
from traces.core.vocabulary import EdgeKind, StepStatus, StepType
from traces.payloads.splitter import split

_SIDES: Final[tuple[Side, Side]] = ("base", "candidate")
_END: Final = 1 << 31
_LATEST: Final = 4  # outputs that are shown of a probe that could not go on
_LONGEST: Final = 2_000  # characters of each
_UNSEEN: Final = (
    "the agent's code ran on answers that neither run had together, and no recording shows what came of them"
)
UNSETTLED: Final = "the agent's code would go on otherwise than the replayed run did"


class OtherState(Exception):
    """The probe is in the other run's state: what follows is that run's, and has to be replayed from it.

    `traced`: recorded data flow shows as much. `strays` are the outputs that brought it there.
    """

    def __init__(self, *, traced: bool, strays: Sequence[Stray] = ()) -> None:
        super().__init__("the outputs are those of the other run")
        self.traced, self.strays = traced, strays


class UnknownState(Exception):
    """The probe is in neither run's state, so nothing recorded shows what the agent's code does next."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Given:
    """What a step of a probe gave. `drawn`: it was asked or looked up, and not kept or set."""

    status: StepStatus | str
    ref: str
    output: JSONValue = None
    drawn: bool = False

    @property
    def answer(self) -> str:
        return answer(self.status, self.ref, self.output)


@dataclass(frozen=True, kw_only=True, slots=True)
class Output:
    """An output that differs: its step's number on each side, or None, and what it was there."""

    numbers: tuple[int | None, int | None]
    answers: tuple[str, str]
    signatures: tuple[str, str]
    type: StepType = StepType.MODEL
    refs: tuple[str, str] = ("", "")


@dataclass(frozen=True, kw_only=True, slots=True)
class Product:
    """A step that was given what code made. On a side without it, `due` is the first step there that comes after it.

    `traced`: values of earlier outputs stand in its input, and a replay puts new ones in their place. `copied`: so it
    does, but only two recordings together show that they come from there.
    """

    due: tuple[int, int]
    traced: bool = False
    copied: bool = False


@dataclass(frozen=True, kw_only=True)
class Derivations:
    """The outputs that differ between two recordings, and the steps that code may have derived from them."""

    outputs: Sequence[Output] = ()
    rounds: Sequence[Output] = ()  # outputs of the same step called the same time in both runs, whatever they pair with
    products: Sequence[Product] = ()
    unread: Sequence[Output] = ()  # answers of models, the same in both runs, of which recorded data flow shows no use

    def state(self, side: Side) -> "State":
        """The state of a new probe of a side."""
        return State(derivations=self, side=_SIDES.index(side))


def derivations(comparison: Comparison, flow: Flow, roots: Sequence[Root], copied: Collection[int] = ()) -> Derivations:
    """Those of the differences that may follow from an earlier output; `copied` are places of copied values alone."""
    derived = {place for root in roots if root.origin is Origin.DERIVED for place in root.places}
    places = derived | {pair.place for pair in comparison.acting if _takes_values(pair, flow)}
    unread = _unread(comparison, flow)
    if not places:
        return Derivations(unread=unread)
    paired = [pair.sides for pair in comparison.pairs if pair.sides and not pair.is_move]
    numbers = [(base.sequence_no, candidate.sequence_no) for base, candidate in paired]
    pairs = [comparison.pairs[place] for place in sorted(places)]
    return Derivations(
        outputs=[_output(pair.base, pair.candidate) for pair in ChangedOutputs(comparison).pairs],
        rounds=_rounds(comparison),
        unread=unread,
        products=[
            Product(
                due=(_due(pair, numbers, 0), _due(pair, numbers, 1)),
                traced=pair.place not in derived,
                copied=pair.place in copied,
            )
            for pair in pairs
        ],
    )


def _takes_values(pair: Pair, flow: Flow) -> bool:
    """Whether code put values of an earlier step into an input that differs."""
    travels = flow.incoming.get(pair.place, ())
    return "input" in pair.changes and any(travel.kind is EdgeKind.VALUE and flow.carries(travel) for travel in travels)


def _unread(comparison: Comparison, flow: Flow) -> list[Output]:
    """What only code can have read, and was given alike in both runs: neither shows what it makes of another answer."""
    return [
        _output(pair.base, pair.candidate)
        for pair in comparison.acting
        if pair.step.type == StepType.MODEL
        and pair.sides is not None
        and not pair.answers_differently
        and not flow.outgoing.get(pair.place)
    ]


def answer(status: StepStatus | str, ref: str, value: JSONValue) -> str:
    """What a step gave, comparable between runs."""
    return f"{StepStatus(status)} {ref or ('' if value is None else split(value).digest)}"


@dataclass
class State:
    """What a probe has brought about so far."""

    derivations: Derivations
    side: int
    given: dict[int, str] = field(default_factory=dict)
    drawn: dict[int, Given] = field(default_factory=dict)
    added: set[tuple[str, str]] = field(default_factory=set)  # calls and answers of steps that the side does not have
    checked: int = 0
    copied: bool = False  # whether values were copied that neither recording has together
    unheard: int | None = None  # the first step that gave code an answer which it was given in neither run

    def note(self, number: int | None, signature: str, given: Given) -> None:
        """A step of the side, or a new one, answered."""
        if number is None:
            self.added.add((signature, given.answer))
            return
        self.given[number] = given.answer
        if given.drawn:
            self.drawn[number] = given
            if self._known_unread.get(number, given.answer) != given.answer and self.unheard is None:
                self.unheard = number

    @cached_property
    def _known_unread(self) -> dict[int, str]:
        """The answers that only code read, by the side's steps."""
        return {
            number: each.answers[self.side] for each in self.derivations.unread if (number := each.numbers[self.side])
        }

    def strays(self, load: Callable[[str], JSONValue]) -> list[Stray]:
        """The latest outputs that the probe drew where those of the two runs differ; `load` gives a stored payload."""
        found: list[Stray] = []
        for output in self.derivations.rounds:
            number = output.numbers[self.side]
            given = None if number is None else self.drawn.get(number)
            if number is None or given is None:
                continue
            values = (load(given.ref) if given.ref else given.output, *map(load, output.refs))
            text, base, candidate = (shorten(text_of(output.type, value), _LONGEST) for value in values)
            found.append(Stray(step=number, text=text, base=base, candidate=candidate))
        return found[-_LATEST:]

    def arrive(self, number: int) -> None:
        """Check what code made before a step; raises `OtherState` or `UnknownState`."""
        if self.unheard is not None and number > self.unheard:
            raise UnknownState(_UNSEEN)
        due = [product for product in self.derivations.products if self.checked < product.due[self.side] <= number]
        for product in sorted(due, key=lambda product: (product.due, product.traced)):
            self._check(product)
        self.checked = max(self.checked, number)

    def end(self) -> None:
        """Check what is left when the probe is over."""
        self.arrive(_END)

    def holds(self, number: int) -> bool:
        """Whether everything before a step is as one of the two runs had it."""
        return self._is(self.side, (number, number)) or self._is(1 - self.side, (number, number))

    def _check(self, product: Product) -> None:
        if self._is(self.side, product.due):
            return
        if self._is(1 - self.side, product.due):
            raise OtherState(traced=product.traced)
        self.copied = self.copied or product.copied
        if product.traced or product.copied:
            return
        raise UnknownState(_UNSEEN)

    def _is(self, side: int, due: tuple[int, int]) -> bool:
        """Whether the outputs before a product are those of a run."""
        if side == self.side and self.added:
            return False
        return all(self._agrees(output, side, due) for output in self.derivations.outputs)

    def _agrees(self, output: Output, side: int, due: tuple[int, int]) -> bool:
        own, other = output.numbers[self.side], output.numbers[1 - self.side]
        if own is not None:
            if own >= due[self.side]:
                return True
            wanted = output.answers[side] if output.numbers[side] is not None else None
            return self.given.get(own) == wanted
        if other is None or other >= due[1 - self.side] or side == self.side:
            return True
        return (output.signatures[side], output.answers[side]) in self.added


def _rounds(comparison: Comparison) -> list[Output]:
    """The answers of models by who gave them and for which time: in a loop the rounds of two runs pair otherwise."""
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
        answers=(_given(base), _given(candidate)),
        signatures=(base.signature if base else "", candidate.signature if candidate else ""),
        type=StepType(next(step.type for step in steps if step is not None)),
        refs=(base.output_ref if base else "", candidate.output_ref if candidate else ""),
    )


def _number_of(step: SideStep | None) -> int | None:
    return None if step is None else step.sequence_no


def _given(step: SideStep | None) -> str:
    return "" if step is None else answer(step.status, step.output_ref, None)


def _number(pair: Pair, side: int) -> int | None:
    return _number_of((pair.base, pair.candidate)[side])


def _due(pair: Pair, paired: Sequence[tuple[int, int]], side: int) -> int:
    own = _number(pair, side)
    if own is not None:
        return own
    other = _number(pair, 1 - side)
    assert other is not None  # a pair has at least one side
    return min((numbers[side] for numbers in paired if numbers[1 - side] > other), default=_END)
