"""Requests that cannot be used: each is answered in the client's protocol, and no other data is lost."""

import json
import time
import zlib
from collections.abc import Iterator
from typing import Any
from unittest.mock import patch

import orjson
import pytest
from django.core.cache import cache
from django.db import OperationalError
from django.test import Client
from google.rpc.status_pb2 import Status
from pytest_django import Settings

from cockpit.http import tokens
from tests.support.arriving_spans import MODEL, TRACE, Span, model, protobuf, request, root, tool
from tests.support.assembler_time import let_pass
from traces.collectors.otlp import segments
from traces.importers.otlp.raw_spans import Signal
from traces.models import Run
from traces.recordings import arrivals

pytestmark = [pytest.mark.django_db, pytest.mark.divided]


@pytest.fixture(autouse=True)
def no_earlier_guesses() -> Iterator[None]:
    """Count the wrong tokens of each test alone: the limit is one per address."""
    cache.clear()
    yield
    cache.clear()


JSON, PROTOBUF = "application/json", "application/x-protobuf"
OTLP, LANGFUSE, LANGSMITH = "/v1/traces", "/api/public/ingestion", "/langsmith/runs/batch"
DAY_NS = 24 * 3600 * 10**9


def _post(path: str, body: bytes, media_type: str = JSON, **headers: str) -> Any:
    return Client(raise_request_exception=False).post(path, body, content_type=media_type, headers=headers)


def _detail(path: str, response: Any) -> str:
    """Return the reason in a refusal; fails if it is not in the shape of the protocol."""
    if response["Content-Type"] == PROTOBUF:
        status = Status.FromString(response.content)
        assert status.code
        return str(status.message)
    body = orjson.loads(response.content)
    assert response["Content-Type"] == JSON
    if path == LANGFUSE:
        assert body.keys() == {"message", "error"}
        return str(body["message"])
    if path == LANGSMITH:
        assert body.keys() == {"detail"}
        return str(body["detail"])
    assert body.keys() == {"code", "message"}
    return str(body["message"])


def _steps() -> list[str]:
    """Seal what has arrived; return the names of the steps of the run's newest revision."""
    let_pass(10)
    run = Run.objects.order_by("-revision")[0]
    return list(run.steps.order_by("sequence_no").values_list("name", flat=True))


def _with(span: Span, **fields: Any) -> Span:
    return {**span, **fields}


@pytest.mark.parametrize(
    ("path", "media_type", "body"),
    [
        (OTLP, JSON, b"{broken"),
        (OTLP, PROTOBUF, b"\x0a\xff\xff"),
        (LANGFUSE, JSON, b"{broken"),
        (LANGSMITH, JSON, b"{broken"),
    ],
)
def test_malformed_body(path: str, media_type: str, body: bytes) -> None:
    response = _post(path, body, media_type)
    assert response.status_code == 400
    assert _detail(path, response)
    assert "Retry-After" not in response


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"traceId": "12"}, "trace id"),
        ({"spanId": "12"}, "span id"),
        ({"traceId": ""}, "trace id"),
        ({"startTimeUnixNano": "-5"}, "time"),
    ],
)
def test_span_that_cannot_be_used(fields: dict[str, str], reason: str) -> None:
    response = _post(OTLP, request(root(), _with(model(), **fields), tool()))
    assert response.status_code == 200
    partial = orjson.loads(response.content)["partialSuccess"]
    assert partial["rejectedSpans"] == "1"
    assert reason in partial["errorMessage"]
    assert _steps() == ["handle order", "get_order"]


LANGSMITH_ID = "5b8efff7-9803-4103-a269-b633813fc60c"


@pytest.mark.parametrize("record", [{"name": "a"}, {"id": LANGSMITH_ID[::-1], "name": "a", "start_time": -5}])
def test_langsmith_run_that_cannot_be_used(record: dict[str, Any]) -> None:
    records = [record, _langsmith_run(LANGSMITH_ID)]
    response = _post(LANGSMITH, orjson.dumps({"post": records}))
    assert response.status_code == 422
    assert _detail(LANGSMITH, response).startswith("not stored")
    assert _steps() == ["b"]


