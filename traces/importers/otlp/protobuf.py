"""OTLP requests in protobuf, read with lean descriptors: what is not needed yet stays bytes.

Decoding a message is cheap; making Python objects of its values is not. A request is therefore read down to its spans
as bytes, a span down to its attributes as bytes. Requests of traces and of logs have the same structure: groups by
resource, in them groups by scope, in them the spans or log records.

    request    1: groups
    group      1: resource (bytes)   2: scope groups
    scope group 1: scope (bytes)     2: records (bytes)
"""

import base64
from collections.abc import Iterable
from functools import lru_cache
from math import isfinite
from typing import Any, Final

from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto, FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import DecodeError
from google.protobuf.message_factory import GetMessageClass
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, InstrumentationScope, KeyValue
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from traces.core.json_access import as_text
from traces.core.json_types import JSONObject, JSONValue
from traces.importers.otlp import wire
from traces.importers.otlp.raw_spans import check_ids, check_time
from traces.importers.otlp.wire import SpanEvent, WireLog, WireSpan

# In an attribute, the name follows a tag and its length.
_NAME_START: Final = 2
_MESSAGE_COPY: Final = b"llm.input_messages."
# The tags of the first and second field, if they have a length, and the longest length of one byte.
_TAG_1: Final = 0x0A
_TAG_2: Final = 0x12
_ONE_BYTE: Final = 0x7F
# Programs send few different resources.
_MOST_RESOURCES: Final = 256
# Of attributes that may repeat: their length in bytes, and their number.
_SHORT: Final = 500
_MOST_ATTRIBUTES: Final = 4_096
_KINDS: Final = {int(number): name for number, name in wire.KIND_NAMES.items()}
_MOST_FIELDS: Final = 256
_PACKAGE: Final = "forkpoint.otlp"
_BYTES: Final = FieldDescriptorProto.TYPE_BYTES
_FIXED64: Final = FieldDescriptorProto.TYPE_FIXED64
_MESSAGE: Final = FieldDescriptorProto.TYPE_MESSAGE
_INT32: Final = FieldDescriptorProto.TYPE_INT32
_UINT32: Final = FieldDescriptorProto.TYPE_UINT32
_FIXED32: Final = FieldDescriptorProto.TYPE_FIXED32
# Name, number, type, and whether it is repeated; a text as the type is the name of a message.
_Field = tuple[str, int, "int | str", bool]
_MESSAGES: Final[dict[str, tuple[_Field, ...]]] = {
    "Request": (("groups", 1, "Group", True),),
    "Group": (("resource", 1, _BYTES, False), ("scopes", 2, "ScopeGroup", True), ("schema", 3, _BYTES, False)),
    "ScopeGroup": (("scope", 1, _BYTES, False), ("records", 2, _BYTES, True), ("schema", 3, _BYTES, False)),
    "SpanHead": (
        ("trace_id", 1, _BYTES, False),
        ("span_id", 2, _BYTES, False),
        ("parent_id", 4, _BYTES, False),
        ("name", 5, _BYTES, False),
        ("start", 7, _FIXED64, False),
        ("end", 8, _FIXED64, False),
    ),
    "SpanBody": (
        ("trace_id", 1, _BYTES, False),
        ("span_id", 2, _BYTES, False),
        ("trace_state", 3, _BYTES, False),
        ("parent_id", 4, _BYTES, False),
        ("name", 5, _BYTES, False),
        ("kind", 6, _INT32, False),
        ("start", 7, _FIXED64, False),
        ("end", 8, _FIXED64, False),
        ("attributes", 9, _BYTES, True),
        ("dropped_attributes_count", 10, _UINT32, False),
        ("events", 11, _BYTES, True),
        ("dropped_events_count", 12, _UINT32, False),
        ("links", 13, _BYTES, True),
        ("dropped_links_count", 14, _UINT32, False),
        ("status", 15, _BYTES, False),
        ("flags", 16, _FIXED32, False),
    ),
    # For texts that are not valid UTF-8.
    "Pair": (("key", 1, _BYTES, False), ("value", 2, _BYTES, False)),
    "Text": (("content", 1, _BYTES, False),),
    "LogBody": (
        ("time", 1, _FIXED64, False),
        ("body", 5, _BYTES, False),
        ("attributes", 6, _BYTES, True),
        ("trace_id", 9, _BYTES, False),
        ("span_id", 10, _BYTES, False),
        ("event_name", 12, _BYTES, False),
        ("observed_time", 11, _FIXED64, False),
    ),
}


def _message_classes() -> dict[str, Any]:
    file = FileDescriptorProto(name=f"{_PACKAGE}.proto", package=_PACKAGE, syntax="proto3")
    for message, fields in _MESSAGES.items():
        descriptor = DescriptorProto(name=message)
        for name, number, type, is_repeated in fields:
            label = FieldDescriptorProto.LABEL_REPEATED if is_repeated else FieldDescriptorProto.LABEL_OPTIONAL
            field = descriptor.field.add(name=name, number=number, label=label)
            if isinstance(type, str):
                field.type, field.type_name = _MESSAGE, f".{_PACKAGE}.{type}"
            else:
                field.type = type  # type: ignore[assignment]
        file.message_type.append(descriptor)
    pool = DescriptorPool()
    pool.Add(file)
    return {name: GetMessageClass(pool.FindMessageTypeByName(f"{_PACKAGE}.{name}")) for name in _MESSAGES}


