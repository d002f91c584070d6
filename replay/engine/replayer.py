"""Replayer: visits the source steps from the fork on; planning and execution share it. Pure.

A step that no change reaches is reused. A step that a change reaches is rebuilt and resolved by the resolver chain;
if its output differs, that change reaches later steps. Model answers with other tool calls are followed.
"""

from collections.abc import Iterator

from replay.calls.call_ids import with_recorded_ids
from replay.calls.foreseen_steps import Dependence, Foreseen
from replay.calls.unknown_parts import unknown_request
from replay.core.calls import Answer, Call
from replay.core.context import ReplayContext
from replay.core.events import Advance, Divergence, DriverEvent, Event, StepResolved
from replay.core.graph import Link, Node
from replay.core.hooks import NO_HOOKS, Hooks, Outcome
from replay.core.values.output_comparison import References
from replay.core.wording import NOT_FOLLOWED
from replay.detection.agent_loops import LOOP_TYPES
from replay.engine.computed_outputs import PROVISIONAL, compute_answer
from replay.engine.container_closing import ContainerCloser
from replay.engine.reused_ranges import ReusedRanges
from replay.inputs.rebuilt_inputs import flat
from replay.inputs.value_pointers import has_place
from replay.loops import turns
from replay.loops.follower import LoopFollower
from replay.loops.hook_points import with_hook_detail, with_messages
from replay.loops.replay_parts import replay_parts
from replay.loops.subagents import RERUN
from replay.overrides.edits import Edits
from replay.overrides.request_edits import apply_model_settings
from replay.resolution.operator_outputs import is_recorded_output
from replay.state.rebuilt_messages import RebuiltMessages
from traces.core.vocabulary import EdgeKind, StepType
from traces.payloads.messages import ModelAnswer

_CALLS = "/message/tool_calls/"
_RESOLVED_TYPES = frozenset({StepType.TOOL, StepType.RETRIEVAL, StepType.PROMPT})


