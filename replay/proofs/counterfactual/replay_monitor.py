"""Monitor of one counterfactual replay: its result, and whether any part of it would be a guess. Pure."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from diffing.content.payload_texts import answer_text
from diffing.sentences.atoms.obstacles import Gap, gap, guess, step_name, unavailable_model
from replay.core.calls import LIVE_REASONS, Answer, Call
from replay.core.events import Divergence, Event, StepResolved, StepsReused
from replay.core.graph import CHECKS, CONTAINERS, Graph, Node
from replay.core.wording import NOT_FOLLOWED, RESULT_KEPT, TURN_LIMIT
from replay.proofs.counterfactual.coupling import Coupling
from replay.proofs.counterfactual.derivations import Derivations, State, StepAnswer, UnknownState
from replay.proofs.counterfactual.outcomes import Result, SignedCall
from traces.core.json_access import as_objects, member
from traces.core.json_types import JSONValue
from traces.core.vocabulary import JudgementKind, JudgementSource, Label, Reason, StepStatus, StepType
from traces.ingest.judgement_rows import NAME_LENGTH
from traces.ingest.outcome_rules import Verdict, validator_kind

CALL_TYPES: Final = frozenset({StepType.MODEL, StepType.TOOL, StepType.RETRIEVAL, StepType.PROMPT})
_EXTERNAL: Final = frozenset({StepType.TOOL, StepType.RETRIEVAL})
FAILED: Final = frozenset({StepStatus.ERROR, StepStatus.TIMEOUT})
_UNFAITHFUL_TEXTS: Final = (NOT_FOLLOWED, RESULT_KEPT, TURN_LIMIT)
_NOT_RUN: Final = JudgementKind.NOT_RUN
_GUESS_REASONS: Final = frozenset({Reason.POLICY_FALLBACK, Reason.SOURCE_OUTPUT_UNVERIFIED, Reason.SIDE_EFFECT_BLOCKED})
Payload = Callable[[str], JSONValue]


class MissingAnswer(Exception):
    """The replay needs an answer that no run recorded, and guesses none. `call`: the call without an answer."""

    def __init__(self, reason: str, call: Call | None = None) -> None:
        super().__init__(reason)
        self.call = call


class UnfaithfulReplay(Exception):
    """From here on, the replay would not do what the agent does."""


@dataclass(frozen=True, kw_only=True)
class _StepOutput:
    """A step's output, by reference if it is the recorded one; `no` is its number in the derived run."""

    no: int
    source: int
    is_known: bool
    is_recorded: bool = False
    ref: str = ""
    output: JSONValue = None
    status: StepStatus = StepStatus.OK


