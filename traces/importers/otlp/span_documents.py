"""Spans as JSON documents instead of OTLP: OpenTelemetry's Python `to_json`, exports of Phoenix and of trace stores.

OpenTelemetry's console exporters print indented documents of spans and of log records among a program's other output.
Some instrumentations write the messages of a call as log records. Phoenix writes spans as documents, as table rows
(`context.span_id`, `attributes.llm.model_name`) and in pages of its REST API. Attributes are flat (`llm.model_name`) or
nested (`{"llm": {"model_name": …}}`).
"""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from traces.core.json_access import as_list, as_object, as_text, first_member, has_list
from traces.core.json_types import JSONObject, JSONValue
from traces.core.json_walk import first_item
from traces.importers.common.times import parse_time
from traces.importers.files.errors import BadFile
from traces.importers.files.file_opener import decode_text
from traces.importers.files.json_reader import json_value, parse_embedded, require_object
from traces.importers.files.python_literals import parse_cell
from traces.importers.files.source import Record
from traces.importers.otlp.clouds import app_insights, cloud_trace, cloudwatch, google_logs, xray
from traces.importers.otlp.consoles import dotnet_console, script_values
from traces.importers.otlp.evaluations import read_annotations
from traces.importers.otlp.stores import (
    devtools,
    genkit,
    honeycomb,
    jaeger,
    langwatch,
    phoenix,
    respan,
    rows,
    search_indexes,
    sentry,
    signoz,
    span_dumps,
    zipkin,
)
from traces.importers.otlp.wire import KIND_NAMES, SpanEvent, WireLog, WireSpan, scope_fields, span_fields

_CONTEXT: Final = "context."
_ATTRIBUTES: Final = "attributes."
_ATTRIBUTE_ROOTS: Final = frozenset(
    {"agent", "embedding", "exception", "gen_ai", "graph", "input", "langfuse", "llm", "openinference", "output"}
    | {"prompt", "reranker", "retrieval", "retriever", "session", "tag", "tool", "traceloop", "user"}
)
# Values of these attributes are JSON: their keys are not attribute names.
_JSON_ATTRIBUTES: Final = re.compile(
    r"^(?:(?:input|output)\.value|tag\.tags|tool\.parameters|gen_ai\..*)$"
    r"|(?:\.|^)(?:metadata|invocation_parameters|json_schema|arguments|variables|messages)$"
)
_COUNT: Final = re.compile(r"\.token_count\.|\.top_k$")
# Members of a span that have fields of their own; columns of a table name attributes and annotations after a dot.
_MEMBERS: Final = frozenset(
    {"context", "trace_id", "span_id", "parent_id", "name", "kind", "span_kind", "start_time", "end_time", "status"}
    | {"status_code", "status_message", "attributes", "events", "links", "resource", "scope", "annotations"}
)
_COLUMNS: Final = re.compile(r"(?:context|attributes|annotations?|eval)\.")
# Kinds of spans as OpenTelemetry for Python prints them.
_KINDS: Final = {f"SpanKind.{name}": name for name in KIND_NAMES.values()}
_JAVA_EXPORTER: Final = b"OtlpJsonLogging"
_JAVA_GROUP: Final = b'{"resource":'
_DOTNET_EXPORTER: Final = b"Activity.TraceId:"
_SCRIPT_NAME: Final = re.compile(rb"^[ \t]+traceId: '", re.M)
_FIRST_LINE: Final = re.compile(r"(?:\}\s*)?\{\s*")
# Names of trace ids in documents, and what a file with such documents contains besides.
_ID_NAMES: Final = (b'"trace_id"', b'"traceId"', b'"TraceID"')
_DOCUMENT_NAMES: Final = (
    *(b'"context"', b'"severity_number"', b'"instrumentationScope"', b'"instrumentationLibrary"'),
    *(b'"_spanContext"', b'"SpanContext"'),
)
# Where programs put the spans of a trace, and what may be around these.
_LISTS: Final = ("data", "spans", "rows", "records", "results", "hits", "entries")
_HOLDERS: Final = ("trace", "data", "result", "hits")
_MOST_LEVELS: Final = 30
_Test = Callable[[JSONObject], bool]
# Traces of stores, and functions that return their spans as documents.
_TRACES: Final[tuple[tuple[_Test, Callable[[JSONObject], Iterable[JSONObject]]], ...]] = (
    (jaeger.is_trace, jaeger.documents),
    (jaeger.is_span, jaeger.documents),
    (sentry.is_transaction, sentry.documents),
    (genkit.is_trace, genkit.documents),
    (langwatch.is_trace, langwatch.documents),
    (devtools.is_trace, devtools.documents),
    (xray.is_trace, xray.documents),
)
# Spans of stores.
_RECORDS: Final[tuple[tuple[_Test, Callable[[JSONObject], JSONObject]], ...]] = (
    (zipkin.is_span, zipkin.document),
    (cloudwatch.is_span, cloudwatch.span_document),
    (app_insights.is_span, app_insights.span_document),
    (google_logs.is_span, google_logs.span_document),
    (respan.is_span, respan.document),
    (honeycomb.is_span, honeycomb.span_document),
    (search_indexes.is_span, search_indexes.span_document),
    (signoz.is_span, signoz.document),
)
# Log records of stores that belong to spans.
_LOGS: Final[tuple[tuple[_Test, Callable[[JSONObject], JSONObject]], ...]] = (
    (cloudwatch.is_log, cloudwatch.log_document),
    (app_insights.is_log, app_insights.log_document),
    (google_logs.is_log, google_logs.log_document),
    (honeycomb.is_event, honeycomb.log_document),
    (search_indexes.is_log, search_indexes.log_document),
)


