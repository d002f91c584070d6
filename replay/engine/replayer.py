"""The replay itself: one way over the source's steps from the fork on, which planning and execution share. Pure.

A step that no change reaches is kept as it is. A step that one reaches is rebuilt and resolved by the chain, and
its new output, where it differs, reaches further. Model answers that ask for other calls are followed.
"""

from collections.abc import Iterator

from replay.calls.call_ids import aligned
from replay.calls.foreseen_steps import Dependence
from replay.calls.unknown_parts import unknown_request
from replay.core.calls import Answer, Call
from replay.core.context import ReplayContext
from replay.core.events import Advance, Divergence, DriverEvent, Event, Resolved
from replay.core.graph import Node
from replay.core.hooks import NO_HOOKS, Hooks, Outcome
from replay.core.payloads import answer_of
from replay.core.wording import UNFOLLOWED
from replay.detection.agent_loops import LOOPED
from replay.engine.computed_outputs import BEGUN, computed
from replay.engine.container_outputs import ContainerOutputs
from replay.engine.reused_ranges import ReusedRanges
from replay.inputs.rebuilt_inputs import flat
from replay.loops import turns
from replay.loops.follower import LoopFollower
from replay.loops.hook_points import said_in, with_added
from replay.loops.replay_parts import replay_parts
from replay.loops.subagents import RAN
from replay.overrides.edits import Edits
from replay.overrides.request_edits import edited_request
from traces.core.vocabulary import StepType

_CALLS = "/message/tool_calls/"
_CALLED = frozenset({StepType.TOOL, StepType.RETRIEVAL, StepType.PROMPT})