_CLASSES: Final = _message_classes()
Request: Final = _CLASSES["Request"]
SpanHead: Final = _CLASSES["SpanHead"]
_SpanBody: Final = _CLASSES["SpanBody"]
_Pair: Final = _CLASSES["Pair"]
_Text: Final = _CLASSES["Text"]
LogBody: Final = _CLASSES["LogBody"]


def text(data: bytes) -> str:
    """Decode a text field. Broken characters do not make the rest of a span unreadable."""
    return data.decode("utf-8", "replace")


@lru_cache(_MOST_RESOURCES)
def resource_attributes(resource: bytes, schema: bytes) -> JSONObject:
    """Return the attributes of an encoded resource, and its schema. Do not modify them: they are shared."""
    attributes = _attributes(Resource.FromString(resource).attributes)
    return {**attributes, "schemaUrl": text(schema)} if schema else attributes


@lru_cache(_MOST_RESOURCES)
def scope_fields(scope: bytes, schema: bytes) -> JSONObject:
    """Return what is known of an encoded scope. Do not modify it: it is shared."""
    body = InstrumentationScope.FromString(scope)
    return wire.scope_fields(body.name, body.version, _attributes(body.attributes), text(schema))


def span(record: bytes, resource: JSONObject, scope: JSONObject, known_copies: list[bytes]) -> WireSpan:
    """Decode a span. `known_copies` are the message copies of an earlier one, which requests of an agent repeat."""
    body = _SpanBody.FromString(record)
    # Each look at a field makes an object.
    trace_id, span_id, parent_id = body.trace_id, body.span_id, body.parent_id
    check_ids(trace_id, span_id, parent_id)
    failed, message = _status(body.status)
    # Only requests have copies, and most spans are none.
    has_copies = _MESSAGE_COPY in record
    attributes, copies = _divide(list(body.attributes), known_copies) if has_copies else (list(body.attributes), [])
    links = [_link(link) for link in body.links]
    key = span_id.hex()
    return WireSpan(
        trace_id=trace_id.hex(),
        span_id=key,
        location=f"span {key}",
        parent_id=_id(parent_id),
        name=text(body.name),
        start=check_time(body.start),
        end=check_time(body.end),
        attributes=dict([_short_attribute(data) if len(data) <= _SHORT else attribute(data) for data in attributes]),
        message_copies=copies,
        events=tuple(map(_event, body.events)),
        links=tuple([as_text(link.get("spanId")) for link in links]),
        failed=failed,
        message=message,
        resource=resource,
        scope=scope,
        fields=_span_fields(body.kind, body.trace_state, body.flags, _drop_counts(body)) | _links(links),
    )


def _drop_counts(body: Any) -> tuple[int, int, int]:
    """Return how many attributes, events and links a span lacks; most lack none."""
    return body.dropped_attributes_count, body.dropped_events_count, body.dropped_links_count


# Most spans of a program are alike in them.
@lru_cache(_MOST_FIELDS)
def _span_fields(kind: int, trace_state: bytes, flags: int, drop_counts: tuple[int, int, int]) -> JSONObject:
    return wire.span_fields(
        kind=_KINDS.get(kind, ""),
        trace_state=text(trace_state),
        flags=flags,
        drop_counts=dict(zip(wire.DROP_COUNTS, drop_counts, strict=True)),
        links=(),
    )


def _links(links: list[JSONObject]) -> JSONObject:
    return {"links": [*links]} if links else {}


def _link(data: bytes) -> JSONObject:
    link = Span.Link.FromString(data)
    fields: JSONObject = {
        "traceId": _id(link.trace_id),
        "spanId": _id(link.span_id),
        "traceState": link.trace_state,
        "attributes": _attributes(link.attributes),
        "droppedAttributesCount": link.dropped_attributes_count,
    }
    return {name: value for name, value in fields.items() if value}


def _divide(attributes: list[bytes], known_copies: list[bytes]) -> tuple[list[bytes], list[bytes]]:
    """Separate encoded attributes from those that copy a request's messages."""
    copy_indices = (index for index, data in enumerate(attributes) if data.startswith(_MESSAGE_COPY, _NAME_START))
    start = next(copy_indices, len(attributes))
    end = start + len(known_copies)
    is_repeat = attributes[start:end] == known_copies
    plain_attributes, copies = attributes[:start], [*known_copies] if is_repeat else []
    # Those of a long history are not looked at one by one.
    for data in attributes[end if is_repeat else start :]:
        (copies if data.startswith(_MESSAGE_COPY, _NAME_START) else plain_attributes).append(data)
    return plain_attributes, copies


