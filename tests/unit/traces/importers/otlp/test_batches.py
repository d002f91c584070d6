import json
from typing import Any

import pytest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.support import importing_fixtures as fixtures
from tests.support.importing_fixtures import trace_run
from traces.core.json_types import JSONObject
from traces.core.vocabulary import StepStatus, StepType
from traces.importers import registry
from traces.importers.files.errors import BadFile
from traces.importers.files.source import Source
from traces.importers.otlp.batches import find_request, is_json, read_spans
from traces.importers.otlp.raw_spans import RawSpan, Signal

TRACE = "0af7651916cd43dd8448eb211c80319c"


def protobuf(*spans: JSONObject, service: str = "desk") -> bytes:
    request = ExportTraceServiceRequest()
    group = request.resource_spans.add()
    group.resource.attributes.add(key="service.name").value.string_value = service
    scope = group.scope_spans.add()
    scope.scope.name = "test"
    for values in spans:
        attributes: Any = values.pop("attributes", {})
        span = scope.spans.add(**values)
        for key, value in attributes.items():
            span.attributes.add(key=key).value.string_value = value
    return request.SerializeToString()


def span(number: int, parent: int = 0, **fields: Any) -> JSONObject:
    return {
        "trace_id": bytes.fromhex(TRACE),
        "span_id": number.to_bytes(8, "big"),
        "parent_span_id": parent.to_bytes(8, "big") if parent else b"",
        "name": f"span {number}",
        "start_time_unix_nano": 1_790_000_000_000_000_000 + number,
        "end_time_unix_nano": 1_790_000_001_000_000_000 + number,
        **fields,
    }


def json_body(*spans: Any) -> bytes:
    resource = {"attributes": [{"key": "service.name", "value": {"stringValue": "desk"}}]}
    return json.dumps({"resourceSpans": [{"resource": resource, "scopeSpans": [{"spans": spans}]}]}).encode()


def json_span(number: int, **fields: Any) -> Any:
    return {"traceId": TRACE, "spanId": f"{number:016x}", "name": f"span {number}", **fields}


def heads(spans: list[RawSpan]) -> list[Any]:
    return [(item.trace_id, item.span_id, item.parent_id, item.name, item.service, item.start) for item in spans]


def test_protobuf_and_json_give_equal_heads() -> None:
    from_protobuf = read_spans(protobuf(span(1), span(2, parent=1)))
    second = json_span(2, parentSpanId=f"{1:016x}", startTimeUnixNano="1790000000000000002")
    from_json = read_spans(json_body(json_span(1, startTimeUnixNano=1790000000000000001), second))
    assert heads(from_protobuf.spans) == heads(from_json.spans)
    assert [item.is_root for item in from_protobuf.spans] == [True, False]
    assert [item.has_ended for item in from_protobuf.spans] == [True, True]
    assert not any(item.has_ended for item in from_json.spans)


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"trace_id": b""}, "it has no trace id"),
        ({"trace_id": bytes(16)}, "it has no trace id"),
        ({"trace_id": b"12345678"}, "its trace id has 8 bytes instead of 16"),
        ({"span_id": b"123"}, "its span id has 3 bytes instead of 8"),
        ({"parent_span_id": b"1"}, "its parent id has 1 bytes instead of 8"),
        ({"start_time_unix_nano": 2**64 - 5}, "its time is negative or after the year 2262"),
    ],
)
def test_unusable_protobuf_span_is_rejected_alone(fields: Any, reason: str) -> None:
    batch = read_spans(protobuf(span(1), span(2, **fields), span(3)), Signal.TRACES)
    assert [item.name for item in batch.spans] == ["span 1", "span 3"]
    assert [(item.location, item.reason) for item in batch.rejections] == [
        ("/resourceSpans/0/scopeSpans/0/spans/1", reason)
    ]


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"traceId": "xyz"}, "its trace id “xyz” is not hexadecimal"),
        ({"traceId": TRACE[:16]}, "its trace id has 8 bytes instead of 16"),
        ({"startTimeUnixNano": "-5"}, "its time is negative or after the year 2262"),
        ({"endTimeUnixNano": "soon"}, "“soon” is not a time in nanoseconds"),
        ({"attributes": [{"key": "n", "value": {"intValue": 10**30}}]}, "is beyond 64 bits"),
        ({"attributes": [{"key": "n", "value": {"intValue": "9" * 30}}]}, "an integer beyond 64 bits"),
        ({"attributes": [{"key": "n", "value": {"intValue": "abc"}}]}, "“abc” is not an integer (/attributes/0/value)"),
        ({"attributes": [{"key": "n", "value": {"arrayValue": {"values": [{"intValue": "x"}]}}}]}, "not an integer"),
        ({"attributes": "n=1"}, "expected a list, got a string (/attributes)"),
        ({"attributes": {"n": 1}}, "expected a list, got an object"),
        ({"attributes": [5]}, "expected an object, got a number (/attributes/0)"),
        ({"links": [{"spanId": "xyz"}]}, "“xyz” is not a hexadecimal id"),
        ({"name": "half \ud83d"}, "not JSON"),
        ({"attributes": [{"key": "n", "value": {"doubleValue": float("nan")}}]}, "NaN is not a JSON number"),
    ],
)
def test_unusable_json_span_is_rejected_alone(fields: JSONObject, reason: str) -> None:
    batch = read_spans(json_body(json_span(1), json_span(2, **fields)))
    assert [item.name for item in batch.spans] == ["span 1"]
    [rejection] = batch.rejections
    assert rejection.location == "/resourceSpans/0/scopeSpans/0/spans/1"
    assert reason in rejection.reason


