"""Container closing: decide when a container closes, emit its result, and record its change. Pure.

`container_outputs.py` derives the output and its label.
"""

from collections.abc import Iterator, Sequence

from replay.calls.implicit_results import ImplicitResults
from replay.calls.step_results import StepResults
from replay.core.calls import SEVERITY
from replay.core.context import ReplayContext
from replay.core.events import ContainerClosed, Divergence, Event
from replay.core.graph import CONTAINERS, Node
from replay.core.wording import result_kept
from replay.detection.implicit_calls import ImplicitCalls
from replay.engine.container_outputs import ContainerOutput, OutputDerivation
from replay.inputs.changes import Change
from replay.state.open_containers import ChangedChildren
from replay.state.replay_state import ReplayState
from traces.core.canonical import digest
from traces.core.vocabulary import Label, Reason, StepType


class ContainerCloser:
    """Closes containers with children that differ from the recording."""

    def __init__(
        self,
        context: ReplayContext,
        state: ReplayState,
        results: StepResults,
        implicit: ImplicitCalls,
        implicit_results: ImplicitResults,
    ) -> None:
        self._context = context
        self._state = state
        self._results = results
        self._implicit = implicit
        self._implicit_results = implicit_results

    def close_before(self, no: int) -> Iterator[Event]:
        """Close the containers that end before step `no`, inner ones first."""
        while self._state.containers.are_due(no):
            yield from self.close(self._state.containers.next_due())

    def close(self, node: Node) -> Iterator[Event]:
        """Close a container if a child differs from the recording."""
        children = self._state.containers.close(node)
        if children is None:
            return
        for inner in reversed(self._context.graph.descendants(node.no)):
            yield from self.close(inner)
        if node.no not in self._state.skipped_steps and not self._is_settled(node):
            yield from self._end(node, children)
            yield from self._hand_over(node)

    def _is_settled(self, node: Node) -> bool:
        """True if an override, a cache or a placeholder answered the container itself."""
        state = self._state
        if node.no in state.containers.reruns:
            return False
        label, reason = state.labels.get(node.no, (Label.EXACT, Reason.SOURCE_OUTPUT_REUSED))
        is_answered = label is not Label.EXACT and reason is not Reason.SOURCE_OUTPUT_REUSED
        is_overridden = node.no in state.changes or node.no in self._context.profile.by_step
        return is_answered or is_overridden or node.lacks("output")

    def _end(self, node: Node, children: ChangedChildren) -> Iterator[Event]:
        """Emit a container's result; record its label and, if its output changed, its change."""
        state = self._state
        recorded_output = self._context.payload(node.output_ref)
        result = OutputDerivation(self._context, state, node, children).result()
        yield self._event(node, result)
        state.labels[node.no] = result.label, result.reason
        if any(map(state.depends_on_live, result.origins)):
            state.containers.live.add(node.no)
        if result.is_assumed:
            state.assumed_steps.add(node.no)
        if digest(result.output) != digest(recorded_output):
            state.containers.outputs[node.no] = result.output
            if node.type not in CONTAINERS:
                is_known = all(state.changes[no].is_known for no in result.origins if no in state.changes)
                change = Change(node=node, original=recorded_output, current=result.output, is_known=is_known)
                self._results.record_change(change)
        elif result.is_assumed and node.type is StepType.TOOL:
            last = self._context.graph.last_model(node.no)
            if last is not None and last.no in state.changes:
                yield Divergence(text=result_kept(last.no, node.no))

    def _event(self, node: Node, result: ContainerOutput) -> ContainerClosed:
        numbers = self._state.numbers
        return ContainerClosed(
            node=node,
            no=numbers.get(node.no, node.no),
            output=result.output,
            label=result.label,
            reason=result.reason,
            output_from=tuple(numbers.get(no, no) for no in result.origins),
            note=result.note,
        )

    def _hand_over(self, node: Node) -> Iterator[Event]:
        """Pass on the changed result of an agent that answers a call without a tool step."""
        state, graph = self._state, self._context.graph
        if node.type not in CONTAINERS or node.no in state.changes or (call := self._implicit.call_of(node)) is None:
            return
        linked_producers = {link.producer for link in graph.links.get(call.reader, ())}
        changes = self._implicit_results.changes(node)
        if not changes or any(change.node.no in linked_producers for change in changes):
            # Provenance already links the result to its origin
            return
        change = self._implicit_results.change(call)
        if change.current == change.original:
            if changes[0].node is graph.last_model(node.no):
                yield Divergence(text=result_kept(changes[0].node.no, node.no))
            return
        state.labels[node.no] = self._weakest_label(node, changes)
        self._results.record_change(change)
        self._implicit_results.hand_over(call)

    def _weakest_label(self, node: Node, changes: Sequence[Change]) -> tuple[Label, Reason]:
        """Weakest label of a container and of the changed children that its result may come from."""
        labels = [*(self._state.label_of(change.node) for change in changes), self._state.label_of(node)]
        return max(labels, key=lambda label: SEVERITY[label[0]])