@dataclass
class ReplayMonitor:
    """Observes every event of a replay; raises `MissingAnswer` or `UnfaithfulReplay` at the first guess.

    fresh             a recorded model answer counts as a guess too, because it is not a new sample
    arguments         the question needs the tools' arguments
    state             raises `OtherState` if the agent's code would continue as in the other recording
    assumed_steps     steps assumed to be unaffected, without proof
    borrowed_answers  answers of tools and retrievers that the replayed side did not record
    external_calls    signatures of the calls of tools and retrievers
    unknown           source steps that only the agent's own code can compute
    validators        verdicts of validators, also of those that did not run
    undecided_check   the first check with an unknown outcome
    """

    graph: Graph
    coupling: Coupling
    fresh: bool = False
    arguments: bool = False
    state: State = field(default_factory=lambda: Derivations().state("base"))
    executed_steps: int = 0
    cached_answers: int = 0
    assumed_steps: int = 0
    borrowed_answers: int = 0
    external_calls: list[str] = field(default_factory=list)
    tools: list[SignedCall] = field(default_factory=list)
    validators: list[Verdict] = field(default_factory=list)
    unknown: set[int] = field(default_factory=set)
    undecided_check: int | None = None
    output: _StepOutput | None = None
    answer: _StepOutput | None = None
    last: _StepOutput | None = None

    def observe(self, event: Event, payload: Payload) -> None:
        match event:
            case StepsReused():
                self.assumed_steps += len(event.assumptions)
                for no in range(event.first, event.last + 1):
                    self._observe_reused(self.graph.by_no[no], no + event.offset, payload)
            case StepResolved():
                self._observe_resolution(event)
                self._observe_validator(event, payload)
            case Divergence() if any(text in event.text for text in _UNFAITHFUL_TEXTS):
                raise UnfaithfulReplay(event.text)
            case _:
                pass

    def result(self, payload: Payload) -> Result:
        """The result of the replay; raises `MissingAnswer` if the answer itself is unknown."""
        self._arrive(None)
        final = self.output or self.answer
        if final is not None and not final.is_known:
            raise MissingAnswer(gap(Gap.FINAL_ANSWER_BY_CODE))
        if self._is_output_unlinked():
            raise MissingAnswer(gap(Gap.OUTPUT_UNLINKED))
        value = None if final is None else payload(final.ref) if final.ref else final.output
        failed = None if self.last is None or not self.last.is_known else self.last.status in FAILED
        return Result(
            answer=answer_text(value), failed=failed, tools=tuple(self.tools), validators=tuple(self.validators)
        )

    def _is_output_unlinked(self) -> bool:
        """True if the output was reused only because no recorded link shows what it is made from."""
        if self.output is None or self.answer is None or not self.output.is_recorded or self.answer.is_recorded:
            return False
        return not self.graph.links.get(self.output.source)

    def _arrive(self, number: int | None) -> None:
        """Refuse what the agent's code would derive from a combination of outputs that neither recording has."""
        try:
            if number is None:
                self.state.end()
            else:
                self.state.arrive(number)
        except UnknownState as unknown:
            raise MissingAnswer(str(unknown)) from unknown

    def _observe_reused(self, node: Node, no: int, payload: Payload) -> None:
        self._arrive(node.no)
        self.state.note(node.no, node.signature, StepAnswer(status=node.status, ref=node.output_ref))
        self.coupling.count_call(node.signature)
        if node.type in _EXTERNAL and node.signature:
            self.external_calls.append(node.signature)
        self.refuse_undecided(node.type, step_name(no, node.type, node.callee))
        ref, status = node.output_ref, node.status
        output = _StepOutput(no=no, source=node.no, is_known=True, is_recorded=True, ref=ref, status=status)
        self._note(node.type, output)
        if node.type is StepType.TOOL:
            arguments = payload(node.input_ref) if self.arguments and node.input_ref else None
            signature = self.coupling.reduce(node.signature)
            self.tools.append(SignedCall(tool=node.callee, signature=signature, arguments=arguments))

        if node.type is StepType.VALIDATOR:
            verdict = payload(node.output_ref) if node.output_ref else None
            reason = None if node.replay_output is None else node.replay_output.reason
            kind = validator_kind(node.status, node.reuse_label, verdict, reason)
            self._note_validator(node.name, no, kind if node.status is not StepStatus.UNVERIFIED else _NOT_RUN)

    def _observe_validator(self, event: StepResolved, payload: Payload) -> None:
        """Note the verdict of a validator; one that did not run has none."""
        call, answer = event.call, event.answer
        if call.type is StepType.VALIDATOR and call.node is not None:
            output = payload(answer.output_ref) if answer.output_ref else answer.output
            replay_output = call.node.replay_output if answer.is_reused else None
            reason = None if replay_output is None else replay_output.reason
            kind = _NOT_RUN if answer.label is None else validator_kind(answer.status, answer.label, output, reason)
            self._note_validator(call.node.name, call.no, kind)

    def _note_validator(self, name: str, no: int, kind: JudgementKind | None) -> None:
        if kind is not None:
            source = JudgementSource.VALIDATOR
            self.validators.append(Verdict(name=name[:NAME_LENGTH], kind=kind, source=source, step_no=no))

    def _observe_resolution(self, event: StepResolved) -> None:
        call, answer = event.call, event.answer
        if call.node is not None:
            self._arrive(call.node.no)
        self.executed_steps += 1
        self.cached_answers += answer.action == "cache"
        is_guess = answer.label is None or answer.reason in _GUESS_REASONS
        if call.type in CALL_TYPES:
            _refuse_lost_passages(call)
            self._refuse(call, answer.note if is_guess else "")
            self._refuse_stale(call, answer)
        elif is_guess:
            self.unknown.add(call.node.no if call.node is not None else call.no)
            self.undecided_check = self.undecided_check or (call.no if call.type in CHECKS else None)
        if answer.action == "cache" and call.type in _EXTERNAL:
            self.borrowed_answers += self.coupling.is_borrowed(call.reduced_signature or call.signature)
        self.coupling.count_call(call.reduced_signature or call.signature)
        if call.type in _EXTERNAL and call.signature:
            self.external_calls.append(call.reduced_signature or call.signature)
        output = _StepOutput(
            no=call.no,
            source=call.no if call.node is None else call.node.no,
            is_known=call.type in CALL_TYPES or not is_guess,
            is_recorded=answer.label is Label.EXACT or answer.is_reused,
            ref=answer.output_ref,
            output=answer.output,
            status=answer.status,
        )
        self._note(call.type, output)
        if call.type not in CONTAINERS:
            number = None if call.node is None else call.node.no
            is_override = answer.reason is Reason.OPERATOR_OVERRIDE
            is_new = not (is_override or answer.is_reused or answer.label is Label.EXACT)
            step_answer = StepAnswer(status=answer.status, ref=answer.output_ref, output=answer.output, is_new=is_new)
            self.state.note(number, call.signature, step_answer)
        if call.type is StepType.TOOL:
            signature = call.reduced_signature or self.coupling.reduce(call.signature)
            self.tools.append(SignedCall(tool=call.callee, signature=signature, arguments=call.input))

    def _refuse(self, call: Call, guess_note: str) -> None:
        step = step_name(call.no, call.type, call.callee)
        self.refuse_undecided(call.type, step)
        if guess_note:
            raise MissingAnswer(guess(step, guess_note), call)
        if unknown := self.unknown & set(call.because):
            raise MissingAnswer(gap(Gap.INPUT_UNKNOWN, step=step, number=min(unknown)))

    def _refuse_stale(self, call: Call, answer: Answer) -> None:
        is_new = answer.reason in LIVE_REASONS or answer.reason is Reason.OPERATOR_OVERRIDE
        if self.fresh and call.type is StepType.MODEL and not is_new:
            raise MissingAnswer(unavailable_model(call.model, call.no))

    def refuse_undecided(self, type: StepType, step: str) -> None:
        """Refuse a call after a check with an unknown outcome: it may not be made at all."""
        if self.undecided_check is not None and type in CALL_TYPES:
            raise MissingAnswer(gap(Gap.CHECK_UNDECIDED, step=step, number=self.undecided_check))

    def _note(self, type: StepType, output: _StepOutput) -> None:
        """Remember the last output of each kind; parallel calls arrive in any order."""
        if type is StepType.OUTPUT:
            self.output = _later(self.output, output)
        elif type is StepType.MODEL:
            self.answer = _later(self.answer, output)
        if type not in CONTAINERS and type is not StepType.OUTPUT:
            self.last = _later(self.last, output)


def _refuse_lost_passages(call: Call) -> None:
    """Refuse a request that lacks an edited passage: a changed output before it left no text to edit."""
    passages = [passage for edit in call.edits.messages for passage in edit.passages or ()]
    if not passages:
        return
    texts = [str(message.get("content") or "") for message in as_objects(member(call.input, "messages"))]
    if any(all(passage.after not in text for text in texts) for passage in passages):
        raise MissingAnswer(gap(Gap.CODE_UNSEEN))


def _later(earlier: _StepOutput | None, output: _StepOutput) -> _StepOutput:
    return output if earlier is None or output.no >= earlier.no else earlier