def is_span_document(value: JSONValue) -> bool:
    """Return whether `value` is a span, a list of spans, or an object that contains spans."""
    head, holder = as_object(next(iter(_span_list(value)), None)), as_object(value)
    if any(test(head) for test, _ in (*_TRACES, *_RECORDS)) or rows.is_row(head) or cloud_trace.is_span(head, holder):
        return True
    return zipkin.is_span(as_object(first_item(value))) or _is_span(head) or span_dumps.is_span(head)


def read_spans(value: JSONValue, location: str) -> Iterator[WireSpan]:
    """Yield the spans of a document."""
    return (record for record in read_records(value, location) if isinstance(record, WireSpan))


def read_records(value: JSONValue, location: str) -> Iterator[WireSpan | WireLog]:
    """Yield the spans of a document, and log records among them."""
    spans = _span_list(value)
    for index, span in enumerate(spans):
        span_location = f"{location}/{index}" if isinstance(value, list) or len(spans) > 1 else location
        if not _is_span(span) and is_log_document(span):
            yield from read_log(as_object(span), span_location)
            continue
        for document in _documents(span, as_object(value)):
            yield _span(require_object(document, span_location), span_location)


def exported_records(value: JSONValue) -> list[JSONValue]:
    """Return the spans and log records in a page of log events or in the tables of a query; empty for anything else."""
    body = as_object(value)
    rows_of_tables = cloudwatch.log_events(value) or app_insights.table_rows(body) or signoz.result_rows(body)
    return rows_of_tables or phoenix.graph_documents(body)


def is_log_document(value: JSONValue) -> bool:
    """Return whether `value` is a log record."""
    body = as_object(value)
    is_record = body.keys() >= {"body", "severity_number", "trace_id", "span_id"}
    return is_record or any(is_log(body) for is_log, _ in _LOGS)


def read_log(record: JSONObject, location: str) -> Iterator[WireLog]:
    """Yield a log record of a span; any other is not part of a run."""
    if document := next((document for is_log, document in _LOGS if is_log(record)), None):
        record = document(record)
    trace_id, span_id = _id(record["trace_id"]), _id(record["span_id"])
    if not trace_id.strip("0") or not span_id.strip("0"):
        return
    body, attributes = record.get("body"), as_object(record.get("attributes"))
    payload = body if isinstance(body, dict) else {"body": body} if body is not None else {}
    time = first_member(record, "timestamp", "observed_timestamp")
    parse_time(time, location)
    yield WireLog(
        trace_id=trace_id,
        span_id=span_id,
        resource=as_object(as_object(record.get("resource")).get("attributes")),
        event=SpanEvent(
            name=as_text(first_member(record, "event_name") or attributes.get("event.name")),
            time=time,
            body={**attributes, **payload},
        ),
    )


