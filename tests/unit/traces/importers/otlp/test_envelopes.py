"""Encoded requests: records with one copy of their resource and scope, and where they end."""

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from traces.importers.otlp.envelopes import Origin, protobuf_envelope, record_ends


def test_records_of_joined_requests() -> None:
    records = [b"x" * 2 + bytes([1]) * size for size in (1, 200, 70_000)]
    data = protobuf_envelope(Origin(b"", b""), records[:2]) + protobuf_envelope(
        Origin(b"\n\0", b"\n\1s", b"r", b"s"), records[2:]
    )
    assert [data[end - len(record) : end] for record, end in zip(records, record_ends(data), strict=True)] == records
    assert record_ends(ExportTraceServiceRequest().SerializeToString()) == []


def test_records_have_one_copy_of_their_resource_and_scope() -> None:
    request = ExportTraceServiceRequest()
    group = request.resource_spans.add()
    group.resource.attributes.add(key="service.name").value.string_value = "desk"
    scope = group.scope_spans.add()
    scope.scope.name = "test"
    scope.spans.add(name="first")
    scope.spans.add(name="second")
    records = [span.SerializeToString() for span in scope.spans]
    group.schema_url, scope.schema_url = "https://schema.example/1", "https://schema.example/2"
    origin = Origin(group.resource.SerializeToString(), scope.scope.SerializeToString())
    origin = origin._replace(resource_schema=group.schema_url.encode(), scope_schema=scope.schema_url.encode())
    data = protobuf_envelope(origin, records)
    assert ExportTraceServiceRequest.FromString(data) == request


def test_length_beyond_the_end_ends_with_the_data() -> None:
    assert record_ends(b"\n\xff\xff\xff\x7f\x12\x04\x12\xff\x7fab") == [11]
    assert record_ends(b"\n\xff") == []
