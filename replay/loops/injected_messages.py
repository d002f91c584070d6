"""Messages injected between model calls: user turns and retrieved documents. Pure."""

from collections.abc import Iterator, Sequence

from replay.core import wording
from replay.core.events import Divergence, Event
from replay.core.graph import Node
from replay.detection.intermediate_messages import continues_tool_calls, document_places
from replay.detection.loops import Loop
from replay.inputs.rebuilt_inputs import flat, rebuild_slots
from replay.loops.replay_parts import ReplayParts
from traces.core.json_types import JSONValue
from traces.payloads.messages import ModelRequest


class InjectedMessages:
    """Messages injected into a diverged loop, where the recording shows their origin."""

    def __init__(self, parts: ReplayParts, loop: Loop) -> None:
        self._parts = parts
        self._graph = parts.context.graph
        self._loop = loop
        self._is_reported = False

    def documents(self, at: Node, node: Node) -> list[JSONValue]:
        """Retrieved documents that the recording injects between step `at` and model step `node`."""
        result_places = {call.place for call in self._parts.implicit.calls_of([at]).values()}
        messages = self._messages(node)
        places = [place for place in document_places(self._graph, node, messages) if place not in result_places]
        slots = rebuild_slots(messages, None, self._parts.calls.incoming(node)) if places else []
        return flat([slots[place] for place in places])

    def report_missing(self, at: Node) -> Iterator[Event]:
        """Report once why the next call gets no injected messages."""
        text = "" if self._is_reported else self._missing_reason(at)
        if text:
            self._is_reported = True
            yield Divergence(text=text)

    def _missing_reason(self, at: Node) -> str:
        graph, models = self._graph, self._loop.models
        later = next((model for model in models if model.no > at.no), None)
        if later is not None:
            return (
                wording.unknown_injection(later.no) if continues_tool_calls(graph, later, self._messages(later)) else ""
            )
        has_searches = any(document_places(graph, model, self._messages(model)) for model in models)
        return wording.missing_search(self._parts.state.next_number) if has_searches else ""

    def _messages(self, model: Node) -> Sequence[JSONValue]:
        return ModelRequest(self._parts.context.recorded_request(model)).messages
