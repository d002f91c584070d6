"""Sub-agents: re-run when their caller passes other arguments. Pure."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from replay.core.calls import Answer, Call, label_key
from replay.core.context import ReplayContext
from replay.core.events import StepSkipped
from replay.core.graph import Node
from replay.detection.implicit_calls import ImplicitCall
from replay.inputs.changes import Change
from replay.inputs.rebuilt_inputs import replace_outputs
from replay.state.replay_state import ReplayState
from replay.state.subagent_tasks import with_task
from traces.core.json_access import as_list
from traces.core.json_types import JSONValue
from traces.core.vocabulary import Label, Reason, StepType

RERUN: Final = "ran_anew"


class SubAgents:
    """Re-runs of recorded sub-agents with new tasks."""

    def __init__(self, context: ReplayContext, state: ReplayState) -> None:
        self._context = context
        self._graph = context.graph
        self._state = state
        # Why no sub-agent can answer the last call.
        self.refusal = ""

    def answer(self, call: Call) -> Answer | None:
        """Provisional answer of a sub-agent call with new arguments, until its steps have run."""
        self.refusal = ""
        if call.node is None or not call.changed or (first := self._first_model(call.node)) is None:
            return None
        self.refusal = self._problem(self._task(call, call.node), first)
        if self.refusal:
            return None
        return _provisional_answer(call.node)

    def enter_call(self, call: Call, answer: Answer) -> Iterator[StepSkipped]:
        """Re-run or skip the steps inside an answered tool call."""
        node = call.node
        is_recorded = answer.label is Label.EXACT or answer.is_reused
        if node is None or is_recorded or node.no not in self._graph.children:
            return
        if answer.detail.get(RERUN):
            self._begin(call, node, answer)
        else:
            steps = self._graph.descendants(node.no)
            yield from self._state.skip(steps, f"Step {node.no} is answered as a whole", is_reported=True)

    def can_answer(self, implicit: ImplicitCall, arguments: JSONValue) -> bool:
        """True if an agent or search without a tool step can run with new arguments; if not, `refusal` explains why."""
        node, task = implicit.node, _argument_change(implicit, arguments)
        first = self._first_model(node)
        if first is not None:
            self.refusal = self._problem(task, first)
        else:
            request = self._context.recorded_request(node)
            is_reached = replace_outputs(request, [task]) != request
            self.refusal = "" if is_reached else f"the recording does not show how its arguments reach step {node.no}"
        return not self.refusal

    def begin_implicit(self, implicit: ImplicitCall, arguments: JSONValue) -> None:
        """Re-run an agent or search without a tool step with new arguments."""
        node, first = implicit.node, self._first_model(implicit.node)
        steps = (node, *self._graph.descendants(node.no))
        self._state.tasks.assign(_argument_change(implicit, arguments), steps, first, caller=implicit.caller)
        if first is not None:
            self._state.containers.open_rerun(node, _provisional_answer(node))

    def rerun_answer(self, node: Node) -> Answer | None:
        """Provisional answer of a container whose steps run for a new task."""
        if not self._state.tasks.has(node) or node.no not in self._graph.children:
            return None
        return _provisional_answer(node)

    def _begin(self, call: Call, node: Node, answer: Answer) -> None:
        """Re-run the steps inside a call with its new arguments."""
        if (first := self._first_model(node)) is not None:
            self._state.tasks.assign(self._task(call, node), self._graph.descendants(node.no), first)
            self._state.containers.open_rerun(node, answer)

    def _problem(self, task: Change, first: Node) -> str:
        context = self._context
        if "model" not in context.policy.allow:
            return "the policy allows no live model calls"
        if context.environment.provider(first.provider, first.model, None) is None:
            return f"no configured provider serves {first.model or 'its model'}"
        messages = as_list(context.recorded_request(first).get("messages"))
        if [with_task(message, task) for message in messages] == messages:
            return f"the recording does not show how its task reaches step {first.no}"
        return ""

    def _task(self, call: Call, node: Node) -> Change:
        return Change(node=node, original=self._context.payload(node.input_ref), current=call.input)

    def _first_model(self, node: Node) -> Node | None:
        return next((step for step in self._graph.descendants(node.no) if step.type is StepType.MODEL), None)


def as_rerun(call: Call, node: Node) -> Call:
    """Turn a new call into a call of the recorded sub-agent that it replaces."""
    return replace(call, node=node, name=node.name, changed=True, differs=("arguments",))


def _argument_change(implicit: ImplicitCall, arguments: JSONValue) -> Change:
    """Change of the recorded arguments."""
    return Change(node=implicit.call, original=implicit.arguments, current=arguments)


def _provisional_answer(node: Node) -> Answer:
    return Answer(
        action="simulate",
        label=Label.SIMULATED,
        reason=Reason.LIVE_MODEL,
        output=None,
        is_known=False,
        source=node,
        detail={**label_key(), RERUN: True},
        note="Run again with another task",
    )
