"""AWS X-Ray: segments to which the collector and AWS's distribution of OpenTelemetry convert spans.

{"Traces": [{"Id": "1-…", "Segments": [{"Id", "Document": "{\\"id\\", \\"metadata\\": {\\"default\\": …}}"}]}]}

Also the documents alone. Names of attributes in `annotations`, which are indexed, may have underscores for dots.
"""

from collections.abc import Iterator
from typing import Final

from traces.core.json_access import as_list, as_object, as_objects, as_text, has_list
from traces.core.json_types import JSONObject, JSONValue
from traces.importers.files.json_reader import parse_embedded

_PREFIX: Final = "1-"
_RESOURCE: Final = "otel.resource."
_DEFAULT: Final = "default"
_FAILURES: Final = ("fault", "error", "throttle")
# What X-Ray states of a segment beside the attributes of its span.
_FACTS: Final = ("http", "aws", "sql", "origin", "namespace", "user", "service")
_KINDS: Final = {"remote": "CLIENT", "aws": "CLIENT"}


def is_trace(body: JSONObject) -> bool:
    """Return whether an object is a page of traces, a trace, or the document of a segment."""
    return has_list(body, "Traces") or has_list(body, "Segments") or _is_segment(body)


def documents(body: JSONObject) -> Iterator[JSONObject]:
    """Yield the segments of traces, with those inside them, as documents."""
    for trace in as_objects(body.get("Traces")):
        yield from documents(trace)
    for part in as_objects(body.get("Segments")):
        segment = as_object(parse_embedded(part.get("Document")))
        yield from _spans(segment, as_text(segment.get("trace_id")), segment.get("parent_id"))
    if _is_segment(body):
        yield from _spans(body, as_text(body["trace_id"]), body.get("parent_id"))


def _is_segment(body: JSONObject) -> bool:
    return as_text(body.get("trace_id")).startswith(_PREFIX) and {"id", "name", "start_time"} <= body.keys()


def _spans(segment: JSONObject, trace_id: str, parent: JSONValue) -> Iterator[JSONObject]:
    segments = [(segment, parent)]
    while segments:
        body, parent = segments.pop()
        yield _document(body, trace_id, parent)
        segments += [(inner, body.get("id")) for inner in reversed(as_objects(body.get("subsegments")))]


def _document(segment: JSONObject, trace_id: str, parent: JSONValue) -> JSONObject:
    attributes, resource = _attributes(segment)
    exceptions = as_objects(as_object(segment.get("cause")).get("exceptions"))
    facts = {f"xray.{name}": segment[name] for name in _FACTS if segment.get(name)}
    return {
        "context": {"trace_id": trace_id.removeprefix(_PREFIX).replace("-", ""), "span_id": segment.get("id")},
        "parent_id": parent,
        "name": segment.get("name"),
        "kind": f"SpanKind.{_KINDS.get(as_text(segment.get('namespace')), 'INTERNAL')}",
        "start_time": segment.get("start_time"),
        "end_time": segment.get("end_time"),
        "status_code": "ERROR" if any(segment.get(name) is True for name in _FAILURES) else "",
        "status_message": next((as_text(exception.get("message")) for exception in exceptions), ""),
        "attributes": {**attributes, **facts},
        "events": [_event(exception, segment.get("end_time")) for exception in exceptions],
        "links": [
            {"context": {"trace_id": link.get("trace_id"), "span_id": link.get("id")}, **link}
            for link in as_objects(segment.get("links"))
        ],
        "resource": resource,
    }


def _attributes(segment: JSONObject) -> tuple[JSONObject, JSONObject]:
    """Return the attributes of a span and those of its resource, which are in the metadata and the annotations."""
    values: JSONObject = {**as_object(segment.get("annotations"))}
    for group, members in as_object(segment.get("metadata")).items():
        prefix = "" if group == _DEFAULT else f"{group}."
        values |= {f"{prefix}{name}": value for name, value in as_object(members).items()}
    resource = {name.removeprefix(_RESOURCE): value for name, value in values.items() if name.startswith(_RESOURCE)}
    return {name: value for name, value in values.items() if not name.startswith(_RESOURCE)}, resource


def _event(exception: JSONObject, time: JSONValue) -> JSONObject:
    frames = [
        f"{as_text(frame.get('path'))}:{as_text(frame.get('line'))} {as_text(frame.get('label'))}"
        for frame in as_objects(as_list(exception.get("stack")))
    ]
    return {
        "name": "exception",
        "timestamp": time,
        "attributes": {
            "exception.type": exception.get("type"),
            "exception.message": exception.get("message"),
            "exception.stacktrace": "\n".join(frames),
        },
    }
