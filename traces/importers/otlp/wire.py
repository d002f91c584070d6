"""OTLP requests in JSON, as spans and log records with plain attributes."""

import base64
import binascii
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from traces.core.json_access import as_integer, as_list, as_object, as_text, first_member
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedJudgement
from traces.core.step_header import step_view
from traces.importers.files.errors import BadFile
from traces.importers.files.json_reader import require_list, require_object

_HEX: Final = re.compile(r"[0-9a-f]{2,64}")
_CODES: Final = {"STATUS_CODE_OK": 1, "STATUS_CODE_ERROR": 2, 1: 1, 2: 2, "1": 1, "2": 2}
# Kinds of spans by number and by name. Most are internal, which says nothing.
KIND_NAMES: Final = {"2": "SERVER", "3": "CLIENT", "4": "PRODUCER", "5": "CONSUMER"}
_KINDS: Final = {**KIND_NAMES, **{f"SPAN_KIND_{name}": name for name in KIND_NAMES.values()}}
# Sampled, and that it is known whether the parent is remote, as the SDK of Python states of each span.
_USUAL_FLAGS: Final = frozenset({0, 1, 256})
# Numbers of what a span lacks, with their other spelling.
DROP_COUNTS: Final = {
    "droppedAttributesCount": "dropped_attributes_count",
    "droppedEventsCount": "dropped_events_count",
    "droppedLinksCount": "dropped_links_count",
}
_ENVELOPES: Final = (
    *("resourceSpans", "resource_spans", "resourceLogs", "resource_logs"),
    # A collector may write all signals to one file; these have no steps.
    *("resourceMetrics", "resource_metrics", "resourceProfiles", "resource_profiles"),
)
# Names of a request inside the response of an API, or the record of a capture.
_HOLDERS: Final = ("body", "trace", "result")
# Tempo's name for the spans by resource, and what versions of OTLP before 1.0 call those by scope.
_BATCHES: Final = "batches"
_EARLY_SCOPE: Final = "instrumentationLibrary"


@step_view
class SpanEvent:
    """A span event or a log record of a span."""

    name: str
    time: JSONValue
    body: JSONObject


@step_view
class WireSpan:
    trace_id: str
    span_id: str
    name: str
    location: str
    parent_id: str = ""
    start: JSONValue = None
    end: JSONValue = None
    attributes: JSONObject = field(default_factory=dict)
    # Encoded attributes that copy a request's messages; see `dialects.message_copies`.
    message_copies: list[bytes] = field(default_factory=list)
    events: tuple[SpanEvent, ...] = ()
    links: tuple[str, ...] = ()
    failed: bool = False
    message: str = ""
    resource: JSONObject = field(default_factory=dict)
    # Fields of the scope and of the span that have no place of their own, by the names that their attributes get.
    scope: JSONObject = field(default_factory=dict)
    fields: JSONObject = field(default_factory=dict)
    # Annotations in an export of a platform.
    judgements: tuple[RecordedJudgement, ...] = ()

    @property
    def has_ended(self) -> bool:
        return self.end not in (None, "", 0, "0")

    @property
    def is_root(self) -> bool:
        return not self.parent_id


@dataclass(frozen=True, kw_only=True, slots=True)
class WireLog:
    trace_id: str
    span_id: str
    event: SpanEvent
    resource: JSONObject = field(default_factory=dict)
    # As it came in protobuf: a record that occurs twice counts once.
    record: bytes = b""


@dataclass(frozen=True, kw_only=True, slots=True)
class WireNote:
    """A judgement of a span, of which only the id is known."""

    span_id: str
    judgement: RecordedJudgement
    location: str


def is_otlp_request(value: JSONValue) -> bool:
    return isinstance(value, dict) and any(name in value for name in _ENVELOPES)


def find_request_body(value: JSONValue) -> JSONObject | None:
    """Return the request that a value is or contains; None if there is none."""
    body = as_object(value)
    candidates = (body, *(as_object(body.get(name)) for name in _HOLDERS))
    for candidate in candidates:
        if is_otlp_request(candidate):
            return candidate
        # A group without its request, as the exporters of OpenTelemetry for Java log it.
        for group in ("Spans", "Logs"):
            if isinstance(candidate.get(f"scope{group}"), list):
                return {f"resource{group}": [candidate]}
        groups = as_list(candidate.get(_BATCHES))
        if groups and not as_object(groups[0]).keys().isdisjoint({"scopeSpans", f"{_EARLY_SCOPE}Spans"}):
            return {"resourceSpans": groups}
    return None


def read_request(value: JSONValue, location: str) -> Iterator[WireSpan | WireLog]:
    """Yield the spans and log records of one export request."""
    body = require_object(value, location)
    for scope, resource, scope_location in _scopes(body, "resourceSpans", "scopeSpans", location):
        scope_values = _scope(scope, scope_location)
        for span_location, record in _child_records(scope, "spans", scope_location):
            yield span(record, resource, scope_values, span_location)
    for scope, resource, scope_location in _scopes(body, "resourceLogs", "scopeLogs", location):
        for log_location, record in _child_records(scope, "logRecords", scope_location):
            if (record_of_span := log(record, resource, log_location)) is not None:
                yield record_of_span


