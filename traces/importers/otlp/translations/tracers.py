"""All translations of spans whose tracers have names of their own."""

from typing import Final

from traces.core.json_types import JSONObject
from traces.importers.otlp.translations import (
    agentops,
    haystack,
    mlflow,
    monocle,
    plain_calls,
    printed_items,
    promptflow,
    spring,
)
from traces.importers.otlp.wire import SpanEvent

# Spans without any of these names need no translation.
MARKS: Final = (
    agentops.MARKS
    | promptflow.MARKS
    | monocle.MARKS
    | mlflow.MARKS
    | spring.MARKS
    | plain_calls.MARKS
    | printed_items.MARKS
    | haystack.MARKS
)


def translate(name: str, attributes: JSONObject, events: list[SpanEvent]) -> tuple[str, JSONObject, list[SpanEvent]]:
    """Return the name, attributes and events of a span under the names of other tracers."""
    for tracer in (promptflow, monocle, printed_items):
        if tracer.is_span(attributes):
            attributes, events = tracer.translate(attributes, events)
    for translation in (agentops, mlflow, spring, plain_calls):
        if translation.is_span(attributes):
            attributes = translation.translate(attributes)
    if haystack.is_span(attributes):
        name, attributes = haystack.span_name(name, attributes), haystack.translate(attributes)
    return name, attributes, events