def log(record: bytes, resource: JSONObject) -> WireLog:
    """Decode a log record."""
    log_body = LogBody.FromString(record)
    check_ids(log_body.trace_id, log_body.span_id, b"")
    attributes = dict(map(attribute, log_body.attributes))
    content = _value(AnyValue.FromString(log_body.body))
    payload = content if isinstance(content, dict) else {"body": content} if content is not None else {}
    name = text(log_body.event_name) or attributes.get("event.name")
    return WireLog(
        trace_id=log_body.trace_id.hex(),
        span_id=log_body.span_id.hex(),
        resource=resource,
        record=record,
        event=SpanEvent(
            name=name if isinstance(name, str) else "",
            time=check_time(log_body.time or log_body.observed_time) or None,
            body={**attributes, **payload},
        ),
    )


def attribute(data: bytes) -> tuple[str, JSONValue]:
    """Decode an attribute: its name and value. A text takes half the time of parsing its messages.

    attribute  tag, length, name, tag, length, value
    value      tag, length, text
    """
    try:
        name_end = _NAME_START + data[1]
        if data[0] != _TAG_1 or data[1] > _ONE_BYTE or data[name_end] != _TAG_2:
            return _any_attribute(data)
        # Both lengths have one byte or two; longer values are parsed.
        start, low, high = name_end + 2, data[name_end + 1], 0
        if low > _ONE_BYTE:
            start, low, high = start + 1, low - 128, data[start]
        if high > _ONE_BYTE or start + low + (high << 7) != len(data) or data[start] != _TAG_1:
            return _any_attribute(data)
        start, low, high = start + 2, data[start + 1], 0
        if low > _ONE_BYTE:
            start, low, high = start + 1, low - 128, data[start]
        if high > _ONE_BYTE or start + low + (high << 7) != len(data):
            return _any_attribute(data)
        return data[_NAME_START:name_end].decode(), data[start:].decode()
    except (IndexError, UnicodeDecodeError):
        return _any_attribute(data)


def _any_attribute(data: bytes) -> tuple[str, JSONValue]:
    try:
        pair = KeyValue.FromString(data)
    except DecodeError:
        broken_pair = _Pair.FromString(data)
        return text(broken_pair.key), text(_Text.FromString(broken_pair.value).content)
    return pair.key, _value(pair.value)


# Many spans have the same kind, model, tools and settings.
_short_attribute: Final = lru_cache(_MOST_ATTRIBUTES)(attribute)


@lru_cache(_MOST_RESOURCES)
def _status(data: bytes) -> tuple[bool, str]:
    """Return whether a span failed, and its message."""
    status = Status.FromString(data)
    return status.code == Status.STATUS_CODE_ERROR, status.message


def undecoded_span(record: bytes) -> WireSpan:
    """Return a span whose contents cannot be decoded: they become one attribute."""
    head = SpanHead.FromString(record)
    check_ids(head.trace_id, head.span_id, head.parent_id)
    return WireSpan(
        trace_id=head.trace_id.hex(),
        span_id=head.span_id.hex(),
        location=f"span {head.span_id.hex()}",
        parent_id=_id(head.parent_id),
        name=text(head.name),
        start=check_time(head.start),
        end=check_time(head.end),
        attributes=_raw_attribute(record),
    )


def undecoded_log(record: bytes) -> WireLog:
    """Return a log record whose contents cannot be decoded: they become one field of its body."""
    head = LogBody.FromString(record)
    check_ids(head.trace_id, head.span_id, b"")
    event = SpanEvent(name="", time=head.time or None, body=_raw_attribute(record))
    return WireLog(trace_id=head.trace_id.hex(), span_id=head.span_id.hex(), event=event, record=record)


def _raw_attribute(record: bytes) -> JSONObject:
    return {"undecoded": base64.b64encode(record).decode()}


def _event(data: bytes) -> SpanEvent:
    event = Span.Event.FromString(data)
    body = _attributes(event.attributes)
    if event.dropped_attributes_count:
        body["droppedAttributesCount"] = event.dropped_attributes_count
    return SpanEvent(name=event.name, time=event.time_unix_nano or None, body=body)


def _attributes(pairs: Iterable[KeyValue]) -> JSONObject:
    return {pair.key: _value(pair.value) for pair in pairs}


def _value(value: AnyValue) -> JSONValue:
    kind = value.WhichOneof("value")
    if kind == "string_value":
        return value.string_value
    match kind:
        case None:
            return None
        case "array_value":
            return [_value(item) for item in value.array_value.values]
        case "kvlist_value":
            return _attributes(value.kvlist_value.values)
        case "bytes_value":
            return base64.b64encode(value.bytes_value).decode()
        case "double_value" if not isfinite(value.double_value):
            return _name_of(value.double_value)
    plain: JSONValue = getattr(value, kind)
    return plain


def _name_of(number: float) -> str:
    """Return the name by which protobuf's JSON form writes a number that JSON lacks."""
    return "NaN" if number != number else "Infinity" if number > 0 else "-Infinity"


def _id(data: bytes) -> str:
    return data.hex() if any(data) else ""