def resource_attributes(resource: JSONValue, location: str) -> JSONObject:
    """Return the attributes of a resource."""
    return parse_attributes(as_object(resource).get("attributes"), location)


def _scopes(
    body: JSONObject, resource_field: str, scope_field: str, location: str
) -> Iterator[tuple[JSONObject, JSONObject, str]]:
    """Yield each group by scope with the attributes of its resource and its location."""
    for resource_location, resource in _child_records(body, resource_field, location):
        attributes = resource_attributes(resource.get("resource"), f"{resource_location}/resource")
        if schema := as_text(first_member(resource, "schemaUrl", "schema_url")):
            attributes["schemaUrl"] = schema
        early_field = scope_field.replace("scope", _EARLY_SCOPE)
        field = early_field if early_field in resource else scope_field
        for scope_location, scope in _child_records(resource, field, resource_location):
            yield scope, attributes, scope_location


def _child_records(parent: JSONObject, name: str, location: str) -> Iterator[tuple[str, JSONObject]]:
    """Yield location and value of each child in the field `name`, in camel or snake case."""
    snake = re.sub(r"([A-Z])", lambda match: f"_{match[1].lower()}", name)
    children = parent.get(name, parent.get(snake))
    for index, child in enumerate(require_list(children, f"{location}/{name}") if children is not None else []):
        yield f"{location}/{name}/{index}", require_object(child, f"{location}/{name}/{index}")


def span(body: JSONObject, resource: JSONObject, scope: JSONObject, location: str) -> WireSpan:
    """Decode a span. Raises `BadFile` if any part of it cannot be read."""
    status = as_object(body.get("status"))
    links = [_link(as_object(item), location) for item in as_list(body.get("links"))]
    trace_id = _require_id(first_member(body, "traceId", "trace_id"), f"{location}/traceId")
    return WireSpan(
        trace_id=trace_id,
        span_id=_require_id(first_member(body, "spanId", "span_id"), f"{location}/spanId"),
        location=location,
        parent_id=_parse_id(first_member(body, "parentSpanId", "parent_span_id"), f"{location}/parentSpanId"),
        name=as_text(body.get("name")),
        start=first_member(body, "startTimeUnixNano", "start_time_unix_nano"),
        end=first_member(body, "endTimeUnixNano", "end_time_unix_nano"),
        attributes=parse_attributes(body.get("attributes"), f"{location}/attributes"),
        events=tuple(_event(as_object(item), location) for item in as_list(body.get("events"))),
        links=tuple(as_text(link.get("spanId")) for link in links),
        failed=_CODES.get(as_text(status.get("code")) or 0) == 2,
        message=as_text(status.get("message")),
        resource=resource,
        scope=scope,
        fields=span_fields(
            kind=_KINDS.get(as_text(body.get("kind")), ""),
            trace_state=as_text(first_member(body, "traceState", "trace_state")),
            flags=as_integer(body.get("flags")) or 0,
            drop_counts={
                name: count
                for name, snake in DROP_COUNTS.items()
                if (count := as_integer(body.get(name, body.get(snake))))
            },
            links=links,
        ),
    )


def span_fields(
    *, kind: str, trace_state: str, flags: int, drop_counts: Mapping[str, int], links: Sequence[JSONObject]
) -> JSONObject:
    """Return the fields of a span that have no place of their own, by their names in OTLP; not their usual values."""
    fields: JSONObject = {"kind": kind} if kind else {}
    if trace_state:
        fields["traceState"] = trace_state
    if flags not in _USUAL_FLAGS:
        fields["flags"] = flags
    fields |= {name: count for name, count in drop_counts.items() if count}
    if links:
        fields["links"] = [*links]
    return fields


def scope_fields(name: str, version: str, attributes: JSONObject, schema: str) -> JSONObject:
    """Return what is known of a scope, by the names of attributes."""
    fields: JSONObject = {
        "scope": name,
        "scope.version": version,
        "scope.attributes": attributes,
        "scope.schemaUrl": schema,
    }
    return {key: value for key, value in fields.items() if value}


def _scope(group: JSONObject, location: str) -> JSONObject:
    scope = as_object(first_member(group, "scope", _EARLY_SCOPE))
    attributes = parse_attributes(scope.get("attributes"), f"{location}/scope")
    schema = as_text(first_member(group, "schemaUrl", "schema_url"))
    return scope_fields(as_text(scope.get("name")), as_text(scope.get("version")), attributes, schema)


