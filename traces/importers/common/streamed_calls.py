"""Tool calls of models: those that wait for their tool steps, and those of which a tracer recorded only a part."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from traces.core.json_access import as_list, as_object, as_text
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedStep
from traces.core.vocabulary import StepType
from traces.payloads.messages import Message, ModelAnswer, ModelRequest

_DECODER: Final = json.JSONDecoder()
# The next request comes soon, even among the steps of agents that work at the same time.
_MOST_STEPS: Final = 50
# The name of a tool, and canonical arguments.
_Content = tuple[str, bytes]


def restore_streamed_calls(steps: Sequence[RecordedStep]) -> list[RecordedStep]:
    """Take the calls of such answers from the request that continues the conversation.

    Tracers in JavaScript join parallel calls into one, or leave out its id. **Example:** the call `c1c2` of `findfind`
    with `{"id": 1}{"id": 2}` becomes two calls if the next request contains both of them behind the same messages.
    """
    return [
        _restore(step, steps[index + 1 : index + 1 + _MOST_STEPS])
        if step.type is StepType.MODEL and _is_partial(step)
        else step
        for index, step in enumerate(steps)
    ]


def _is_partial(step: RecordedStep) -> bool:
    calls = ModelAnswer(step.output).calls
    return len(calls) == 1 and (not calls[0].get("id") or isinstance(calls[0].get("arguments"), str))


def _restore(step: RecordedStep, later_steps: Sequence[RecordedStep]) -> RecordedStep:
    answer, messages = ModelAnswer(step.output), as_list(as_object(step.input).get("messages"))
    calls = next((calls for later in later_steps if (calls := _next_calls(messages, later))), [])
    if not messages or calls == answer.calls or not _is_join(answer.calls[0], calls):
        return step
    output: JSONObject = {**as_object(step.output), "message": {**answer.message, "tool_calls": [*calls]}}
    return replace(step, output=output, attributes={**step.attributes, "streamed_calls": [*answer.calls]})


def _next_calls(messages: list[JSONValue], step: RecordedStep) -> list[JSONObject]:
    """Return the calls behind these messages in a later request; none if it is of another conversation."""
    history = ModelRequest(step.input).messages if step.type is StepType.MODEL else []
    count = len(messages)
    return Message(as_object(history[count])).calls if len(history) > count and history[:count] == messages else []


def _is_join(joined_call: JSONObject, calls: list[JSONObject]) -> bool:
    """Return whether a call may be these calls, joined."""
    names, ids = ([as_text(call.get(key)) for call in calls] for key in ("name", "id"))
    return (
        [call.get("arguments") for call in calls] == _documents(joined_call.get("arguments"))
        and as_text(joined_call.get("name")) in ("".join(names), *names)
        and as_text(joined_call.get("id")) in ("", "".join(ids), *ids)
    )


def _documents(arguments: JSONValue) -> list[JSONValue]:
    """Split JSON documents that follow each other without a separator."""
    if not isinstance(arguments, str):
        return [arguments]
    documents: list[JSONValue] = []
    position = 0
    try:
        while position < len(arguments):
            document, position = _DECODER.raw_decode(arguments, position)
            documents.append(document)
    except (ValueError, RecursionError):
        return [arguments]
    return documents


class Call(NamedTuple):
    """A model's tool call."""

    name: str
    arguments: JSONObject
    # Canonical, so that equal arguments have equal bytes.
    data: bytes
    id: str

    @property
    def content(self) -> _Content:
        return self.name, self.data


class OpenCalls:
    """The calls that no tool step has answered, in order, by their ids and by their contents."""

    def __init__(self) -> None:
        self._by_id: dict[str, dict[_Content, Call]] = {}
        self._by_content: dict[_Content, dict[str, Call]] = {}

    def add(self, calls: Iterable[Call]) -> None:
        """Add calls; later requests repeat them."""
        for call in calls:
            self._by_id.setdefault(call.id, {}).setdefault(call.content, call)
            self._by_content.setdefault(call.content, {}).setdefault(call.id, call)

    def close_id(self, id: str) -> Call | None:
        """Remove all calls with this id, and return the first."""
        calls = self._by_id.pop(id, {})
        for content in calls:
            del self._by_content[content][id]
        return next(iter(calls.values()), None)

    def close_content(self, content: _Content) -> Call | None:
        """Remove and return the first call of this tool with these arguments."""
        call = next(iter(self._by_content.get(content, {}).values()), None)
        if call is not None:
            del self._by_content[content][call.id], self._by_id[call.id][content]
        return call
