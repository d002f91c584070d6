"""New tasks of re-run sub-agents, and the inputs they change. Pure."""

from collections.abc import Iterable
from typing import Final

from replay.core.context import ReplayContext
from replay.core.graph import Link, Node
from replay.inputs.changes import Change
from replay.inputs.rebuilt_inputs import replace_outputs
from traces.core.json_types import JSONObject, JSONValue
from traces.core.vocabulary import EdgeKind, StepType

# Step types that receive the task directly, rather than through a model's tool call.
_TASK_RECEIVERS = frozenset({StepType.AGENT, StepType.TURN, StepType.PROMPT, StepType.RETRIEVAL, StepType.PLANNER})
_SYSTEM: Final = ("system", "developer")


class SubAgentTasks:
    """New call arguments ("tasks") by step inside a re-run sub-agent."""

    def __init__(self, context: ReplayContext) -> None:
        self._context = context
        self._tasks: dict[int, Change] = {}
        # Model steps whose messages contain the task.
        self._first_models: set[int] = set()
        # Calling model step, by agent without a tool step.
        self._callers_by_agent: dict[int, int] = {}

    def assign(self, task: Change, steps: Iterable[Node], first: Node | None, *, caller: int | None = None) -> None:
        """Assign a task to steps; the messages of model step `first` contain it."""
        if caller is not None:
            self._callers_by_agent[task.node.no] = caller
        for step in steps:
            self._tasks[step.no] = task
        if first is not None:
            self._first_models.add(first.no)

    def has(self, node: Node) -> bool:
        """True if a step runs for a task other than the recorded one."""
        return node.no in self._tasks

    def changes_input_of(self, node: Node) -> bool:
        """True if a new task changes a step's input directly."""
        if node.no in self._first_models:
            return True
        if node.no not in self._tasks or node.type not in _TASK_RECEIVERS or not node.input_ref:
            return False
        recorded_input = self._context.payload(node.input_ref)
        return replace_outputs(recorded_input, [self._tasks[node.no]]) != recorded_input

    def input_of(self, node: Node, input: JSONValue) -> JSONValue:
        """Input of a step with the recorded task replaced by the new one."""
        task = self._tasks.get(node.no)
        return input if task is None or node.type not in _TASK_RECEIVERS else replace_outputs(input, [task])

    def messages_of(self, node: Node, messages: list[JSONValue]) -> list[JSONValue]:
        """Messages of the first model step with the recorded task replaced by the new one."""
        if node.no not in self._first_models:
            return messages
        return [with_task(message, self._tasks[node.no]) for message in messages]

    def incoming(self, node: Node, link: Link) -> Change | None:
        """Change that reaches a step from the caller of its sub-agent: the call's new arguments."""
        task = self._tasks.get(node.no)
        return task if task is not None and link.producer in self._callers(task.node) else None

    def _callers(self, node: Node) -> set[int]:
        links = self._context.graph.links.get(node.no, ())
        implicit_callers = {self._callers_by_agent[node.no]} if node.no in self._callers_by_agent else set()
        return implicit_callers | {link.producer for link in links if link.kind is EdgeKind.TOOL_CALL_ID}


def with_task(message: JSONValue, task: Change) -> JSONValue:
    """Replace the recorded task in a message; system messages stay unchanged."""
    if not isinstance(message, dict) or message.get("role") in _SYSTEM:
        return message
    with_content: JSONObject = {**message, "content": replace_outputs(message.get("content"), [task])}
    return with_content
