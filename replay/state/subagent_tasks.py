"""The tasks of sub-agents that run anew, and the inputs that they change. Pure."""

from collections.abc import Iterable

from replay.core.context import ReplayContext
from replay.core.graph import Link, Node
from replay.inputs.changes import Change
from replay.inputs.rebuilt_inputs import replaced_in
from traces.core.json_types import JSONObject, JSONValue
from traces.core.vocabulary import EdgeKind, StepType

# Steps that are handed the task, not called for by a model inside.
_GIVEN = frozenset({StepType.AGENT, StepType.TURN, StepType.PROMPT, StepType.RETRIEVAL, StepType.PLANNER})
_SYSTEM = frozenset({"system", "developer"})


class SubAgentTasks:
    """By step that runs for another task than it was recorded with: the arguments of the call around it."""

    def __init__(self, context: ReplayContext) -> None:
        self._context = context
        self._tasks: dict[int, Change] = {}
        self._first: set[int] = set()  # the model steps that are told the task
        self._askers: dict[int, int] = {}  # by step that answers without a tool step: the model step that asked

    def give(self, task: Change, steps: Iterable[Node], first: Node | None, *, asker: int | None = None) -> None:
        """From now on these steps run for another task; the model step `first` is told it."""
        if asker is not None:
            self._askers[task.node.no] = asker
        for step in steps:
            self._tasks[step.no] = task
        if first is not None:
            self._first.add(first.no)

    def has(self, node: Node) -> bool:
        """Whether a step runs for another task than it was recorded with."""
        return node.no in self._tasks

    def is_told(self, node: Node) -> bool:
        """Whether a step is given something of a new task directly."""
        if node.no in self._first:
            return True
        if node.no not in self._tasks or node.type not in _GIVEN or not node.input_ref:
            return False
        recorded = self._context.payload(node.input_ref)
        return replaced_in(recorded, [self._tasks[node.no]]) != recorded

    def given(self, node: Node, input: JSONValue) -> JSONValue:
        """The input of a step with the new task's words in the place of the recorded ones."""
        task = self._tasks.get(node.no)
        return input if task is None or node.type not in _GIVEN else replaced_in(input, [task])

    def told(self, node: Node, messages: list[JSONValue]) -> list[JSONValue]:
        """The messages of the first model step with the new task in the place of the recorded one."""
        if node.no not in self._first:
            return messages
        return [with_task(message, self._tasks[node.no]) for message in messages]

    def incoming(self, node: Node, link: Link) -> Change | None:
        """The change that reaches a step inside from the one that called the sub-agent: the call's arguments."""
        task = self._tasks.get(node.no)
        return task if task is not None and link.producer in self._callers(task.node) else None

    def _callers(self, node: Node) -> set[int]:
        links = self._context.graph.links.get(node.no, ())
        asked = {self._askers[node.no]} if node.no in self._askers else set()
        return asked | {link.producer for link in links if link.kind is EdgeKind.TOOL_CALL_ID}


def with_task(message: JSONValue, task: Change) -> JSONValue:
    """A message with a task's words in the place of the recorded ones; what the system says stays."""
    if not isinstance(message, dict) or message.get("role") in _SYSTEM:
        return message
    told: JSONObject = {**message, "content": replaced_in(message.get("content"), [task])}
    return told