def _link(link: JSONObject, location: str) -> JSONObject:
    """Return a link with plain attributes, without empty fields."""
    fields: JSONObject = {
        "traceId": _parse_id(first_member(link, "traceId", "trace_id"), location),
        "spanId": _parse_id(first_member(link, "spanId", "span_id"), location),
        "traceState": first_member(link, "traceState", "trace_state"),
        "attributes": parse_attributes(link.get("attributes"), f"{location}/links"),
        "droppedAttributesCount": first_member(link, "droppedAttributesCount", "dropped_attributes_count"),
    }
    return {name: value for name, value in fields.items() if value}


def _event(event: JSONObject, location: str) -> SpanEvent:
    body = parse_attributes(event.get("attributes"), f"{location}/events")
    if count := first_member(event, "droppedAttributesCount", "dropped_attributes_count"):
        body["droppedAttributesCount"] = count
    return SpanEvent(
        name=as_text(event.get("name")), time=first_member(event, "timeUnixNano", "time_unix_nano"), body=body
    )


def log(record: JSONObject, resource: JSONObject, location: str) -> WireLog | None:
    """Decode a log record; None if it belongs to no span: others are not part of a run. Raises `BadFile`."""
    trace_id = _parse_id(first_member(record, "traceId", "trace_id"), f"{location}/traceId")
    span_id = _parse_id(first_member(record, "spanId", "span_id"), f"{location}/spanId")
    attributes = parse_attributes(record.get("attributes"), f"{location}/attributes")
    body = _body(record.get("body"), location)
    if not trace_id or not span_id:
        return None
    name = as_text(first_member(record, "eventName", "event_name") or attributes.get("event.name"))
    time = first_member(record, "timeUnixNano", "time_unix_nano", "observedTimeUnixNano", "observed_time_unix_nano")
    payload = body if isinstance(body, dict) else {"body": body} if body is not None else {}
    return WireLog(
        trace_id=trace_id,
        span_id=span_id,
        resource=resource,
        event=SpanEvent(name=name, time=None if time == "0" else time, body={**attributes, **payload}),
    )


def _body(value: JSONValue, location: str) -> JSONValue:
    try:
        return parse_value(value)
    except BadFile as problem:
        raise BadFile(problem.problem, f"{location}/body") from problem


def parse_attributes(value: JSONValue, location: str) -> JSONObject:
    """Return plain attributes from a list of pairs. Raises `BadFile` for any other value."""
    attributes: JSONObject = {}
    for index, entry in enumerate(require_list(value, location) if value is not None else []):
        try:
            pair = require_object(entry, "")
            attributes[as_text(pair.get("key"))] = parse_value(pair.get("value"))
        except BadFile as problem:
            raise BadFile(problem.problem, f"{location}/{index}{problem.where}") from problem
    return attributes


def parse_value(value: JSONValue) -> JSONValue:
    """Return a plain value. Raises `BadFile` with the location below that of its attribute."""
    # Phoenix writes all members, of which one has a value.
    wrapper = {name: item for name, item in as_object(value).items() if item is not None}
    for name, item in wrapper.items():
        match name:
            case "stringValue" | "string_value" | "boolValue" | "bool_value" | "bytesValue" | "bytes_value":
                return item
            case "intValue" | "int_value":
                return _parse_integer(item)
            case "doubleValue" | "double_value":
                return _parse_double(item)
            case "arrayValue" | "array_value":
                return [parse_value(value) for value in as_list(as_object(item).get("values"))]
            case "kvlistValue" | "kvlist_value":
                return parse_attributes(as_object(item).get("values"), "/value")
    return None


def _parse_integer(value: JSONValue) -> int:
    try:
        number = int(as_text(value))
    except ValueError as error:
        raise BadFile(f"“{as_text(value)[:40]}” is not an integer", "/value") from error
    if not -(2**63) <= number < 2**64:
        raise BadFile("an integer beyond 64 bits", "/value")
    return number


def _parse_double(value: JSONValue) -> JSONValue:
    """Return a number, or text for NaN and infinity, which JSON lacks and OTLP writes as names."""
    return value if isinstance(value, int | float) else as_text(value)


def _require_id(value: JSONValue, location: str) -> str:
    identifier = _parse_id(value, location)
    if not identifier:
        raise BadFile("an id is missing or all zero", location)
    return identifier


def _parse_id(value: JSONValue, location: str) -> str:
    """Return an id in hex, also from the base64 of protobuf's JSON form; empty if absent or all zero."""
    raw_id = as_text(value)
    if not raw_id or set(raw_id) == {"0"}:
        return ""
    if len(raw_id) in {16, 32} and _HEX.fullmatch(raw_id.lower()):
        return raw_id.lower()
    try:
        raw = base64.b64decode(raw_id, validate=True)
    except (binascii.Error, ValueError) as error:
        raise BadFile(f"“{raw_id[:40]}” is not a hexadecimal id", location) from error
    if len(raw) not in {8, 16}:
        raise BadFile(f"“{raw_id[:40]}” is not a hexadecimal id", location)
    return raw.hex() if any(raw) else ""
