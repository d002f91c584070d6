"""Results of tools as the text of recorded messages, found once for all plans of a source. Pure."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from replay.core.graph import Link, Node
from replay.inputs.changes import Change
from replay.inputs.rebuilt_inputs import Rendering, message_place, rendering_of
from traces.core.json_access import as_object
from traces.core.json_types import JSONObject, JSONValue
from traces.core.vocabulary import EdgeKind, StepType

_CONTENT = "/content"
# Reads the messages of a recorded request from an index on.
ReadMessages = Callable[[str, int], Sequence[JSONValue]]


@dataclass(frozen=True, kw_only=True, slots=True)
class _Result:
    """A message whose text is the result of a tool, and how the result is written."""

    message: JSONObject
    rendering: Rendering


@dataclass
class RecordedResults:
    """Messages of recorded requests that are results of tools, by the step that reads them and its link."""

    _results: dict[tuple[int, int, str], _Result | None] = field(default_factory=dict)

    def replacements(
        self,
        reader: Node,
        links: Sequence[Link],
        changes: Mapping[int, Change],
        read_messages: ReadMessages,
        texts: dict[tuple[int, int], str],
    ) -> list[JSONValue] | None:
        """The messages with changed results; None if a link does not lead to a whole text, or two lead to one.

        `texts` are the new results that are written already, by the identities of rendering and result.
        """
        if len({link.consumer_path for link in links}) < len(links):
            return None
        messages: list[JSONValue] = []
        for link in links:
            change = changes[link.producer]
            if (result := self._result(reader, link, change, read_messages)) is None:
                return None
            key = id(result.rendering), id(change.current)
            if key not in texts:
                texts[key] = result.rendering(change.current)
            messages.append({**result.message, "content": texts[key]})
        return messages

    def _result(self, reader: Node, link: Link, change: Change, read_messages: ReadMessages) -> _Result | None:
        key = reader.no, link.producer, link.consumer_path
        if key not in self._results:
            self._results[key] = _find_result(reader, link, change, read_messages)
        return self._results[key]


def _find_result(reader: Node, link: Link, change: Change, read_messages: ReadMessages) -> _Result | None:
    index, rest = message_place(link.consumer_path)
    is_result = link.kind is EdgeKind.TOOL_CALL_ID and change.node.type is StepType.TOOL and not link.copies
    if not is_result or rest != _CONTENT or index is None:
        return None
    message = as_object(next(iter(read_messages(reader.input_ref, index)), None))
    content = message.get("content")
    if not isinstance(content, str):
        return None
    return _Result(message=message, rendering=rendering_of(change.original, content))