def find_documents(data: bytes) -> Iterator[Record | BadFile]:
    """Yield documents of spans and log records among other lines, and a `BadFile` for each broken one.

    They are indented, or at the end of a line of a log.
    """
    if _JAVA_EXPORTER in data:
        yield from _logged_documents(data)
    if _DOTNET_EXPORTER in data:
        yield from dotnet_console.find_spans(decode_text(data))
        return
    is_script = _SCRIPT_NAME.search(data) is not None
    if not is_script and not all(any(name in data for name in names) for names in (_ID_NAMES, _DOCUMENT_NAMES)):
        return
    for number, block in _blocks(decode_text(data)):
        if is_script:
            block = script_values.to_json(block) or block
        if not any(name.decode() in block for name in _ID_NAMES):
            continue
        try:
            value = json_value(block.encode())
        except BadFile as problem:
            yield problem.prefix_location(f"the document at line {number}")
        else:
            if is_span_document(value) or is_log_document(value):
                yield Record(value=value, location=f"line {number}")


def _logged_documents(data: bytes) -> Iterator[Record | BadFile]:
    """Yield the groups of spans that OpenTelemetry for Java writes to a log, after the words about each line."""
    for number, line in enumerate(data.split(b"\n"), 1):
        words, brace, group = line.partition(_JAVA_GROUP)
        if brace and _JAVA_EXPORTER in words:
            try:
                yield Record(value=json_value(brace + group), location=f"line {number}")
            except BadFile as problem:
                yield problem.prefix_location(f"line {number}")


def _blocks(content: str) -> Iterator[tuple[int, str]]:
    """Yield each block from a line `{` to the next line that begins with `}`, with its first line number."""
    start = 0
    lines: list[str] = []
    for number, line in enumerate(content.split("\n"), 1):
        if lines and line.startswith("}"):
            yield start, "\n".join([*lines, "}"])
            lines = []
        if _FIRST_LINE.fullmatch(line):
            if lines:
                yield start, "\n".join(lines)
            start, lines = number, ["{"]
        elif lines:
            lines.append(line)
    if lines:
        yield start, "\n".join(lines)


def _documents(span: JSONValue, holder: JSONObject) -> Iterator[JSONValue]:
    """Yield a span, or the spans of a trace, as documents."""
    body = as_object(span)
    if _is_span(body):
        yield span
    elif traces := next((documents for is_trace, documents in _TRACES if is_trace(body)), None):
        yield from traces(body)
    elif document := next((document for is_record, document in _RECORDS if is_record(body)), None):
        yield document(body)
    elif isinstance(span, list):
        yield from (zipkin.document(body) if zipkin.is_span(body := as_object(item)) else item for item in span)
    elif cloud_trace.is_span(body, holder):
        yield cloud_trace.document(body, holder)
    elif span_dumps.is_span(body) and not _is_span(body):
        yield span_dumps.document(body)
    else:
        yield from rows.documents([span], holder)


def _span_list(value: JSONValue) -> list[JSONValue]:
    if isinstance(value, list):
        return value
    body = as_object(value)
    if _is_span(body):
        return [value]
    if jaeger.is_trace(body) or sentry.is_transaction(body) or langwatch.is_trace(body):
        return [value]
    # The beginning or the end of a span as an event, or a span beside its trace.
    if span_dumps.is_span(as_object(body.get("span"))):
        return [body["span"]]
    for name in _LISTS:
        if has_list(body, name):
            return as_list(body[name])
    for name in _HOLDERS:
        if any(has_list(as_object(body.get(name)), list_name) for list_name in _LISTS):
            return _span_list(body[name])
    return [value]


def _is_span(value: JSONValue) -> bool:
    span = as_object(value)
    return {"trace_id", "span_id"} <= _context(span).keys() and "start_time" in span


def _context(span: JSONObject) -> JSONObject:
    context = as_object(span.get("context"))
    if context:
        return context
    return {name: span[_CONTEXT + name] for name in ("trace_id", "span_id") if _CONTEXT + name in span}


