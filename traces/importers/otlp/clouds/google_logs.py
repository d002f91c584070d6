"""Google Cloud Logging: entries with the events of spans, and entries whose payload is a span.

{"logName", "trace": "projects/shop/traces/0af7…", "spanId", "labels": {"event.name": …}, "jsonPayload": {…}}
"""

from typing import Final

from traces.core.json_access import as_object, as_text, first_member, has_object
from traces.core.json_types import JSONObject

_LINKS: Final = frozenset({"logName", "trace", "spanId"})
_PAYLOADS: Final = ("jsonPayload", "textPayload")
_NAME: Final = "event.name"


def is_span(entry: JSONObject) -> bool:
    """Return whether the payload of an entry is a span, as an exporter to logs writes it."""
    payload = as_object(entry.get("jsonPayload"))
    return "logName" in entry and has_object(payload, "context") and "start_time" in payload


def is_log(entry: JSONObject) -> bool:
    return entry.keys() >= _LINKS and not entry.keys().isdisjoint({*_PAYLOADS, "labels"}) and not is_span(entry)


def span_document(entry: JSONObject) -> JSONObject:
    return as_object(entry["jsonPayload"])


def log_document(entry: JSONObject) -> JSONObject:
    """Return an entry as a log record of its span."""
    labels = as_object(entry.get("labels"))
    return {
        "trace_id": as_text(entry["trace"]).rpartition("/")[2],
        "span_id": entry["spanId"],
        "severity_number": 0,
        "timestamp": entry.get("timestamp"),
        "body": first_member(entry, *_PAYLOADS),
        # Of a log of its own, an event has the name in that of the log.
        "attributes": {**labels, _NAME: labels.get(_NAME) or as_text(entry["logName"]).rpartition("/")[2]},
    }
