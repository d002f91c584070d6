"""OTLP over HTTP, in both encodings."""

import gzip
import json
from itertools import permutations
from typing import Any

import orjson
import pytest
from django.test import Client
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from tests.support.arriving_spans import ROOT, TRACE, Span, model, protobuf, request, root, tool
from traces.core.vocabulary import RunStatus
from traces.models import Recording, Run
from traces.recordings import assembler

pytestmark = [pytest.mark.django_db, pytest.mark.divided]
JSON, PROTOBUF = "application/json", "application/x-protobuf"


def _post(body: bytes, path: str = "v1/traces", media_type: str = JSON, **headers: str) -> Any:
    return Client().post(f"/{path}", body, content_type=media_type, headers=headers)


@pytest.fixture(autouse=True)
def _at_once(settings: object) -> None:
    """Seal a run as soon as its root has ended."""
    settings.QUIET_S = 0  # type: ignore[attr-defined]


def _record() -> Run:
    Recording.objects.filter(due_at__isnull=False).update(due_at="2026-01-01T00:00:00Z", refresh_at=None)
    while assembler.work():
        Recording.objects.filter(due_at__isnull=False).update(due_at="2026-01-01T00:00:00Z")
    return Run.objects.order_by("-revision")[0]


def _steps(run: Run) -> list[tuple[str, str, int | None]]:
    return list(run.steps.order_by("sequence_no").values_list("type", "name", "parent_no"))


WHOLE = [("agent", "handle order", None), ("model", "chat", 1), ("tool", "get_order", 1)]


@pytest.mark.parametrize("path", ["v1/traces", "otel/v1/traces", "api/public/otel/v1/traces"])
def test_json_is_recorded_at_each_address(path: str) -> None:
    response = _post(request(root(), model(), tool()), path)
    assert (response.status_code, response["Content-Type"], response.content) == (200, JSON, b"{}")
    run = _record()
    assert (run.external_id, run.app, run.status) == (TRACE, "desk", RunStatus.COMPLETED)
    assert _steps(run) == WHOLE
    assert run.sealed_at is not None


def test_protobuf_is_recorded() -> None:
    body = gzip.compress(protobuf(request(root(), model(), tool())))
    response = _post(body, media_type=PROTOBUF, **{"Content-Encoding": "gzip"})
    assert (response.status_code, response["Content-Type"], response.content) == (200, PROTOBUF, b"")
    assert _steps(_record()) == WHOLE


@pytest.mark.parametrize("order", list(permutations([root(), model(), tool()])))
@pytest.mark.parametrize("media_type", [JSON, PROTOBUF])
def test_spans_in_any_order_over_any_requests_are_one_run(order: tuple[Span, ...], media_type: str) -> None:
    for item in order:
        body = request(item)
        _post(body if media_type == JSON else protobuf(body), media_type=media_type)
    run = _record()
    assert _steps(run) == WHOLE
    assert Run.objects.count() == 1


def test_late_span_becomes_a_revision() -> None:
    _post(request(root(), model()))
    first = _record()
    assert first.sealed_at is not None
    _post(request(tool()))
    run = _record()
    assert (run.revision, run.supersedes_id, _steps(run)) == (2, first.id, WHOLE)


def test_bad_spans_are_rejected_with_reasons_and_others_stored() -> None:
    bad = {**model(), "traceId": "12"}
    response = _post(request(root(), bad, tool()))
    partial = orjson.loads(response.content)["partialSuccess"]
    assert partial["rejectedSpans"] == "1"
    assert "trace id" in partial["errorMessage"]
    assert [name for _, name, _ in _steps(_record())] == ["handle order", "get_order"]


def test_partial_success_in_protobuf() -> None:
    response = _post(protobuf(request(root(), {**model(), "spanId": "eee1"})), media_type=PROTOBUF)
    partial = ExportTraceServiceResponse.FromString(response.content).partial_success
    assert partial.rejected_spans == 1
    assert "span id" in partial.error_message


def test_logs_are_joined_to_their_spans_whichever_arrives_first() -> None:
    choice = {"key": "gen_ai.choice", "value": {"stringValue": "x"}}
    record = {"traceId": TRACE, "spanId": ROOT, "eventName": "note", "attributes": [choice]}
    logs = orjson.dumps({"resourceLogs": [{"scopeLogs": [{"logRecords": [record]}]}]})
    assert _post(logs, "v1/logs").status_code == 200
    _post(request(root(), model()))
    run = _record()
    assert len(_steps(run)) == 2
    assert run.steps.get(sequence_no=1).attributes_ref