def _span(span: JSONObject, location: str) -> WireSpan:
    context, status, resource = _context(span), as_object(span.get("status")), as_object(span.get("resource"))
    trace_id, span_id = _id(context.get("trace_id")), _id(context.get("span_id"))
    if not trace_id or not span_id:
        raise BadFile("a span needs `trace_id` and `span_id` in its context", f"{location}/context")
    attributes = _flat_attributes(span)
    links = [_link(as_object(item)) for item in as_list(parse_embedded(span.get("links")))]
    if (kind := as_text(span.get("span_kind"))) and "openinference.span.kind" not in attributes:
        attributes["openinference.span.kind"] = kind
    return WireSpan(
        trace_id=trace_id,
        span_id=span_id,
        parent_id=_id(span.get("parent_id")),
        name=as_text(span.get("name")),
        location=location,
        start=span.get("start_time"),
        end=span.get("end_time"),
        attributes=attributes,
        events=tuple(_event(as_object(item)) for item in as_list(parse_cell(span.get("events")))),
        links=tuple(as_text(link.get("spanId")) for link in links),
        failed=as_text(first_member(span, "status_code") or status.get("status_code")).endswith("ERROR"),
        message=as_text(first_member(span, "status_message") or status.get("description")),
        resource=as_object(resource.get("attributes")) or resource,
        scope=_scope(as_object(span.get("scope"))),
        judgements=tuple(read_annotations(span, span_id)),
        fields=_other_members(span)
        | span_fields(
            kind=_KINDS.get(as_text(span.get("kind")), ""),
            trace_state=_trace_state(context),
            flags=0,
            drop_counts={},
            links=links,
        ),
    )


def _other_members(span: JSONObject) -> JSONObject:
    """Return what a store writes beside the members of a span, such as Phoenix's id of it."""
    return {
        name: value
        for name, value in span.items()
        if name not in _MEMBERS and not _COLUMNS.match(name) and value not in (None, "", [], {})
    }


def _scope(scope: JSONObject) -> JSONObject:
    schema = as_text(first_member(scope, "schemaUrl", "schemaurl", "schema_url"))
    return scope_fields(
        as_text(scope.get("name")), as_text(scope.get("version")), as_object(scope.get("attributes")), schema
    )


def _trace_state(context: JSONObject) -> str:
    """Return the state of a trace. OpenTelemetry for Python prints an empty one as `[]`."""
    state = context.get("trace_state")
    return as_text(state) if state != "[]" else ""


def _link(link: JSONObject) -> JSONObject:
    context = _context(link)
    fields: JSONObject = {
        "traceId": _id(context.get("trace_id")),
        "spanId": _id(context.get("span_id")),
        "traceState": _trace_state(context),
        "attributes": as_object(link.get("attributes")),
    }
    return {name: value for name, value in fields.items() if value}


def _id(value: JSONValue) -> str:
    """Convert an id to OTLP's form. OpenTelemetry for Python prints hexadecimal numbers."""
    return as_text(value).removeprefix("0x").lower()


def _event(event: JSONObject) -> SpanEvent:
    return SpanEvent(
        name=as_text(event.get("name")),
        time=event.get("timestamp"),
        body=as_object(parse_embedded(event.get("attributes"))),
    )


def _flat_attributes(span: JSONObject) -> JSONObject:
    """Return the attributes of any form in flat form."""
    columns = {
        (name := key.removeprefix(_ATTRIBUTES)): _cell(name, value)
        for key, value in span.items()
        if key.startswith(_ATTRIBUTES)
    } | as_object(parse_embedded(span.get("attributes")))
    flat: JSONObject = {}
    for name, value in columns.items():
        if name.split(".", 1)[0] in _ATTRIBUTE_ROOTS:
            _flatten(flat, name, value, 0)
        elif value is not None:
            flat[name] = value
    return flat


def _cell(name: str, value: JSONValue) -> JSONValue:
    """Return a column's value, which in a table as CSV is a text: in Python's form, or of a count with a fraction."""
    if not isinstance(value, str) or name.endswith(".value"):
        return value
    return value.removesuffix(".0") if _COUNT.search(name) else parse_cell(value)


def _flatten(flat: JSONObject, name: str, value: JSONValue, level: int) -> None:
    """Add `value` to `flat` under `name`; objects and lists of objects are added member by member."""
    if level > _MOST_LEVELS or _JSON_ATTRIBUTES.search(name) or not isinstance(value, dict | list) or not value:
        if value is not None:
            flat[name] = value
    elif isinstance(value, dict):
        for key, member in value.items():
            _flatten(flat, f"{name}.{key}", member, level + 1)
    elif all(isinstance(member, dict) for member in value):
        for index, member in enumerate(value):
            _flatten(flat, f"{name}.{index}", member, level + 1)
    else:
        flat[name] = value
