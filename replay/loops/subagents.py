"""Agents that are run by a call of another one: called with another task, they run again. Pure."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from replay.core.calls import Answer, Call, label_key
from replay.core.context import ReplayContext
from replay.core.events import StepSkipped
from replay.core.graph import Node
from replay.detection.implicit_calls import ImplicitCall
from replay.inputs.changes import Change
from replay.inputs.rebuilt_inputs import replaced_in
from replay.state.replay_state import ReplayState
from replay.state.subagent_tasks import with_task
from traces.core.json_types import JSONValue
from traces.core.vocabulary import Label, Reason, StepType

RAN: Final = "ran_anew"


class SubAgents:
    """The sub-agents of one replay that run anew, each for the task of the call that it answers."""

    def __init__(self, context: ReplayContext, state: ReplayState) -> None:
        self._context = context
        self._graph = context.graph
        self._state = state
        self.refused = ""  # why the last call could not be answered so

    def answer(self, call: Call) -> Answer | None:
        """What stands for a call of a recorded sub-agent with other arguments, until its steps have run."""
        self.refused = ""
        if call.node is None or not call.changed or (first := self._first_model(call.node)) is None:
            return None
        self.refused = self._problem(self._task(call, call.node), first)
        if self.refused:
            return None
        return _ran(call.node)

    def called(self, call: Call, answer: Answer) -> Iterator[StepSkipped]:
        """What a tool call's answer means for the steps inside of it."""
        node = call.node
        if node is None or answer.label is Label.EXACT or node.no not in self._graph.children:
            return
        if answer.detail.get(RAN):
            self._begin(call, node, answer)
        else:
            inside = self._graph.inside(node.no)
            yield from self._state.drop(inside, f"Step {node.no} is answered as a whole", told=True)

    def can_answer(self, implicit: ImplicitCall, arguments: JSONValue) -> bool:
        """Whether an agent or a search without a tool step can run for other arguments; `refused` says why not."""
        node, task = implicit.node, _other(implicit, arguments)
        first = self._first_model(node)
        if first is not None:
            self.refused = self._problem(task, first)
        else:
            recorded = self._context.recorded_request(node)
            told = replaced_in(recorded, [task]) != recorded
            self.refused = "" if told else f"how what is asked for reaches step {node.no} cannot be seen"
        return not self.refused

    def begin_without_tool(self, implicit: ImplicitCall, arguments: JSONValue) -> None:
        """From now on an agent or a search without a tool step runs for these arguments."""
        node, first = implicit.node, self._first_model(implicit.node)
        steps = (node, *self._graph.inside(node.no))
        self._state.tasks.give(_other(implicit, arguments), steps, first, asker=implicit.caller)
        if first is not None:
            self._state.containers.begin(node, _ran(node))

    def opened(self, node: Node) -> Answer | None:
        """What stands for a step around others that run for a new task, until they have run."""
        if not self._state.tasks.has(node) or node.no not in self._graph.children:
            return None
        return _ran(node)

    def _begin(self, call: Call, node: Node, answer: Answer) -> None:
        """From now on the steps inside are those of a run for the new arguments."""
        if (first := self._first_model(node)) is not None:
            self._state.tasks.give(self._task(call, node), self._graph.inside(node.no), first)
            self._state.containers.begin(node, answer)

    def _problem(self, task: Change, first: Node) -> str:
        context = self._context
        if "model" not in context.policy.allow:
            return "the policy allows no live model calls"
        if context.environment.provider(first.provider, first.model, None) is None:
            return f"no configured provider serves {first.model or 'its model'}"
        messages = context.recorded_request(first).get("messages")
        if not isinstance(messages, list) or [with_task(message, task) for message in messages] == messages:
            return f"how its task reaches step {first.no} cannot be seen"
        return ""

    def _task(self, call: Call, node: Node) -> Change:
        return Change(node=node, recorded=self._context.payload(node.input_ref), current=call.input)

    def _first_model(self, node: Node) -> Node | None:
        return next((step for step in self._graph.inside(node.no) if step.type is StepType.MODEL), None)


def called_anew(call: Call, node: Node) -> Call:
    """A new call as one of the recorded sub-agent in whose place it is made."""
    return replace(call, node=node, name=node.name, changed=True, differs=("arguments",))


def _other(implicit: ImplicitCall, arguments: JSONValue) -> Change:
    """Other arguments in the place of the recorded ones."""
    return Change(node=implicit.call, recorded=implicit.arguments, current=arguments)


def _ran(node: Node) -> Answer:
    return Answer(
        action="simulate", label=Label.SIMULATED, reason=Reason.LIVE_MODEL, output=None, known=False, source=node,
        detail={**label_key(), RAN: True}, note="Run anew for another task",
    )  # fmt: skip
