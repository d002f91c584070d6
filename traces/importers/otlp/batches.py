"""Export requests in protobuf or JSON as independent records.

Reading a request is cheap, because the attributes stay encoded. The `data` of a record is itself an OTLP request, with
a copy of its resource and scope, in the encoding in which it came: it can be stored and sent alone.
`traces.importers.otlp.spans` decodes such requests and builds the runs of their traces.
"""

from traces.importers.files.errors import BadFile
from traces.importers.otlp.json_requests import read_json
from traces.importers.otlp.protobuf_requests import DecodedRequest, decode_protobuf, parse_protobuf, read_protobuf
from traces.importers.otlp.raw_spans import Signal, SpanBatch


def read_spans(body: bytes, signal: Signal | None = None) -> SpanBatch:
    """Read an export request of spans or log records.

    Without a `signal`, protobuf is of traces if any record has the trace id of a span. A record that cannot be used is
    rejected with the reason. Raises `BadFile` for anything that is not a request.
    """
    return read_json(body) if is_json(body) else read_protobuf(body, signal)


def check_request(body: bytes) -> None:
    """Raise `BadFile` for anything that is not an export request, of whatever signal; its records are not read."""
    if is_json(body):
        read_json(body)
    else:
        parse_protobuf(body)


def is_json(body: bytes) -> bool:
    """Return whether a request is JSON: protobuf begins with the tag of its first field, which is a line break."""
    return body[:1] != b"\n" and body.lstrip()[:1] in {b"{", b"["}


def find_request(data: bytes) -> SpanBatch | None:
    """Read a file as a request in protobuf; None if it has no span with valid ids and no log record."""
    if data[:1] != b"\n":
        return None
    try:
        batch = read_spans(data)
    except BadFile:
        return None
    return batch if batch.spans or batch.unrelated_logs else None


def decode_request(data: bytes) -> DecodedRequest | None:
    """Decode a file as a request in protobuf; None as for `find_request`."""
    if data[:1] != b"\n":
        return None
    try:
        request = decode_protobuf(data)
    except BadFile:
        return None
    return request if request.records or request.unrelated_logs else None