class Replayer:
    """Drives one replay; `run` says everything that happens, in order."""

    def __init__(self, context: ReplayContext, hooks: Hooks = NO_HOOKS) -> None:
        self.context = context
        self._parts = parts = replay_parts(context, hooks)
        self.state = parts.state
        self._keeping = ReusedRanges(parts.state, parts.reach)
        self._outputs = ContainerOutputs(context, parts.state, parts.results, parts.implicit, parts.handed)

    @property
    def unreviewed(self) -> list[Call]:
        """Calls that would go live if somebody had reviewed their tools."""
        return self._parts.chain.unreviewed

    @property
    def dependence(self) -> Dependence:
        """What of its profile a plan depends on."""
        return self._parts.foresight.dependence

    def heed_start(self, outcome: Outcome) -> None:
        """What a hook said when the agent started."""
        self._parts.points.heed_start(outcome)

    def run(self) -> Iterator[Event]:
        """Everything that happens, in order; live calls are made as the replay comes to them."""
        with turns.ending(self._parts):
            yield from self._driven(self._steps(None))
        yield from self._driven(self._outputs.before(self.context.graph.last + 1))

    def _driven(self, happenings: Iterator[DriverEvent]) -> Iterator[Event]:
        """The events of `happenings`; where these ask to advance, what happens on the way comes first."""
        stack = [happenings]
        while stack:
            match next(stack[-1], None):
                case None:
                    stack.pop()
                case Advance() as request:
                    stack.append(self._advanced(request))
                case event:
                    self.state.containers.note(event)
                    yield event

    def _advanced(self, request: Advance) -> Iterator[DriverEvent]:
        yield from self._steps(request.before)
        for node in request.close:
            yield from self._outputs.close(node)

    def _steps(self, before: int | None) -> Iterator[DriverEvent]:
        """Come to the steps whose turn it is, those with numbers under `before`."""
        while (node := self.state.queue.next(before)) is not None:
            turns.end(self._parts, node)
            if self.state.containers.are_due(node.no):
                yield from self._keeping.flush()
                yield from self._outputs.before(node.no)
            if self._is_touched(node):
                yield from self._keeping.flush()
                yield from self._step(node)
            else:
                yield from self._keeping.add(node)
        yield from self._keeping.flush()

    def _is_touched(self, node: Node) -> bool:
        """Whether a step is resolved anew: it is changed or reached, or the policy or a hook wants it."""
        context, parts = self.context, self._parts
        if node.no in context.profile.by_step or context.policy.asks_anew(node.type):
            return True
        if parts.points.active and turns.is_awaited(parts, node):
            return True
        return self.state.tasks.is_told(node) or parts.calls.is_reached(node)

    def _step(self, node: Node) -> Iterator[DriverEvent]:
        """Resolve one source step."""
        parts = self._parts
        points, loops = parts.points, parts.loops
        if node.type is StepType.MODEL:
            loop = loops.of(node)
            if loop not in points.stops:
                points.turn_started(loop, loops.before(node), self.state.next_number)
            if loop not in points.stops:
                yield from self._model(node)
                return
        if node.type in LOOPED and loops.of(node) in points.stops:
            yield from turns.stop(parts, node)
        elif node.type is StepType.TOOL:
            yield from turns.tool(parts, node)
        else:
            yield from self._other(node)

    def _other(self, node: Node) -> Iterator[Event]:
        """Resolve a step that is no call of a loop."""
        parts = self._parts
        call = parts.calls.of_step(node)
        answer = parts.chain.resolve(call) if node.type in _CALLED else computed(parts, call)
        yield Resolved(call=call, answer=answer)
        if answer.detail.get(RAN) or answer.detail.get(BEGUN):
            self.state.containers.begin(node, answer)
        else:
            parts.results.settle(node, answer)

    def _model(self, node: Node) -> Iterator[DriverEvent]:
        parts, edits = self._parts, self.context.profile.of(node)
        foresight = parts.foresight
        if foresight.has(node, parts.calls.changed_links(node)):
            yield self._unseen(node, edits, repeats=foresight.repeats(node))
            return
        unknowable = self._is_unknowable(node)
        if unknowable and edits.output is None:
            self.state.histories.unknowable.add(node.no)
            yield self._unseen(node, edits, repeats=False)
            return
        recorded = self.context.recorded_request(node)
        added = parts.points.take(parts.loops.of(node))
        same = not added and self._keeps_messages(node, edits)
        if same:  # the very list, which is then known wherever it is compared or signed
            plain = edited = []
            input = edited_request(recorded, edits.model)
        else:
            plain, edited = (with_added(slots, added) for slots in parts.calls.messages(node, recorded, edits))
            rebuilt = {**recorded, "messages": flat(edited)} if "messages" in recorded else recorded
            input = edited_request(rebuilt, edits.model)
        call = parts.calls.of_model(node, input, recorded, edits)
        if unknowable:
            call = unknown_request(call, self.state)
        answer = said_in(self._with_recorded_ids(node, parts.chain.resolve(call)), added)
        parts.points.answered(call, answer)
        yield Resolved(call=call, answer=answer)
        parts.results.settle(node, answer)
        if not same:
            self.state.histories.rebuilt(node, plain, edited)
        if parts.results.asks_otherwise(node, answer):
            base = parts.calls.messages(node, recorded, edits)[1] if same else edited
            loop = parts.loops.recognition(node)
            if loop.loop is None:
                yield Divergence(text=f"Step {node.no} asks for other tools than recorded, {UNFOLLOWED}. {loop.said}.")
            else:
                yield from LoopFollower(parts, loop.loop, node, call, base, answer).run()

    def _unseen(self, node: Node, edits: Edits, *, repeats: bool) -> Resolved:
        """A model step of a plan whose request is not known, or need not be: nothing of it is rebuilt."""
        call = self._parts.calls.unseen(node, edits, repeats=repeats)
        answer = self._parts.chain.resolve(call)
        self._parts.results.settle(node, answer)
        return Resolved(call=call, answer=answer)

    def _keeps_messages(self, node: Node, edits: Edits) -> bool:
        """Whether a model step is sent the recorded messages: nothing changes them."""
        return not edits.messages and "system" not in edits.prompt and self._is_unreached(node)

    def _is_unreached(self, node: Node) -> bool:
        """Whether nothing that changed before stands in a step's input."""
        return not self.state.tasks.has(node) and not self._parts.calls.is_reached(node)

    def _is_unknowable(self, node: Node) -> bool:
        """Whether what a live call will say stands in this call's messages: then only the call itself can tell."""
        if not self.context.environment.planning:
            return False
        state = self.state
        # What a model asks for is taken to be what was recorded, so whoever was given that knows it.
        links = (link for link in self._parts.handed.links(node.no) if not link.producer_path.startswith(_CALLS))
        return any(
            link.producer in state.histories.unknowable
            or (link.producer in state.changes and not state.changes[link.producer].answered)
            for link in links
        )

    def _with_recorded_ids(self, node: Node, answer: Answer) -> Answer:
        """The answer with the recorded ids on calls that equal the recorded ones: ids say nothing."""
        return aligned(answer, answer_of(self.context.payload(node.output_ref)))