def _langsmith_run(id: str) -> dict[str, Any]:
    order = f"20260301T100000000000Z{id}"
    times = {"start_time": "2026-03-01T10:00:00", "end_time": "2026-03-01T10:00:01"}
    return {"id": id, "trace_id": id, "dotted_order": order, "name": "b", "run_type": "chain", "inputs": {}, **times}


@pytest.mark.parametrize(
    ("type", "body"), [("unheard-of", {}), ("span-create", {"id": "s1", "traceId": "t1", "startTime": -5})]
)
def test_langfuse_event_that_cannot_be_used(type: str, body: dict[str, Any]) -> None:
    trace = {"id": "t1", "name": "a", "timestamp": "2026-03-01T10:00:00Z"}
    good = {"id": "e1", "type": "trace-create", "timestamp": "2026-03-01T10:00:00Z", "body": trace}
    response = _post(LANGFUSE, orjson.dumps({"batch": [good, {**good, "id": "e2", "type": type, "body": body}]}))
    assert response.status_code == 207
    answer = orjson.loads(response.content)
    assert [item["id"] for item in answer["successes"]] == ["e1"]
    assert [(item["id"], item["status"]) for item in answer["errors"]] == [("e2", 400)]


def test_ten_thousand_attributes_are_stored() -> None:
    names = [f"note.{number}" for number in range(10_000)]
    attributes = [{"key": name, "value": {"intValue": "7"}} for name in names]
    item = _with(tool(), attributes=[*tool()["attributes"], *attributes])
    assert _post(OTLP, protobuf(request(root(), model(), item)), PROTOBUF).content == b""
    assert _steps() == ["handle order", "chat", "get_order"]
    [step] = Run.objects.get().steps.filter(name="get_order")
    assert step.attributes_ref


@pytest.fixture(scope="module")
def bomb() -> bytes:
    """A gigabyte of zeros, made of one block, because the server reads nothing after the first of them."""
    encoder = zlib.compressobj(1, wbits=31)
    first, further = (encoder.compress(bytes(2**24)) + encoder.flush(zlib.Z_FULL_FLUSH) for _ in range(2))
    return first + further * 63


@pytest.mark.parametrize("path", [OTLP, LANGFUSE, LANGSMITH])
def test_bomb(bomb: bytes, path: str) -> None:
    start = time.process_time()
    response = _post(path, bomb, JSON, **{"Content-Encoding": "gzip"})
    assert response.status_code == 413
    assert "64 MiB" in _detail(path, response)
    # Of the gigabyte, no more than the limit is unpacked.
    assert time.process_time() - start < 5


def test_clock_two_days_ahead() -> None:
    spans = [root(), model(), tool()]
    future = str(time.time_ns() + 2 * DAY_NS)
    assert _post(OTLP, request(*(_with(item, startTimeUnixNano=future, endTimeUnixNano=future) for item in spans)))
    assert sorted(_steps()) == ["chat", "get_order", "handle order"]
    assert Run.objects.get().sealed_at is not None


@pytest.mark.parametrize("separately", [False, True])
def test_same_ids_with_other_content(separately: bool) -> None:
    other = _with(tool(), spanId=MODEL)
    batches = [[root(), model()], [other]] if separately else [[root(), model(), other]]
    for batch in batches:
        assert _post(OTLP, request(*batch)).status_code == 200
    # The fuller one counts.
    assert _steps() == ["handle order", "chat"]
    assert "occurs twice" in Run.objects.get().metadata["recording_problem"]


def test_same_id_after_sealing_is_a_revision() -> None:
    _post(OTLP, request(root(), model()))
    assert _steps() == ["handle order", "chat"]
    _post(OTLP, request(_with(tool(), spanId=MODEL)))
    assert _steps() == ["handle order", "chat"]
    assert "occurs twice" in Run.objects.get(revision=2).metadata["recording_problem"]
    assert list(Run.objects.order_by("revision").values_list("revision", flat=True)) == [1, 2]


