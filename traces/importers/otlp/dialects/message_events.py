"""Messages in span events and log records: OpenTelemetry's events of each message, or of a whole call."""

from collections.abc import Iterable, Sequence
from typing import Final

from traces.core.json_access import as_list, as_object, as_text
from traces.core.json_types import JSONObject, JSONValue
from traces.importers.files.json_reader import parse_embedded, parse_shared
from traces.importers.otlp.dialects.sources import Source
from traces.importers.otlp.wire import SpanEvent

_ROLES: Final = {
    "gen_ai.system.message": "system",
    "gen_ai.user.message": "user",
    "gen_ai.assistant.message": "assistant",
    "gen_ai.tool.message": "tool",
}
_CHOICE: Final = "gen_ai.choice"
_PROMPT: Final = "gen_ai.content.prompt"
_COMPLETION: Final = "gen_ai.content.completion"
# Repeats the attributes of its span, or has them in its place.
_DETAILS: Final = "gen_ai.client.inference.operation.details"
_EVENT_NAME: Final = "event.name"


class MessageEvents:
    """The events of a span. Events that no source marks as used are returned by `rest`."""

    def __init__(self, events: Sequence[SpanEvent]) -> None:
        self._events = events
        self._source_events: list[SpanEvent] = []

    def request(self) -> Source:
        """Return the messages of the request."""
        for event in self._events:
            if event.name == _PROMPT:
                return self._source(parse_embedded(event.body.get("gen_ai.prompt")), [event])
        events = [event for event in self._events if event.name in _ROLES]
        messages: list[JSONValue] = [_message(event) for event in events]
        has_content = any(as_object(message).get("content") is not None for message in messages)
        return self._source(messages if has_content else None, events)

    def answer(self) -> Source:
        """Return the first choice; other choices stay events."""
        for event in self._events:
            if event.name == _COMPLETION:
                return self._source(parse_embedded(event.body.get("gen_ai.completion")), [event])
            if event.name == _CHOICE:
                return self._source(_choice(event.body), [event])
        return self._source(None, [])

    def rest(self) -> Sequence[SpanEvent]:
        if not self._source_events:
            return self._events
        return [event for event in self._events if not any(event is source for source in self._source_events)]

    def _source(self, value: JSONValue, events: Iterable[SpanEvent]) -> Source:
        return Source(value=value, use=lambda: self._source_events.extend(events))


def details_attributes(events: Sequence[SpanEvent]) -> JSONObject:
    """Return the attributes in the event of a whole call."""
    return {name: value for event in events if event.name == _DETAILS for name, value in event.body.items()}


def without_details(events: Sequence[SpanEvent], attributes: JSONObject) -> list[SpanEvent]:
    """Leave out events of a whole call that state nothing but the attributes."""
    return [event for event in events if event.name != _DETAILS or not _is_copy(event.body, attributes)]


def events_in_attribute(value: JSONValue) -> list[SpanEvent]:
    """Return the events that pydantic-ai's first format writes into an attribute; empty for any other value."""
    items = [as_object(item) for item in as_list(parse_shared(value))]
    if not all(as_text(item.get(_EVENT_NAME)) for item in items):
        return []
    return [SpanEvent(name=as_text(item[_EVENT_NAME]), time=None, body=item) for item in items]


def _is_copy(body: JSONObject, attributes: JSONObject) -> bool:
    return all(
        parse_shared(value) == parse_shared(attributes.get(name)) for name, value in body.items() if name != _EVENT_NAME
    )


def _message(event: SpanEvent) -> JSONObject:
    body = {key: parse_embedded(value) if key == "tool_calls" else value for key, value in event.body.items()}
    return {**body, "role": _ROLES[event.name]}


def _choice(body: JSONObject) -> JSONObject:
    message = as_object(parse_embedded(body.get("message"))) or {"content": body.get("content")}
    calls = {"tool_calls": parse_embedded(body["tool_calls"])} if "tool_calls" in body else {}
    reason = body.get("finish_reason")
    return {"choices": [{"message": {"role": "assistant", **message, **calls}, "finish_reason": reason}]}
