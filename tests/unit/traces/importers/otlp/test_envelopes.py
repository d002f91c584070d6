"""Encoded requests: where their groups end."""

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from traces.importers.otlp.envelopes import field_ends, protobuf_envelope


def test_groups_of_joined_requests() -> None:
    sizes = (1, 200, 70_000)
    requests = [protobuf_envelope(b"", b"", b"x" * 2 + bytes([1]) * size) for size in sizes]
    data = b"".join(requests)
    ends = field_ends(data)
    assert [data[start:end] for start, end in zip([0, *ends], ends, strict=False)] == requests
    assert field_ends(ExportTraceServiceRequest().SerializeToString()) == []


def test_length_beyond_the_end_ends_with_the_data() -> None:
    assert field_ends(b"\n\xff\xff\xff\x7fab") == [7]
    assert field_ends(b"\n\xff") == [2]