def test_logs_without_a_span_are_rejected() -> None:
    record = {"traceId": TRACE, "spanId": ROOT, "eventName": "note"}
    line = {"body": {"stringValue": "started"}}
    logs = orjson.dumps({"resourceLogs": [{"scopeLogs": [{"logRecords": [record, line, line]}]}]})
    partial = orjson.loads(_post(logs, "v1/logs").content)["partialSuccess"]
    assert partial["rejectedLogRecords"] == "2"
    assert "are not part of a run: 2" in partial["errorMessage"]
    assert Recording.objects.count() == 1


@pytest.mark.parametrize(
    "field",
    [
        {"attributes": "text"},
        {"attributes": [7]},
        {"attributes": [{"key": "n", "value": {"intValue": "9" * 30}}]},
        {"links": [{"traceId": TRACE, "spanId": "?"}]},
        {"name": "half \ud83d"},
        {"attributes": [{"key": "n", "value": {"doubleValue": float("nan")}}]},
    ],
)
def test_unreadable_contents_reject_only_their_span(field: Span) -> None:
    body = json.dumps(orjson.loads(request(root(), tool())))
    bad = json.dumps({**model(), **field})
    response = _post(body.replace(json.dumps(tool()), f"{bad}, {json.dumps(tool())}").encode())
    assert response.status_code == 200
    partial = orjson.loads(response.content)["partialSuccess"]
    assert (partial["rejectedSpans"], partial["errorMessage"].partition(": ")[0]) == (
        "1",
        "/resourceSpans/0/scopeSpans/0/spans/1",
    )
    assert [name for _, name, _ in _steps(_record())] == ["handle order", "get_order"]


def test_metrics_are_accepted_and_not_stored() -> None:
    assert _post(b'{"resourceMetrics": []}', "v1/metrics").status_code == 200
    group = ExportMetricsServiceRequest()
    group.resource_metrics.add().scope_metrics.add().metrics.add(name="tokens").sum.data_points.add(as_int=3)
    assert _post(group.SerializeToString(), "v1/metrics", PROTOBUF).status_code == 200
    assert not Recording.objects.exists()


@pytest.mark.parametrize(("body", "media_type"), [(b"{broken", JSON), (b"[]", JSON), (b"\x0a\xff\xff", PROTOBUF)])
def test_malformed_metrics_are_refused(body: bytes, media_type: str) -> None:
    assert _post(body, "v1/metrics", media_type).status_code == 400


def test_all_members_of_a_compressed_body_are_read() -> None:
    body = request(root(), model())
    members = b"".join(gzip.compress(part) for part in (body[:300], body[300:]))
    assert _post(members + bytes(20), **{"Content-Encoding": "gzip"}).content == b"{}"
    assert len(_steps(_record())) == 2
    assert _post(gzip.compress(body) + b"garbage", **{"Content-Encoding": "gzip"}).status_code == 400


@pytest.mark.parametrize(
    ("body", "media_type"), [(b"{broken", JSON), (b"[]", JSON), (b"\x0a\xff\xff", PROTOBUF), (b"hello", PROTOBUF)]
)
def test_malformed_request_is_refused_in_its_encoding(body: bytes, media_type: str) -> None:
    response = _post(body, media_type=media_type)
    assert (response.status_code, response["Content-Type"]) == (400, media_type)
    if media_type == JSON:
        assert orjson.loads(response.content)["code"] == 3
    else:
        assert response.content[:2] == b"\x08\x03"
    assert not Recording.objects.exists()


def test_other_media_types_are_refused() -> None:
    assert _post(b"hello", media_type="text/plain").status_code == 415


@pytest.mark.parametrize("header", ["X-Forkpoint-App", "x-project-name", "Langsmith-Project"])
def test_header_names_the_app(header: str) -> None:
    _post(request(root(), model()), **{header: "shop"})
    assert _record().app == "shop"


def test_first_header_with_a_name_counts() -> None:
    _post(request(root(), model()), **{"Langsmith-Project": "shop", "x-project-name": "default"})
    assert _record().app == "shop"


def test_project_of_the_resource_takes_precedence_over_the_service() -> None:
    body = request(root(), model())
    project = b'{"key":"openinference.project.name","value":{"stringValue":"shop"}},'
    _post(body.replace(b'"attributes":[{"key":"service.name"', b'"attributes":[' + project + b'{"key":"service.name"'))
    assert _record().app == "shop"


def test_traces_of_one_request_are_separate_runs() -> None:
    other = "6b8efff798038103d269b633813fc60c"
    _post(request(root(), model(), root(other), model(other)))
    _record()
    assert set(Run.objects.values_list("external_id", "step_count")) == {(TRACE, 2), (other, 2)}
