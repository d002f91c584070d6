"""What the agent's own code derives from earlier outputs, in probes that do not run that code. Pure.

Two recordings show two cases: what the code made of the base's outputs, and of the candidate's. A probe knows no more.
If every differing output before the code ran is that of one of the two runs, the code makes what it made there; in any
other state, its product is unknown.

    base       router says "billing"    -> code -> "Desk 4 owns invoices."
    candidate  router says "technical"  -> code -> "Desk 9 owns devices."
    probe      router says "technical"  -> the candidate's state: continue as the candidate did
    probe      router says "sales"      -> unknown
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from diffing.sentences.atoms.obstacles import Gap, gap
from diffing.sequences.text_diff import shorten
from replay.inputs.copied_values import text_of
from replay.proofs.core.types import Side, Stray
from replay.proofs.counterfactual.answer_wording import AnswerWording, content
from traces.core.json_types import JSONValue
from traces.core.vocabulary import StepStatus, StepType
from traces.payloads.messages import ModelAnswer
from traces.payloads.splitter import split

_SIDES: Final[tuple[Side, Side]] = ("base", "candidate")
END: Final = 1 << 31
# Outputs to report of a probe that could not continue.
_MAX_STRAYS: Final = 4
_MAX_CHARACTERS: Final = 2_000


class OtherState(Exception):
    """The probe is in the other run's state, so the rest must be replayed from that run.

    `is_traced`: recorded data flow shows all that the code does with it, from here on. `strays`: the outputs that led
    to that state.
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
    `final_refs`: the last answers of calls that one run repeats more often.
    """

    numbers: tuple[int | None, int | None]
    answers: tuple[str, str]
    signatures: tuple[str, str]
    type: StepType = StepType.MODEL
    refs: tuple[str, str] = ("", "")
    statuses: tuple[StepStatus | str, StepStatus | str] = (StepStatus.OK, StepStatus.OK)
    is_passed_on: bool = False
    final_refs: tuple[str, str] = ("", "")


@dataclass(frozen=True, kw_only=True, slots=True)
class Product:
    """A step whose input the agent's code made. `due`: the step on each side, or the first one after its place.

    `is_traced`: its input contains values of earlier outputs, which a replay replaces with new ones. `is_assumed`: a
    replay continues in every state, on the assumption that code does nothing else: only both recordings together show
    where the values come from, or code wrote a part of an answer.
    """

    due: tuple[int, int]
    is_traced: bool = False
    is_assumed: bool = False


def no_payload(ref: str) -> JSONValue:
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
    load: Callable[[str], JSONValue] = no_payload
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

    def says_the_same(self, first: StepAnswer, second: StepAnswer) -> bool:
        """Return whether two answers of a model have the same text and request the same calls.

        Recorders differ in what else they keep of an answer, and models give each call a new id.
        """
        answer = self._text_and_calls(first)
        return answer is not None and first.status == second.status and answer == self._text_and_calls(second)

    def _text_and_calls(self, answer: StepAnswer) -> JSONValue:
        """The text and the calls of a model's answer; None if it cannot be read."""
        value = ModelAnswer(self.load(answer.ref) if answer.ref else answer.output)
        calls: list[JSONValue] = [[call.get("name"), call.get("arguments")] for call in value.calls]
        return [value.text, *calls] if value.message else None

    def means_the_same(self, first: StepAnswer, second: StepAnswer) -> bool:
        """Return whether two answers of a model differ in wording only."""
        words = self.wording.words(output.signatures for output in (*self.outputs, *self.rounds))
        if not words or first.status != second.status:
            return False
        return content(self.text(first), words) == content(self.text(second), words)

    def state(self, side: Side) -> "State":
        """The state of a new probe of a side."""
        return State(derivations=self, side=_SIDES.index(side))


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
        if output.type is not StepType.MODEL:
            return False
        if self.derivations.says_the_same(answer, recorded_answer):
            return True
        is_same = self.derivations.means_the_same(answer, recorded_answer)
        self.assumes_code = self.assumes_code or is_same
        return is_same

    def open_assumptions(self, assumed_steps: int) -> int:
        """The steps assumed to be unaffected, none if code got the recorded answers, if need be in other words."""
        return 0 if assumed_steps and self._keeps_meaning() else assumed_steps

    def _keeps_meaning(self) -> bool:
        """Return whether every answer says what the side's recording says at that step."""
        derivations = self.derivations
        known_outputs = {
            number: output
            for output in (*derivations.unused_outputs, *derivations.rounds, *derivations.outputs)
            if (number := output.numbers[self.side]) is not None
        }
        known_answers = {number: answer for number, answer in self.answers.items() if number in known_outputs}
        return (
            not self.added
            and self.new_answers.keys() <= known_answers.keys()
            and all(
                self._is_answer(answer, known_outputs[number], self.side) for number, answer in known_answers.items()
            )
        )

    def strays(self, load: Callable[[str], JSONValue]) -> list[Stray]:
        """The latest new outputs at steps where the two runs differ; `load` reads a stored payload."""
        strays: list[Stray] = []
        for output in self.derivations.rounds:
            number = output.numbers[self.side]
            answer = None if number is None else self.new_answers.get(number)
            if number is None or answer is None:
                continue
            refs = output.final_refs if all(output.final_refs) else output.refs
            values = (load(answer.ref) if answer.ref else answer.output, *map(load, refs))
            text, base, candidate = (shorten(text_of(output.type, value), _MAX_CHARACTERS) for value in values)
            recorded_answers = [
                StepAnswer(status=status, ref=ref) for status, ref in zip(output.statuses, refs, strict=True)
            ]
            is_wording = base != candidate and self.derivations.means_the_same(*recorded_answers)
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
        self.arrive(END)

    def _check(self, product: Product) -> None:
        if self._matches(self.side, product.due):
            return
        if self._matches(1 - self.side, product.due):
            raise OtherState(is_traced=self._is_traced_from(product))
        self.assumes_code = self.assumes_code or product.is_assumed
        if product.is_traced or product.is_assumed:
            return
        if self._matches(self.side, product.due, decisions_only=True):
            self.assumes_code = True
            return
        if self._matches(1 - self.side, product.due, decisions_only=True):
            raise OtherState(is_traced=False)
        raise UnknownState(gap(Gap.CODE_UNSEEN))

    def _is_traced_from(self, product: Product) -> bool:
        """Return whether recorded data flow explains this product and all later ones.

        The other run contains what the code made of its outputs in every one of them.
        """
        due = product.due[self.side]
        return all(later.is_traced for later in self.derivations.products if later.due[self.side] >= due)

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
