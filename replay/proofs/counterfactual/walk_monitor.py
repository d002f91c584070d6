"""Following one counterfactual walk: what it came to, and whether anything in it would have been a guess. Pure."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from diffing.content.payload_texts import answer_text
from replay.core.calls import LIVE_REASONS, Answer, Call
from replay.core.events import Divergence, Event, StepResolved, StepsReused
from replay.core.graph import CHECKS, CONTAINERS, Graph, Node
from replay.core.wording import NOT_FOLLOWED, RESULT_KEPT, TURN_LIMIT
from replay.proofs.counterfactual.coupling import Coupling
from replay.proofs.counterfactual.derivations import Derivations, Given, State, UnknownState
from replay.proofs.counterfactual.outcomes import Result, Used
from traces.core.json_types import JSONValue
from traces.core.vocabulary import Label, Reason, StepStatus, StepType

CALLED: Final = frozenset({StepType.MODEL, StepType.TOOL, StepType.RETRIEVAL, StepType.PROMPT})
_WORLD: Final = frozenset({StepType.TOOL, StepType.RETRIEVAL})
FAILED: Final = frozenset({StepStatus.ERROR, StepStatus.TIMEOUT})
_LOST: Final = (NOT_FOLLOWED, RESULT_KEPT, TURN_LIMIT)
_GUESSED: Final = frozenset({Reason.POLICY_FALLBACK, Reason.SIDE_EFFECT_BLOCKED})
Payload = Callable[[str], JSONValue]


class Missed(Exception):
    """Nobody recorded what the replay would need here; it is not guessed. `call` is what would have to be asked."""

    def __init__(self, why: str, call: Call | None = None) -> None:
        super().__init__(why)
        self.call = call


class Lost(Exception):
    """From here on the replay would not do what the agent does."""


@dataclass(frozen=True, kw_only=True)
class _Said:
    """A step's output, by reference where it is the recorded one; `no` in the derived run."""

    no: int
    source: int
    known: bool
    kept: bool = False
    ref: str = ""
    output: JSONValue = None
    status: StepStatus = StepStatus.OK