@pytest.mark.parametrize("path", [OTLP, LANGFUSE, LANGSMITH])
@pytest.mark.parametrize(("role", "status"), [("", 401), ("viewer", 403), ("sender", 0)])
def test_tokens(settings: Settings, path: str, role: Any, status: int) -> None:
    settings.LOGIN_REQUIRED = True
    secret = tokens.create(name="me", role=role) if role else "fp_unknown"
    response = _post(path, b'{"batch": []}', JSON, **{"x-api-key": secret})
    if status:
        assert response.status_code == status
        assert _detail(path, response)
    else:
        assert response.status_code < 300


@pytest.mark.parametrize("path", [OTLP, LANGFUSE, LANGSMITH])
def test_guessed_tokens(settings: Settings, path: str) -> None:
    settings.LOGIN_REQUIRED = True
    responses = [_post(path, b"{}", JSON, **{"x-api-key": f"fp_{number}"}) for number in range(21)]
    assert [response.status_code for response in responses] == [401] * 20 + [429]
    assert _detail(path, responses[-1])
    assert responses[-1]["Retry-After"] == "60"


@pytest.mark.parametrize("path", [OTLP, LANGFUSE, LANGSMITH])
def test_database_that_does_not_respond(path: str) -> None:
    run = orjson.dumps({"post": [_langsmith_run(LANGSMITH_ID)]})
    bodies = {OTLP: request(root()), LANGFUSE: b'{"batch": []}', LANGSMITH: run}
    with patch.object(arrivals, "accept", side_effect=OperationalError("the server closed the connection")):
        response = _post(path, bodies[path])
    assert (response.status_code, response["Retry-After"]) == (503, "1")
    assert _detail(path, response)


@pytest.mark.parametrize("path", ["/v1/unheard-of", "/api/public/unheard-of", "/langsmith/unheard-of"])
def test_address_that_does_not_exist(path: str) -> None:
    response = _post(path, b"{}")
    assert (response.status_code, response["Content-Type"]) == (404, JSON)
    assert json.loads(response.content).keys() < {"code", "message", "error", "detail"}


@pytest.mark.parametrize(("path", "keys"), [(OTLP, {"code", "message"}), ("/langsmith/runs", {"detail"})])
def test_method_that_does_not_exist(path: str, keys: set[str]) -> None:
    response = Client().get(path)
    assert (
        response.status_code,
        response["Content-Type"] == PROTOBUF or orjson.loads(response.content).keys() == keys,
    ) == (405, True)


def test_trace_id_of_zeros() -> None:
    response = _post(OTLP, request(_with(root(), traceId="0" * 32), root(TRACE)))
    assert orjson.loads(response.content)["partialSuccess"]["rejectedSpans"] == "1"


@pytest.mark.parametrize("path", ["resource", "scope"])
@pytest.mark.parametrize("is_binary", [False, True])
def test_long_resource_of_many_traces(path: str, is_binary: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segments, "FREE_ORIGIN_BYTES", 100_000)
    monkeypatch.setattr(segments, "ORIGIN_BYTES_PER_BYTE", 0)
    long: Any = {"attributes": [{"key": "x", "value": {"stringValue": "x" * 20_000}}]}
    spans = [{**root(), "traceId": f"{number:032x}"} for number in range(1, 11)]
    scope_spans = {"scope": long if path == "scope" else {}, "spans": spans}
    resource_spans = {"resource": long if path == "resource" else {}, "scopeSpans": [scope_spans]}
    whole = orjson.dumps({"resourceSpans": [resource_spans]})
    split = segments.split(protobuf(whole) if is_binary else whole, Signal.TRACES)
    assert (len(split.segments), split.rejections) == (4, 6)
    assert "span" in split.reasons
    assert "bytes, which this request repeats in too many records" in split.reasons


def test_spans_of_a_trace_share_a_copy_of_their_resource() -> None:
    long: Any = {"attributes": [{"key": "x", "value": {"stringValue": "x" * 20_000}}]}
    spans = [{**root(), "spanId": f"{number:016x}"} for number in range(1, 11)]
    whole = orjson.dumps({"resourceSpans": [{"resource": long, "scopeSpans": [{"spans": spans}]}]})
    (segment,) = segments.split(whole, Signal.TRACES).segments
    assert len(segment.data) < 25_000
    assert _post(OTLP, whole).status_code == 200
    assert len(_steps()) == 10
