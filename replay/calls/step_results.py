"""Record the effect of a step's answer on later steps. Pure."""

from collections.abc import Callable

from replay.calls.call_ids import requested_calls
from replay.calls.implicit_results import ImplicitResults
from replay.core.calls import Answer
from replay.core.context import ReplayContext
from replay.core.graph import Node
from replay.core.values.output_comparison import References, is_same_answer
from replay.inputs.changes import Change
from replay.inputs.placeholders import is_placeholder
from replay.state.replay_state import ReplayState
from traces.core.json_types import JSONObject
from traces.core.vocabulary import Label, Reason, StepType
from traces.payloads.messages import ModelAnswer


class StepResults:
    """Records changed outputs; the only place that writes them."""

    def __init__(
        self,
        context: ReplayContext,
        state: ReplayState,
        implicit_results: ImplicitResults,
        assumption: Callable[[Node], JSONObject | None],
    ) -> None:
        self._context = context
        self._state = state
        self._implicit_results = implicit_results
        self._assumption = assumption
        self._references = References()

    def settle(self, node: Node, answer: Answer) -> None:
        """Record how a source step's answer differs from the recording."""
        self._state.record_answer(node, answer)
        if answer.is_known and answer.label is not Label.EXACT and self._assumption(node) is not None:
            if answer.reason is Reason.OPERATOR_OVERRIDE:
                # Whatever the request, this is the answer; but what continues the conversation repeats the request.
                self._state.assumed_requests.add(node.no)
            else:
                # Another request, with content that the change may reach as well, could get another answer.
                self._state.assumed_steps.add(node.no)
        if self._has_recorded_output(node, answer):
            self._state.changes.pop(node.no, None)
        else:
            recorded_output = self._context.unread(node.output_ref)
            self.record_change(
                Change(node=node, original=recorded_output, current=answer.output, is_known=answer.is_known)
            )

    def record_change(self, change: Change) -> None:
        """Record that a step's output differs from the recording."""
        self._state.record_change(change)
        self._implicit_results.record_change(change.node)

    def requests_other_calls(self, node: Node, answer: Answer) -> bool:
        """True if a known answer requests other tool calls than the recorded one."""
        change = self._state.changes.get(node.no)
        if change is None or not answer.is_known:
            return False
        return requested_calls(ModelAnswer(change.original).message) != requested_calls(
            ModelAnswer(change.current).message
        )

    def _has_recorded_output(self, node: Node, answer: Answer) -> bool:
        if answer.source is node and (answer.label is Label.EXACT or answer.is_reused or answer.output_ref):
            return True
        if answer.status is not node.status:
            return False
        if answer.reason is Reason.POLICY_FALLBACK and node.replay_output is not None and node.output_ref:
            # A plan need not know why there is no answer, which the text of a placeholder states.
            return is_placeholder(self._context.payload(node.output_ref))
        if node.type is StepType.MODEL and node.output_ref and answer.is_known:
            return is_same_answer(self._context.payload(node.output_ref), answer.output)
        return self._references.reference_of(answer.output) == node.output_ref