def test_accepted_records_can_be_read_again() -> None:
    body = json_body(json_span(1, name="half \ud83d"), json_span(2, links=[{"spanId": f"{9:016x}"}]))
    [record] = read_spans(body).spans
    assert [step.key for step in trace_run(record.data).steps] == [f"{2:016x}"]


@pytest.mark.parametrize("scope", ['{"name": "a", "name": "b"}', '{"version": "\\ud83d"}', '{"version": NaN}'])
def test_unreadable_scope_rejects_its_spans(scope: str) -> None:
    good = json_body(json_span(1)).decode()[:-2].removeprefix('{"resourceSpans": [')
    spans = json.dumps([json_span(2)])
    batch = read_spans(
        f'{{"resourceSpans": [{good}, {{"scopeSpans": [{{"scope": {scope}, "spans": {spans}}}]}}]}}'.encode()
    )
    assert [item.name for item in batch.spans] == ["span 1"]
    assert len(batch.rejections) == 1


def test_unusable_log_record_is_rejected_alone() -> None:
    ids = {"traceId": TRACE, "spanId": f"{1:016x}"}
    records = [{**ids, "eventName": "a"}, {**ids, "body": {"intValue": "x"}}, {"body": {"stringValue": "a line"}}]
    batch = read_spans(json.dumps({"resourceLogs": [{"scopeLogs": [{"logRecords": records}]}]}).encode())
    assert ([item.name for item in batch.spans], batch.unrelated_logs) == (["a"], 1)
    assert [(item.location, item.reason) for item in batch.rejections] == [
        ("/resourceLogs/0/scopeLogs/0/logRecords/1", "“x” is not an integer (/body)")
    ]


@pytest.mark.parametrize("body", [b"{", b"[1]", b"\n\x05abc", b"PK\x03\x04", b'{"resourceSpans": 5}'])
def test_body_that_is_no_request(body: bytes) -> None:
    with pytest.raises(BadFile):
        read_spans(body)


def test_empty_body_is_empty_request() -> None:
    assert not read_spans(b"").spans


def test_first_byte_decides_encoding() -> None:
    assert not is_json(protobuf(span(1)))
    assert is_json(b'\r\n {"resourceSpans": []}')
    assert find_request(protobuf(span(1))) is not None
    assert find_request(b"\n{}\n") is None


def test_records_are_requests_of_their_own() -> None:
    batch = read_spans(protobuf(span(1), span(2, parent=1)))
    again = [read_spans(item.data).spans[0] for item in batch.spans]
    assert heads(again) == heads(batch.spans)
    assert ExportTraceServiceRequest.FromString(batch.spans[0].data).resource_spans[0].scope_spans[0].scope.name


