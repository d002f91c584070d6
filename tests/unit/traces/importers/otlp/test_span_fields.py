"""Fields of spans, scopes and resources that have no place of their own are attributes of the step."""

import json
from base64 import b64decode
from typing import Any

import pytest
from google.protobuf import json_format
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from tests.support.importing_fixtures import trace_run
from traces.core.json_types import JSONObject
from traces.core.recorded_run import RecordedRun, RecordedStep
from traces.importers.otlp.batches import read_spans

TRACE, OTHER_TRACE = bytes(range(16)), bytes(range(1, 17))
ROOT, TOOL, REMOTE = (bytes([number]) * 8 for number in (1, 2, 3))


def _add_group(request: ExportTraceServiceRequest, service: str) -> Any:
    group = request.resource_spans.add(schema_url="https://schema.example/resource")
    for key, value in {"service.name": service, "region": "eu"}.items():
        group.resource.attributes.add(key=key).value.string_value = value
    scope = group.scope_spans.add(schema_url="https://schema.example/scope")
    scope.scope.name, scope.scope.version = "tracer", "1.2"
    scope.scope.attributes.add(key="public").value.bool_value = True
    return scope.spans


def _add_span(spans: Any, id: bytes, name: str, **fields: Any) -> Any:
    times = {"start_time_unix_nano": 10**18, "end_time_unix_nano": 10**18 + 10**9}
    return spans.add(trace_id=TRACE, span_id=id, name=name, **times, **fields)


def _request() -> ExportTraceServiceRequest:
    request = ExportTraceServiceRequest()
    root = _add_span(
        _add_group(request, "desk"),
        ROOT,
        "handle",
        kind=Span.SPAN_KIND_SERVER,
        trace_state="vendor=1",
        flags=257,
        dropped_attributes_count=3,
        dropped_events_count=4,
        dropped_links_count=5,
    )
    link = root.links.add(trace_id=OTHER_TRACE, span_id=REMOTE, trace_state="a=b", dropped_attributes_count=1)
    link.attributes.add(key="why").value.string_value = "follows"
    root.events.add(name="note", dropped_attributes_count=2)
    tool = _add_span(_add_group(request, "tools"), TOOL, "execute_tool get_order", parent_span_id=ROOT, flags=256)
    tool.kind = Span.SPAN_KIND_INTERNAL
    for key, value in {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "get_order"}.items():
        tool.attributes.add(key=key).value.string_value = value
    tool.attributes.add(key="scope").value.string_value = "of the user"
    return request


def _json(request: ExportTraceServiceRequest) -> bytes:
    document = json_format.MessageToDict(request)

    def with_plain_ids(value: Any) -> Any:
        if isinstance(value, dict):
            return {
                key: b64decode(item).hex() if key in {"traceId", "spanId", "parentSpanId"} else with_plain_ids(item)
                for key, item in value.items()
            }
        return [*map(with_plain_ids, value)] if isinstance(value, list) else value

    return json.dumps(with_plain_ids(document)).encode()


def _run(encoding: str) -> RecordedRun:
    body = _request().SerializeToString() if encoding == "protobuf" else _json(_request())
    return trace_run(*(span.data for span in read_spans(body).spans))


def _step(run: RecordedRun, id: bytes) -> RecordedStep:
    return next(step for step in run.steps if step.key == id.hex())


@pytest.mark.parametrize("encoding", ["protobuf", "json"])
def test_fields_are_attributes(encoding: str) -> None:
    attributes = _step(_run(encoding), ROOT).attributes
    expected: JSONObject = {
        "kind": "SERVER",
        "traceState": "vendor=1",
        "flags": 257,
        "droppedAttributesCount": 3,
        "droppedEventsCount": 4,
        "droppedLinksCount": 5,
        "links": [
            {
                "traceId": OTHER_TRACE.hex(),
                "spanId": REMOTE.hex(),
                "traceState": "a=b",
                "attributes": {"why": "follows"},
                "droppedAttributesCount": 1,
            }
        ],
        "events": [{"name": "note", "time": "", "attributes": {"droppedAttributesCount": 2}}],
        "scope": "tracer",
        "scope.version": "1.2",
        "scope.attributes": {"public": True},
        "scope.schemaUrl": "https://schema.example/scope",
    }
    assert attributes == expected


