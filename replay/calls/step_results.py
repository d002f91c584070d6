"""Record the effect of a step's answer on later steps. Pure."""

from replay.calls.call_ids import requested_calls
from replay.calls.implicit_results import ImplicitResults
from replay.core.calls import Answer
from replay.core.context import ReplayContext
from replay.core.graph import Node
from replay.inputs.changes import Change
from replay.state.replay_state import ReplayState
from traces.core.canonical import digest
from traces.core.json_types import JSONValue
from traces.core.vocabulary import Label, StepType
from traces.payloads.messages import ModelAnswer


class StepResults:
    """Records changed outputs; the only place that writes them."""

    def __init__(self, context: ReplayContext, state: ReplayState, implicit_results: ImplicitResults) -> None:
        self._context = context
        self._state = state
        self._implicit_results = implicit_results

    def settle(self, node: Node, answer: Answer) -> None:
        """Record how a source step's answer differs from the recording."""
        self._state.record_answer(node, answer)
        if answer.label is Label.EXACT and answer.source is node:
            self._state.changes.pop(node.no, None)
            return
        recorded_output = self._context.payload(node.output_ref)
        if _is_same_output(node, recorded_output, answer):
            self._state.changes.pop(node.no, None)
        else:
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


def _is_same_output(node: Node, recorded_output: JSONValue, answer: Answer) -> bool:
    if answer.status is not node.status or (not answer.is_known and recorded_output != answer.output):
        return False
    if node.type is StepType.MODEL and recorded_output is not None and answer.is_known:
        return digest(ModelAnswer(recorded_output).message) == digest(ModelAnswer(answer.output).message)
    return digest(recorded_output) == digest(answer.output)