@pytest.mark.parametrize("name", ["otlp_genai.json", "otlp_openinference.json", "otlp_langfuse.json"])
def test_assembly_equals_file_import(name: str) -> None:
    parts = [span.data for span in read_spans(fixtures.source(name).data).spans]
    assert trace_run(*parts) == fixtures.run(name)
    assert trace_run(*reversed(parts), *parts) == fixtures.run(name)


def test_logs_join_spans_in_any_order() -> None:
    traces = read_spans(fixtures.source("otlp_events_traces.json").data).spans
    logs = read_spans(fixtures.source("otlp_events_logs.json").data)
    assert logs.signal is Signal.LOGS
    together = fixtures.run("otlp_events_traces.json", "otlp_events_logs.json")
    assert trace_run(*(record.data for record in (*logs.spans, *traces))) == together


def test_log_that_arrives_twice_counts_once() -> None:
    request = ExportLogsServiceRequest()
    record = request.resource_logs.add().scope_logs.add().log_records.add(event_name="gen_ai.choice")
    record.trace_id, record.span_id = bytes.fromhex(TRACE), (1).to_bytes(8, "big")
    record.attributes.add(key="gen_ai.system").value.string_value = "openai"
    log = request.SerializeToString()
    traces = protobuf(span(1))
    assert trace_run(log, traces, log) == trace_run(traces, log)


def test_log_without_span_is_counted() -> None:
    request = ExportLogsServiceRequest()
    records = request.resource_logs.add().scope_logs.add().log_records
    records.add(event_name="started").body.string_value = "hello"
    records.add(trace_id=bytes.fromhex(TRACE), span_id=b"12345678", event_name="gen_ai.choice")
    batch = read_spans(request.SerializeToString())
    assert (batch.signal, batch.unrelated_logs, [item.name for item in batch.spans]) == (
        Signal.LOGS,
        1,
        ["gen_ai.choice"],
    )


def test_ended_occurrence_of_span_counts() -> None:
    ended = protobuf(span(1, attributes={"a": "1"}))
    open_span = protobuf(span(1, end_time_unix_nano=0))
    (step,) = trace_run(ended, open_span).steps
    assert step.attributes == {"a": "1", "scope": "test"}


def test_span_with_invalid_count_stays_with_its_attributes() -> None:
    attributes = {"openinference.span.kind": "LLM", "llm.token_count.prompt": "-1", "input.value": "hello"}
    (step,) = trace_run(protobuf(span(1, attributes=attributes))).steps
    assert (step.type, step.status) == (StepType.AGENT, StepStatus.OK)
    assert attributes.items() <= step.attributes.items()
    assert "-1 is not a token count" in str(step.attributes["unreadable"])


def test_span_in_file_with_invalid_count_stays() -> None:
    time = {"startTimeUnixNano": "1790000000000000001"}
    attributes = [{"key": "gen_ai.usage.input_tokens", "value": {"intValue": "-1"}}]
    attributes.append({"key": "gen_ai.operation.name", "value": {"stringValue": "chat"}})
    data = json_body(json_span(1, attributes=attributes, **time), json_span(2, **time))
    (run,) = registry.get_importer("otlp").runs([Source(name="spans.json", data=data)])
    assert [(step.name, "unreadable" in step.attributes) for step in run.steps] == [("span 1", True), ("span 2", False)]


def test_text_that_is_not_utf8_is_read() -> None:
    body = protobuf(span(1, attributes={"input.value": "before ABCD after"})).replace(b"ABCD", b"\xff\xfe\xfd\xfc")
    (step,) = trace_run(body).steps
    assert step.input == {"task": "before \ufffd\ufffd\ufffd\ufffd after"}


def test_event_that_cannot_be_decoded_stays_as_bytes() -> None:
    values = span(1)
    request = ExportTraceServiceRequest()
    item = request.resource_spans.add().scope_spans.add().spans.add(**values)
    item.events.add(name="ABCD")
    (step,) = trace_run(request.SerializeToString().replace(b"ABCD", b"\xff\xfe\xfd\xfc")).steps
    assert step.name == "span 1"
    assert step.attributes["undecoded"]