@dataclass
class Watch:
    """Sees every event of a walk. Raises `Missed` or `Lost` at the first one that would be a guess.

    In a `fresh` walk a recorded answer of a model would be one as well: it is no new sample. With a `state` it raises
    `OtherState` where the agent's code would go on as in the other recording.
    """

    graph: Graph
    coupling: Coupling
    fresh: bool = False
    arguments: bool = False  # whether the question wants the tools' arguments
    state: State = field(default_factory=lambda: Derivations().state("base"))
    executed: int = 0
    cached: int = 0
    live: int = 0
    assumed: int = 0  # steps that nothing shows to be unaffected, and that are taken to be
    borrowed: int = 0  # answers of tools and retrievers that the replayed side did not record
    world: list[str] = field(default_factory=list)  # the calls of tools and retrievers
    tools: list[Used] = field(default_factory=list)
    unknown: set[int] = field(default_factory=set)  # source steps that only the agent's own code can compute
    undecided: int | None = None  # the first check whose outcome is not known
    output: _Said | None = None
    answer: _Said | None = None
    last: _Said | None = None

    def see(self, event: Event, payload: Payload) -> None:
        match event:
            case StepsReused():
                self.assumed += len(event.assumptions)
                for no in range(event.first, event.last + 1):
                    self._kept(self.graph.by_no[no], no + event.offset, payload)
            case StepResolved():
                self._resolved(event)
            case Divergence() if any(lost in event.text for lost in _LOST):
                raise Lost(event.text)
            case _:
                pass

    def result(self, payload: Payload) -> Result:
        """What the walk came to; raises `Missed` where the answer itself was not computed."""
        self._arrive(None)
        final = self.output or self.answer
        if final is not None and not final.known:
            raise Missed("the last answer is made by code of the agent, which a replay does not run")
        if self._is_cut_off():
            raise Missed("no recorded data flow leads to the output step, so what it gives now is not known")
        value = None if final is None else payload(final.ref) if final.ref else final.output
        failed = None if self.last is None or not self.last.known else self.last.status in FAILED
        return Result(answer=answer_text(value), failed=failed, tools=tuple(self.tools))

    def _is_cut_off(self) -> bool:
        """Whether the output was kept only because nobody recorded what it is made from."""
        if self.output is None or self.answer is None or not self.output.kept or self.answer.kept:
            return False
        return not self.graph.links.get(self.output.source)

    def _arrive(self, number: int | None) -> None:
        """Refuse what the agent's code would derive from outputs that neither recording had together."""
        try:
            if number is None:
                self.state.end()
            else:
                self.state.arrive(number)
        except UnknownState as unknown:
            raise Missed(str(unknown)) from unknown

    def _kept(self, node: Node, no: int, payload: Payload) -> None:
        self._arrive(node.no)
        self.state.note(node.no, node.signature, Given(status=node.status, ref=node.output_ref))
        self.coupling.made_again(node.signature)
        if node.type in _WORLD and node.signature:
            self.world.append(node.signature)
        self.refuse_undecided(node.type, f"step {no} ({node.type} {node.callee})")
        said = _Said(no=no, source=node.no, known=True, kept=True, ref=node.output_ref, status=node.status)
        self._note(node.type, said)
        if node.type is StepType.TOOL:
            arguments = payload(node.input_ref) if self.arguments and node.input_ref else None
            signature = self.coupling.alike(node.signature)
            self.tools.append(Used(tool=node.callee, signature=signature, arguments=arguments))

    def _resolved(self, event: StepResolved) -> None:
        call, given = event.call, event.answer
        if call.node is not None:
            self._arrive(call.node.no)
        self.executed += 1
        self.cached += given.action == "cache"
        self.live += given.reason in LIVE_REASONS
        guessed = given.label is None or given.reason in _GUESSED
        if call.type in CALLED:
            self._refuse(call, given.note if guessed else "")
            self._refuse_stale(call, given)
        elif guessed:
            self.unknown.add(call.node.no if call.node is not None else call.no)
            self.undecided = self.undecided or (call.no if call.type in CHECKS else None)
        if given.action == "cache" and call.type in _WORLD:
            self.borrowed += self.coupling.is_borrowed(call.reduced_signature or call.signature)
        self.coupling.made_again(call.reduced_signature or call.signature)
        if call.type in _WORLD and call.signature:
            self.world.append(call.reduced_signature or call.signature)
        known = call.type in CALLED or not guessed
        said = _Said(
            no=call.no,
            source=call.no,
            known=known,
            kept=given.label is Label.EXACT,
            ref=given.output_ref,
            output=given.output,
            status=given.status,
        )
        self._note(call.type, said)
        if call.type not in CONTAINERS:
            number = None if call.node is None else call.node.no
            drawn = given.reason is not Reason.OPERATOR_OVERRIDE and given.label is not Label.EXACT
            gave = Given(status=given.status, ref=given.output_ref, output=given.output, drawn=drawn)
            self.state.note(number, call.signature, gave)
        if call.type is StepType.TOOL:
            signature = call.reduced_signature or self.coupling.alike(call.signature)
            self.tools.append(Used(tool=call.callee, signature=signature, arguments=call.input))

    def _refuse(self, call: Call, guessed: str) -> None:
        what = f"step {call.no} ({call.type} {call.callee})"
        self.refuse_undecided(call.type, what)
        if guessed:
            raise Missed(f"{what}: {guessed[:1].lower()}{guessed[1:]}", call)
        if unknown := self.unknown & set(call.because):
            raise Missed(f"{what} is given what step {min(unknown)} made, which only the agent's own code can compute")

    def _refuse_stale(self, call: Call, answer: Answer) -> None:
        drawn = answer.reason in LIVE_REASONS or answer.reason is Reason.OPERATOR_OVERRIDE
        if self.fresh and call.type is StepType.MODEL and not drawn:
            raise Missed(f"nothing is configured to ask {call.model or 'the model'} of step {call.no} anew")

    def refuse_undecided(self, type: StepType, what: str) -> None:
        """What comes after a check whose outcome is not known may not come at all."""
        if self.undecided is not None and type in CALLED:
            why = f"comes after the check at step {self.undecided}, which only the agent's own code can decide"
            raise Missed(f"{what} {why}")

    def _note(self, type: StepType, said: _Said) -> None:
        """Remember the last of each kind; calls in parallel come in any order."""
        if type is StepType.OUTPUT:
            self.output = _later(self.output, said)
        elif type is StepType.MODEL:
            self.answer = _later(self.answer, said)
        if type not in CONTAINERS and type is not StepType.OUTPUT:
            self.last = _later(self.last, said)


def _later(known: _Said | None, said: _Said) -> _Said:
    return said if known is None or said.no >= known.no else known
