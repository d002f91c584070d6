"""The first recorded step that an override changes, with its payloads."""

from replay.core.graph import Graph, Node
from replay.core.step_selectors import StepsByName
from replay.overrides.fork_changes import RecordedCall
from replay.overrides.profile import Override
from replay.store.payload_reader import Payloads
from traces.core.json_types import JSONValue
from traces.payloads.parts import MissingPart


class RecordedCalls:
    """Finds the recorded step of an override; reads only the payload that the override changes."""

    def __init__(self, graph: Graph, payloads: Payloads) -> None:
        self._steps = StepsByName(graph)
        self._payloads = payloads

    def __call__(self, entry: Override) -> RecordedCall | None:
        node = self._first_step(entry)
        if node is None:
            return None
        changes_answer = {"tool", "output"} & {*entry.sets} or (entry.retrieval and entry.retrieval.documents)
        changes_request = {*entry.sets} - {"tool", "output"}
        return RecordedCall(
            name=node.callee,
            model=node.model,
            provider=node.provider,
            input=self._payload(node.input_ref) if changes_request else None,
            output=self._payload(node.output_ref) if changes_answer else None,
        )

    def _first_step(self, entry: Override) -> Node | None:
        if entry.match.step is not None:
            return self._steps.by_reference(str(entry.match.step))
        return next(iter(self._steps.matches(entry)), None)

    def _payload(self, ref: str) -> JSONValue:
        try:
            return self._payloads(ref) if ref else None
        except MissingPart:
            return None
