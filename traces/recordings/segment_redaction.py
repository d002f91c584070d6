"""Redaction of segments before they are stored: records as they arrive, in OTLP or as JSON lines.

The detectors look at every text, also at those inside of JSON texts. Field rules need the steps of the assembled run:
they apply when it is written (`traces.ingest.redaction`), and its segments are deleted when it is sealed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import accumulate
from typing import Any, Final

import orjson
import re2
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import KeyValue

from traces.core.json_access import as_object
from traces.core.json_types import JSONValue
from traces.importers.otlp.batches import is_json, read_spans
from traces.importers.otlp.envelopes import record_ends
from traces.importers.otlp.raw_spans import Signal
from traces.redaction.encoded_secrets import encoded_secret_detector
from traces.redaction.labels import item_name, member_name
from traces.redaction.markers import FAILURE_MARKER, MARKER_BYTES
from traces.redaction.output_forms import check_form
from traces.redaction.raw_responses import drop_raw_response
from traces.redaction.redactor import Redaction, Redactor
from traces.redaction.repeats import new_content
from traces.redaction.secret_rules import NAMES
from traces.redaction.secrets import secret_detector

# Shorter data is looked at as a whole.
_LONG: Final = 64 * 1024
_MARK: Final = b"[redacted:"
# Of the events of calls.
_OUTPUTS: Final = ("result", "candidate_list")
# Names of the value of an attribute in JSON.
_ANY_VALUES: Final = frozenset({"stringValue", "bytesValue"})
# Escapes of JSON for characters that need none, and of the backslash in an escape of a byte string: they may hide a
# value from the first look. The ids of spans are random bytes, which have text around such a slash once in a million
# spans.
_NEEDLESS_ESCAPES: Final = r"[ -~]{2}\\/[ -~]{2}|\\u00[2-7]|\\\\x[2-7]"
_DISGUISES: Final = f"{NAMES}|{_NEEDLESS_ESCAPES}"
_REQUESTS: Final[dict[Signal, Any]] = {Signal.TRACES: ExportTraceServiceRequest, Signal.LOGS: ExportLogsServiceRequest}


@dataclass(frozen=True, kw_only=True, slots=True)
class SafeRecords:
    """Records without what the detectors of a policy find; the same bytes if they find nothing.

    `checks` are the versions of the detectors that looked at them, empty if the records contain markers.
    """

    data: bytes
    checks: str = ""


def redact_data(data: bytes, redaction: Redaction) -> SafeRecords:
    """Redact records before they are stored."""
    if not redaction.detectors:
        return SafeRecords(data=data)
    contents = data if len(data) <= _LONG else new_content(data, _ends(data))
    if _is_suspicious_at_first(contents, redaction):
        redactor = redaction.redactor()
        data = contents = _rewrite(data, redactor)
        if redactor.literals:
            data = contents = _rewrite(data, redactor.for_literals())
    has_markers = _MARK in contents or FAILURE_MARKER.encode() in contents
    versions = " ".join(detector.version for detector in redaction.detectors)
    return SafeRecords(data=data, checks="" if has_markers else versions)


def marker_kinds(data: bytes) -> set[str]:
    """Return the kinds of the values that were redacted in records."""
    return {(match[1] or match[2]).decode() for match in MARKER_BYTES.finditer(data)} if _MARK in data else set()


def _ends(data: bytes) -> list[int]:
    """Return where each record ends: a line of JSON, or a record of a request in protobuf."""
    if not is_json(data):
        return record_ends(data)
    sizes = (len(line) + 1 for line in data.split(b"\n"))
    return [*accumulate(sizes)]


def _is_suspicious_at_first(contents: bytes, redaction: Redaction) -> bool:
    """Like `_is_suspicious`, with one expression for its questions: each looks at every byte, and most find nothing."""
    secrets = secret_detector()
    if secrets in redaction.detectors and _first_look().search(contents) is None:
        return redaction.omit({secrets.version, encoded_secret_detector().version}).suspects(contents)
    return _is_suspicious(contents, redaction)


def _is_suspicious(contents: bytes, redaction: Redaction | Redactor) -> bool:
    """Return whether records need a closer look."""
    return redaction.suspects(contents) or _disguises().search(contents) is not None


def _rewrite(data: bytes, redactor: Redactor) -> bytes:
    """Redact the records that are suspicious; most are not."""
    if is_json(data):
        ends = _ends(data)
        records, redact = [data[start:end] for start, end in zip([0, *ends], ends, strict=False)], _line
    else:
        batch = read_spans(data)
        records, redact = [span.data for span in batch.spans], partial(_request, _REQUESTS[batch.signal])
    return b"".join(redact(record, redactor) if _is_suspicious(record, redactor) else record for record in records)


def _request(kind: type[Message], data: bytes, redactor: Redactor) -> bytes:
    request = kind.FromString(data)
    _message(request, redactor)
    return request.SerializeToString()


def _line(line: bytes, redactor: Redactor) -> bytes:
    """Redact one line of JSON; a line without anything to redact, or one that is no JSON, keeps its form."""
    try:
        value = orjson.loads(line)
    except orjson.JSONDecodeError:
        return redactor.text(line.decode(errors="replace")).encode() if line.strip() else line
    result = _json(value, "", redactor)
    if result == value:
        return line
    if isinstance(result, dict) and isinstance(payload := result.get("payload"), dict):
        source = as_object(as_object(value)["payload"])
        is_output_redacted = any(payload.get(name) != source.get(name) for name in _OUTPUTS)
        result["payload"] = check_form(drop_raw_response(payload), source, is_output_redacted=is_output_redacted)
    return orjson.dumps(result) + (b"\n" if line.endswith(b"\n") else b"")


def _json(value: JSONValue, name: str, redactor: Redactor) -> JSONValue:
    if isinstance(value, str):
        return _text(value, name, redactor)
    if isinstance(value, list):
        return [_json(item, item_name(value, index, name), redactor) for index, item in enumerate(value)]
    if not isinstance(value, dict):
        return value
    return {
        _text(key, "", redactor): _json(item, name if key in _ANY_VALUES else member_name(value, key), redactor)
        for key, item in value.items()
    }


def _message(message: Message, redactor: Redactor) -> None:
    """Redact every text of a message in place."""
    if isinstance(message, KeyValue) and message.value.HasField("string_value"):
        message.value.string_value = _text(message.value.string_value, message.key, redactor)
        message.key = _text(message.key, "", redactor)
        return
    for field, value in message.ListFields():
        if field.type == FieldDescriptor.TYPE_MESSAGE:
            for item in _items(field, value):
                _message(item, redactor)
        elif field.name == "bytes_value":
            message.bytes_value = _bytes(value, redactor)  # type: ignore[attr-defined]  # an AnyValue
        elif field.type == FieldDescriptor.TYPE_STRING:
            if field.is_repeated:
                value[:] = [_text(item, "", redactor) for item in value]
            else:
                setattr(message, field.name, _text(value, "", redactor))


def _bytes(data: bytes, redactor: Redactor) -> bytes:
    """Redact bytes, of which parts may be text."""
    return redactor.text(data.decode(errors="surrogateescape")).encode(errors="surrogateescape")


def _items(field: FieldDescriptor, value: Any) -> Sequence[Message]:
    return value if field.is_repeated else [value]


def _text(text: str, name: str, redactor: Redactor) -> str:
    """Redact a text; one that is JSON is redacted by its members."""
    if text[:1] in ("{", "["):
        try:
            value = orjson.loads(text)
        except orjson.JSONDecodeError:
            return str(redactor.value(text, name))
        result = _json(value, name, redactor)
        return text if result == value else orjson.dumps(result).decode()
    return str(redactor.value(text, name))


@cache
def _disguises() -> Any:
    """Return the expression for what hides a value from detectors: names of credentials, whose values have no shape of
    their own, and escapes.
    """
    return re2.compile(_DISGUISES.encode())


@cache
def _first_look() -> Any:
    return secret_detector().first_look(f"{encoded_secret_detector().hint}|{_DISGUISES}")