@pytest.mark.parametrize("encoding", ["protobuf", "json"])
def test_usual_values_are_left_out(encoding: str) -> None:
    attributes = _step(_run(encoding), TOOL).attributes
    assert attributes.keys().isdisjoint({"kind", "flags", "traceState", "links", "droppedAttributesCount"})


@pytest.mark.parametrize("encoding", ["protobuf", "json"])
def test_tool_keeps_the_name_of_its_span(encoding: str) -> None:
    step = _step(_run(encoding), TOOL)
    assert (step.name, step.attributes["name"]) == ("get_order", "execute_tool get_order")


@pytest.mark.parametrize("encoding", ["protobuf", "json"])
def test_attribute_with_the_name_of_a_field_stays(encoding: str) -> None:
    attributes = _step(_run(encoding), TOOL).attributes
    assert (attributes["scope"], attributes["span.scope"]) == ("of the user", "tracer")


@pytest.mark.parametrize("encoding", ["protobuf", "json"])
def test_step_of_another_service_names_its_resource(encoding: str) -> None:
    run = _run(encoding)
    resource = {"service.name": "desk", "region": "eu", "schemaUrl": "https://schema.example/resource"}
    assert run.metadata["resource"] == resource
    assert "resource" not in _step(run, ROOT).attributes
    assert _step(run, TOOL).attributes["resource"] == {"service.name": "tools"}


def _langfuse(key: str, value: str, *, answer: str = "") -> RecordedRun:
    request = ExportTraceServiceRequest()
    spans = _add_group(request, "desk")
    root = _add_span(spans, ROOT, "root")
    root.attributes.add(key="langfuse.observation.type").value.string_value = "agent"
    root.attributes.add(key=key).value.string_value = value
    if answer:
        model = _add_span(spans, TOOL, "generation", parent_span_id=ROOT)
        model.attributes.add(key="langfuse.observation.type").value.string_value = "generation"
        model.attributes.add(key="langfuse.observation.output").value.string_value = answer
    return trace_run(*(span.data for span in read_spans(request.SerializeToString()).spans))


@pytest.mark.parametrize("key", ["langfuse.trace.metadata.team", "langfuse.version", "langfuse.release"])
def test_langfuse_fields_of_a_trace_are_metadata_of_the_run(key: str) -> None:
    assert _langfuse(key, "red").metadata[key] == "red"


def test_output_that_langfuse_wrote_as_json_is_parsed() -> None:
    output = '{"answer": 2}'
    assert _step(_langfuse("langfuse.observation.output", output), ROOT).output == {"answer": 2}
    assert _step(_langfuse("langfuse.observation.output", "{broken"), ROOT).output == {"text": "{broken"}
    # The agent passed the text of the model on.
    message = json.dumps({"role": "assistant", "content": output})
    passed_on = _langfuse("langfuse.observation.output", output, answer=message)
    assert _step(passed_on, ROOT).output == {"text": output}


def test_unlimited_parameters_are_attributes_instead_of_settings() -> None:
    request = ExportTraceServiceRequest()
    model = _add_span(_add_group(request, "desk"), ROOT, "generation")
    values = {
        "langfuse.observation.type": "generation",
        "langfuse.observation.input": '[{"role": "user", "content": "Hello"}]',
        "langfuse.observation.model.parameters": '{"temperature": 0.2, "max_tokens": "Infinity"}',
    }
    for key, value in values.items():
        model.attributes.add(key=key).value.string_value = value
    step = _step(trace_run(read_spans(request.SerializeToString()).spans[0].data), ROOT)
    assert isinstance(step.input, dict)
    assert step.input["parameters"] == {"temperature": 0.2}
    assert step.attributes["request"] == {"max_tokens": "Infinity"}