class Replayer:
    """Drives one replay; `run` yields its events in order."""

    def __init__(self, context: ReplayContext, hooks: Hooks = NO_HOOKS) -> None:
        self.context = context
        self._parts = parts = replay_parts(context, hooks)
        self.state = parts.state
        self._references = References()
        self._reused_ranges = ReusedRanges(parts.state, parts.reach)
        self._closer = ContainerCloser(context, parts.state, parts.results, parts.implicit, parts.implicit_results)

    @property
    def unreviewed_calls(self) -> list[Call]:
        """Calls that would go live if their tools were reviewed as safe."""
        return self._parts.chain.unreviewed_calls

    @property
    def dependence(self) -> Dependence:
        """Which overrides the plan depends on."""
        return self._parts.foresight.dependence

    def apply_start_outcome(self, outcome: Outcome) -> None:
        """Apply a hook's decision about the start of the agent."""
        self._parts.points.apply_start_outcome(outcome)

    def run(self) -> Iterator[Event]:
        """Yield the events in order; live calls are made when the replay reaches them."""
        with turns.closing_turns(self._parts):
            yield from self._drive(self._steps(None))
        yield from self._drive(self._closer.close_before(self.context.graph.last + 1))

    def _drive(self, events: Iterator[DriverEvent]) -> Iterator[Event]:
        """Yield the events of a helper; an `Advance` request first runs the steps up to it (a trampoline)."""
        stack = [events]
        while stack:
            match next(stack[-1], None):
                case None:
                    stack.pop()
                case Advance() as request:
                    stack.append(self._advance(request))
                case event:
                    self.state.containers.observe(event)
                    yield event

    def _advance(self, request: Advance) -> Iterator[DriverEvent]:
        yield from self._steps(request.before)
        for node in request.close:
            yield from self._closer.close(node)

    def _steps(self, before: int | None) -> Iterator[DriverEvent]:
        """Visit the queued steps with numbers below `before`."""
        while (node := self.state.queue.next(before)) is not None:
            if self._parts.points.active:
                turns.end_turns(self._parts, node)
            if self.state.containers.are_due(node.no):
                yield from self._reused_ranges.flush()
                yield from self._closer.close_before(node.no)
            if self._must_resolve(node):
                if self._reused_ranges:
                    yield from self._reused_ranges.flush()
                yield from self._resolve_step(node)
            else:
                yield from self._reused_ranges.add(node)
        yield from self._reused_ranges.flush()

    def _must_resolve(self, node: Node) -> bool:
        """True if a step must be resolved: it has overrides, a change reaches it, or policy or hooks require it."""
        context, parts = self.context, self._parts
        if node.no in context.profile.by_step or context.policy.reexecutes(node.type):
            return True
        if node.no in self.state.moved_steps:
            return True
        if parts.points.active and turns.is_affected_by_hook(parts, node):
            return True
        if parts.reach.later_answers(node):
            return True
        return self.state.tasks.changes_input_of(node) or parts.calls.is_reached(node)

    def _resolve_step(self, node: Node) -> Iterator[DriverEvent]:
        """Resolve one source step."""
        parts = self._parts
        points, loops = parts.points, parts.loops
        if node.type is StepType.MODEL:
            loop = loops.key_of(node)
            if loop not in points.stops:
                points.start_turn(loop, loops.before(node), self.state.next_number)
            if loop not in points.stops:
                yield from self._resolve_model(node)
                return
        if node.type in LOOP_TYPES and loops.key_of(node) in points.stops:
            yield from turns.stop_loop(parts, node)
        elif node.type is StepType.TOOL:
            yield from turns.resolve_tool(parts, node)
        else:
            yield from self._resolve_other(node)

    def _resolve_other(self, node: Node) -> Iterator[Event]:
        """Resolve a step other than a model or tool call."""
        parts = self._parts
        call = parts.calls.of_step(node)
        answer = parts.chain.resolve(call) if node.type in _RESOLVED_TYPES else compute_answer(parts, call)
        yield StepResolved(call=call, answer=answer)
        if answer.detail.get(RERUN) or answer.detail.get(PROVISIONAL):
            self.state.containers.open_rerun(node, answer)
        else:
            parts.results.settle(node, answer)

    def _resolve_model(self, node: Node) -> Iterator[DriverEvent]:
        parts, edits = self._parts, self.context.profile.edits_of(node)
        foreseen = parts.foresight.request_of(node, parts.calls.changed_links(node))
        if foreseen is not None:
            yield self._unseen(node, edits, repeats=foreseen is Foreseen.UNCHANGED)
            return
        unknowable = self._is_unknowable(node)
        if unknowable and edits.output is None:
            self.state.histories.unknowable.add(node.no)
            yield self._unseen(node, edits, repeats=False)
            return
        messages = parts.calls.messages(node, edits)
        hook_messages = parts.points.take_messages(parts.loops.key_of(node))
        is_unchanged = not hook_messages and self._keeps_messages(node, edits)
        if not is_unchanged and self._is_answered_by_override(node, edits):
            call = parts.calls.without_request(node, edits, repeats=False)
        else:
            if not is_unchanged:
                parts.calls.rebuild_messages(node, messages)
                messages = with_messages(messages, hook_messages)
            call = self._model_call(node, edits, None if is_unchanged else messages)
        if unknowable:
            call = unknown_request(call, self.state)
        answer = with_hook_detail(self._with_recorded_ids(node, parts.chain.resolve(call)), hook_messages)
        parts.points.record_model_answer(call, answer)
        yield StepResolved(call=call, answer=answer)
        parts.results.settle(node, answer)
        if not is_unchanged:
            self.state.histories.record_rebuilt(node.no, messages)
        if parts.results.requests_other_calls(node, answer):
            yield from self._follow(node, call, messages, answer)

    def _model_call(self, node: Node, edits: Edits, messages: RebuiltMessages | None) -> Call:
        """Call of a model step with these messages; without them, with the recorded ones."""
        request = self.context.recorded_request(node)
        # Without messages, the input is the recorded object itself, whose digest is cached.
        input = request
        if messages is not None and "messages" in request:
            input = {**request, "messages": flat(messages.slots)}
        return self._parts.calls.of_model(node, apply_model_settings(input, edits.model), request, edits)

    def _is_answered_by_override(self, node: Node, edits: Edits) -> bool:
        """True if an override answers a step of a plan whatever its request, and requests no calls.

        Of the request, a plan states only in which fields it differs: the messages, unless other fields are edited.
        """
        if not self.context.environment.planning or edits.output is None or self.state.tasks.has(node):
            return False
        if edits.model and not self.context.brief:
            return False
        output = edits.output.for_step(node.type)
        environment = self.context.environment
        return not ModelAnswer(output).calls and not is_recorded_output(node, output, environment, self._references)

    def _follow(self, node: Node, call: Call, base: RebuiltMessages, answer: Answer) -> Iterator[DriverEvent]:
        """Follow the agent loop of a model step that requests other tool calls than recorded."""
        recognition = self._parts.loops.recognition(node)
        if recognition.loop is None:
            self.state.unfollowed_steps.add(node.no)
            text = f"Step {node.no} requests other tool calls than recorded, {NOT_FOLLOWED}. {recognition.summary}."
            yield Divergence(text=text)
        else:
            yield from LoopFollower(self._parts, recognition.loop, node, call, base, answer).run()

    def _unseen(self, node: Node, edits: Edits, *, repeats: bool) -> StepResolved:
        """Resolve a model step of a plan without building its request."""
        call = self._parts.calls.without_request(node, edits, repeats=repeats)
        answer = self._parts.chain.resolve(call)
        self._parts.results.settle(node, answer)
        return StepResolved(call=call, answer=answer)

    def _keeps_messages(self, node: Node, edits: Edits) -> bool:
        """True if a model step receives its recorded messages."""
        return not edits.messages and "system" not in edits.prompt and self._is_unreached(node)

    def _is_unreached(self, node: Node) -> bool:
        """True if no earlier change reaches a step's input."""
        return not self.state.tasks.has(node) and not self._parts.calls.is_reached(node)

    def _is_unknowable(self, node: Node) -> bool:
        """True if the messages contain the answer of a live call, which a plan does not know."""
        if not self.context.environment.planning:
            return False
        # Assume that the model requests its recorded tool calls; steps that consume only those stay known.
        links = (
            link for link in self._parts.implicit_results.links(node.no) if not link.producer_path.startswith(_CALLS)
        )
        return any(map(self._is_unknown, links))

    def _is_unknown(self, link: Link) -> bool:
        """True if a plan does not know what a changed step puts into an input.

        A text stays as recorded if it quotes what a placeholder does not have.
        """
        if link.kind is EdgeKind.HISTORY and link.producer in self.state.histories.unknowable:
            return True
        change = self.state.changes.get(link.producer)
        if change is None or change.is_known or link.repeats_request:
            return False
        is_placed = link.kind not in (EdgeKind.TEXT, EdgeKind.VALUE) and has_place(change.current, link.producer_path)
        return is_placed or self.state.depends_on_live(link.producer)

    def _with_recorded_ids(self, node: Node, answer: Answer) -> Answer:
        """Restore recorded call ids on tool calls that equal recorded ones; ids carry no meaning."""
        if answer.source is node:
            return answer
        return with_recorded_ids(answer, ModelAnswer(self.context.payload(node.output_ref)).message)
