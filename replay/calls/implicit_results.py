"""Changed results of calls for which no tool step was recorded. Pure."""

from collections.abc import Sequence
from typing import Final

from replay.core.context import ReplayContext
from replay.core.graph import Link, Node
from replay.detection.implicit_calls import KINDS, ImplicitCall, ImplicitCalls
from replay.inputs.changes import Change
from replay.inputs.rebuilt_inputs import render_like, replace_outputs
from replay.state.replay_state import ReplayState
from traces.core.json_types import JSONValue
from traces.core.vocabulary import StepType
from traces.payloads.messages import Documents, ModelAnswer
from traces.payloads.parts import MissingPart

# Possible separators between documents.
_SEPARATORS: Final = ("\n", "\n\n", " ")


class ImplicitResults:
    """Results of agents and searches that answer a call without a tool step."""

    def __init__(self, context: ReplayContext, state: ReplayState, implicit: ImplicitCalls) -> None:
        self._context = context
        self._state = state
        self._implicit = implicit
        # Calls with changed results, by the step that reads them.
        self._calls_by_reader: dict[int, list[ImplicitCall]] = {}

    def links(self, no: int) -> tuple[Link, ...]:
        """Links of a step, including those to changed results without a tool step."""
        links = self._context.graph.links.get(no, ())
        return (*links, *(call.link for call in self._calls_by_reader[no])) if no in self._calls_by_reader else links

    def incoming(self, no: int, link: Link) -> Change | None:
        """Change of a result that step `no` consumes through `link`."""
        return next((self.change(call) for call in self._calls_by_reader.get(no, ()) if call.link == link), None)

    def change(self, call: ImplicitCall) -> Change:
        """Recorded and current result of a call without a tool step."""
        changes = self.changes(call.node)
        return Change(
            node=call.call,
            original=call.content,
            current=self._content(call, changes),
            is_known=all(change.is_known for change in changes),
        )

    def record_change(self, node: Node) -> None:
        """Record that an agent or search changed, and with it the result that it provides."""
        if node.type in KINDS and (call := self._implicit.call_of(node)) is not None:
            self.hand_over(call)

    def hand_over(self, call: ImplicitCall) -> None:
        """Pass the changed result on to the step that reads it."""
        calls = self._calls_by_reader.setdefault(call.reader, [])
        if call not in calls:
            calls.append(call)

    def changes(self, node: Node) -> list[Change]:
        """Changes inside an agent or search, latest first."""
        changes = self._state.changes
        steps = [node] if node.no in changes else self._context.graph.descendants(node.no)
        return [changes[step.no] for step in reversed(steps) if step.no in changes]

    def _content(self, call: ImplicitCall, changes: Sequence[Change]) -> str:
        recorded_content, node = call.content, call.node
        if (
            node.type is StepType.RETRIEVAL
            and changes
            and (text := _join_like_recorded(changes[0], recorded_content)) is not None
        ):
            return text
        for change in changes:
            content = replace_outputs(recorded_content, [change])
            if content != recorded_content:
                return str(content)
        if node.type is StepType.RETRIEVAL:
            return _SEPARATORS[0].join(Documents(changes[0].current).texts) if changes else recorded_content
        output = self._state.containers.outputs.get(node.no)
        if (
            output is not None
            and (text := render_like(self._payload(node.output_ref), recorded_content, output)) is not None
        ):
            return text
        return self._last_text(node) if self._state.tasks.has(node) else recorded_content

    def _last_text(self, node: Node) -> str:
        """Text of an agent's last model answer."""
        last = self._context.graph.last_model(node.no)
        if last is None:
            raise RuntimeError(f"step {node.no} runs for another task but contains no model step")
        change = self._state.changes.get(last.no)
        return ModelAnswer(self._payload(last.output_ref) if change is None else change.current).text

    def _payload(self, ref: str) -> JSONValue:
        """Recorded value; None if it is missing."""
        try:
            return self._context.payload(ref)
        except MissingPart:
            return None


def _join_like_recorded(change: Change, content: str) -> str | None:
    """Join the new documents like the recorded ones; None if the separator is unknown."""
    recorded_texts, current_texts = Documents(change.original).texts, Documents(change.current).texts
    return next(
        (separator.join(current_texts) for separator in _SEPARATORS if separator.join(recorded_texts) == content), None
    )
