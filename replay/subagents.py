"""Agents that are run by a call of another one: called with another task, they run again. Pure."""

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from replay.answerers import Answering
from replay.graph import Link, Node
from replay.rebuild import Change, replaced_in
from replay.world import Answer, Call, label_key
from traces.json_types import JSONObject, JSONValue
from traces.vocabulary import EdgeKind, Label, Reason, StepType

if TYPE_CHECKING:
    from replay.walk import Walk

RAN: Final = "ran_anew"
# Steps that are handed the task, not called for by a model inside.
_GIVEN: Final = frozenset({StepType.AGENT, StepType.TURN, StepType.PROMPT, StepType.RETRIEVAL, StepType.PLANNER})
_SYSTEM: Final = frozenset({"system", "developer"})


class SubAgents:
    """The sub-agents of one walk that run anew, each for the task of the call that it answers."""

    def __init__(self, walk: "Walk") -> None:
        self._walk = walk
        self._tasks: dict[int, Change] = {}  # by step inside: the arguments of the call around it
        self._first: set[int] = set()  # the model steps that are told the task
        self._askers: dict[int, int] = {}  # by step that answers without a tool step: the model step that asked
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

    def begin(self, call: Call, answer: Answer) -> None:
        """From now on the steps inside are those of a run for the new arguments."""
        node, first = call.node, None if call.node is None else self._first_model(call.node)
        if node is None or first is None:
            return
        task = self._task(call, node)
        for step in self._walk.graph.inside(node.no):
            self._tasks[step.no] = task
        self._first.add(first.no)
        self._walk.closings.begin(node, answer)

    def can_answer(self, answering: Answering, arguments: JSONValue) -> bool:
        """Whether an agent or a search without a tool step can run for other arguments; `refused` says why not."""
        node, task = answering.node, _other(answering, arguments)
        first = self._first_model(node)
        if first is not None:
            self.refused = self._problem(task, first)
        else:
            told = replaced_in(self._walk.recorded_input(node), [task]) != self._walk.recorded_input(node)
            self.refused = "" if told else f"how what is asked for reaches step {node.no} cannot be seen"
        return not self.refused

    def begin_without_tool(self, answering: Answering, arguments: JSONValue) -> None:
        """From now on an agent or a search without a tool step runs for these arguments."""
        node, task = answering.node, _other(answering, arguments)
        self._askers[node.no] = answering.caller
        for step in (node, *self._walk.graph.inside(node.no)):
            self._tasks[step.no] = task
        if (first := self._first_model(node)) is not None:
            self._first.add(first.no)
            self._walk.closings.begin(node, _ran(node))

    def has_task(self, node: Node) -> bool:
        """Whether a step runs for another task than it was recorded with."""
        return node.no in self._tasks

    def is_told(self, node: Node) -> bool:
        """Whether a step is given something of a new task directly."""
        if node.no in self._first:
            return True
        if node.no not in self._tasks or node.type not in _GIVEN or not node.input_ref:
            return False
        recorded = self._walk.world.payload(node.input_ref)
        return replaced_in(recorded, [self._tasks[node.no]]) != recorded

    def given(self, node: Node, input: JSONValue) -> JSONValue:
        """The input of a step with the new task's words in the place of the recorded ones."""
        task = self._tasks.get(node.no)
        return input if task is None or node.type not in _GIVEN else replaced_in(input, [task])

    def opened(self, node: Node) -> Answer | None:
        """What stands for a step around others that run for a new task, until they have run."""
        if node.no not in self._tasks or node.no not in self._walk.graph.children:
            return None
        return _ran(node)

    def incoming(self, node: Node, link: Link) -> Change | None:
        """The change that reaches a step inside from the one that called the sub-agent: the call's arguments."""
        task = self._tasks.get(node.no)
        return task if task is not None and link.producer in self._callers(task.node) else None

    def told(self, node: Node, messages: list[JSONValue]) -> list[JSONValue]:
        """The messages of the first model step with the new task in the place of the recorded one."""
        if node.no not in self._first:
            return messages
        return [_told(message, self._tasks[node.no]) for message in messages]

    def _problem(self, task: Change, first: Node) -> str:
        walk = self._walk
        if "model" not in walk.policy.allow:
            return "the policy allows no live model calls"
        if walk.world.provider(first.provider, first.model, None) is None:
            return f"no configured provider serves {first.model or 'its model'}"
        messages = walk.recorded_input(first).get("messages")
        if not isinstance(messages, list) or [_told(message, task) for message in messages] == messages:
            return f"how its task reaches step {first.no} cannot be seen"
        return ""

    def _task(self, call: Call, node: Node) -> Change:
        recorded = self._walk.world.payload(node.input_ref) if node.input_ref else None
        return Change(node=node, recorded=recorded, current=call.input)

    def _first_model(self, node: Node) -> Node | None:
        return next((step for step in self._walk.graph.inside(node.no) if step.type is StepType.MODEL), None)

    def _callers(self, node: Node) -> set[int]:
        links = self._walk.graph.links.get(node.no, ())
        asked = {self._askers[node.no]} if node.no in self._askers else set()
        return asked | {link.producer for link in links if link.kind is EdgeKind.TOOL_CALL_ID}


def called_anew(call: Call, node: Node) -> Call:
    """A new call as one of the recorded sub-agent in whose place it is made."""
    return replace(call, node=node, name=node.name, changed=True, differs=("arguments",))


def _other(answering: Answering, arguments: JSONValue) -> Change:
    """Other arguments in the place of the recorded ones."""
    return Change(node=answering.call, recorded=answering.arguments, current=arguments)


def _ran(node: Node) -> Answer:
    return Answer(
        action="simulate", label=Label.SIMULATED, reason=Reason.LIVE_MODEL, output=None, known=False, source=node,
        detail={**label_key(), RAN: True}, note="Run anew for another task",
    )  # fmt: skip


def _told(message: JSONValue, task: Change) -> JSONValue:
    if not isinstance(message, dict) or message.get("role") in _SYSTEM:
        return message
    told: JSONObject = {**message, "content": replaced_in(message.get("content"), [task])}
    return told
