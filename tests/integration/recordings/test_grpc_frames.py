"""Bad requests over gRPC, in frames and messages that no exporter sends: each is refused, or stored in part."""

import gzip
import time
import zlib
from collections.abc import Iterator
from typing import Any
from unittest.mock import patch

import grpc
import pytest
from django.core.cache import cache
from django.db import OperationalError
from google.rpc.error_details_pb2 import RetryInfo
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse
from pytest_django import Settings

from cockpit.http import tokens
from cockpit.serving.otlp_grpc import GrpcListener
from tests.services.processes import free_port
from tests.support.arriving_spans import MODEL, Span, model, protobuf, request, root, tool
from tests.support.assembler_time import let_pass
from tests.support.grpc_frames import call, message_frame
from tests.support.patience import patience_s
from traces.models import Recording, Run
from traces.recordings import arrivals

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.divided]
TRACES = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
WHOLE = protobuf(request(root(), model(), tool()))
OK, INVALID, DENIED, EXHAUSTED, UNIMPLEMENTED, INTERNAL, UNAUTHENTICATED = 0, 3, 7, 8, 12, 13, 16
GZIP = {"grpc-encoding": "gzip"}
DAY_NS = 24 * 3600 * 10**9


@pytest.fixture
def address(settings: Settings) -> Iterator[str]:
    """Listen on a free port; return its address."""
    settings.OTLP_GRPC_PORT, settings.HOST = free_port(), "127.0.0.1"
    cache.clear()
    listener = GrpcListener()
    listener.start()
    yield f"127.0.0.1:{settings.OTLP_GRPC_PORT}"
    listener.stop()


def _send(address: str, *spans: Span) -> ExportTraceServiceResponse:
    """Send spans in one message by gRPC's own client, which follows the flow control of large messages."""
    with grpc.insecure_channel(address) as channel:
        send = channel.unary_unary(TRACES, response_deserializer=ExportTraceServiceResponse.FromString)
        response: ExportTraceServiceResponse = send(protobuf(request(*spans)), timeout=patience_s(20))
        return response


def _with(span: Span, **fields: object) -> Span:
    return {**span, **fields}


def _steps() -> list[str]:
    """Seal what has arrived; return the names of the steps of the run's newest revision."""
    let_pass(10)
    run = Run.objects.order_by("-revision")[0]
    return list(run.steps.order_by("sequence_no").values_list("name", flat=True))


@pytest.mark.parametrize(
    ("message", "headers"),
    [
        (message_frame(WHOLE), {}),
        (message_frame(gzip.compress(WHOLE), is_compressed=True), GZIP),
        (message_frame(zlib.compress(WHOLE), is_compressed=True), {"grpc-encoding": "deflate"}),
        (message_frame(request(root(), model(), tool())), {"content-type": "application/grpc+json"}),
    ],
)
def test_whole_message_is_stored(address: str, message: bytes, headers: dict[str, str]) -> None:
    assert call(address, TRACES, message, headers).code == OK
    assert _steps() == ["handle order", "chat", "get_order"]


@pytest.mark.parametrize(
    ("body", "headers", "reason"),
    [
        (message_frame(b"\x0a\xff\xff"), {}, "neither an OTLP request"),
        (message_frame(gzip.compress(WHOLE)[:-9], is_compressed=True), GZIP, "not valid gzip"),
        (message_frame(WHOLE)[:-9], {}, "no whole message"),
        (message_frame(WHOLE)[:3], {}, "no whole message"),
        (b"", {}, "no whole message"),
        (message_frame(WHOLE) * 2, {}, "more than one message"),
        (b"{}", {"content-type": "application/json"}, "no whole message"),
    ],
)
def test_malformed_request_is_invalid(address: str, body: bytes, headers: dict[str, str], reason: str) -> None:
    response = call(address, TRACES, body, headers)
    assert (response.code, reason in response.headers["grpc-message"]) == (INVALID, True), response
    assert "grpc-status-details-bin" in response.headers
    assert not Recording.objects.exists()


@pytest.mark.parametrize("headers", [{"grpc-encoding": "snappy"}, {}])
def test_unknown_encoding_is_refused_by_library(address: str, headers: dict[str, str]) -> None:
    assert call(address, TRACES, message_frame(gzip.compress(WHOLE), is_compressed=True), headers).code == INTERNAL
    assert not Recording.objects.exists()


@pytest.mark.parametrize("path", [TRACES.replace("Export", "Other"), "/other.Service/Export"])
def test_unknown_method(address: str, path: str) -> None:
    assert call(address, path, message_frame(WHOLE)).code == UNIMPLEMENTED


def test_length_above_the_limit_is_refused_unread(address: str) -> None:
    assert call(address, TRACES, b"\0\xff\xff\xff\xff").code == EXHAUSTED


def test_bomb_is_not_unpacked(address: str, settings: Settings) -> None:
    settings.MAX_BODY_BYTES = 2**20
    start = time.process_time()
    response = call(address, TRACES, message_frame(gzip.compress(bytes(2**25)), is_compressed=True), GZIP)
    assert (response.code, "larger than 1 MiB" in response.headers["grpc-message"]) == (INVALID, True)
    assert time.process_time() - start < 2


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"traceId": "12"}, "trace id"),
        ({"spanId": "12"}, "span id"),
        ({"traceId": ""}, "trace id"),
        ({"spanId": ""}, "span id"),
        ({"traceId": "0" * 32}, "trace id"),
    ],
)
def test_span_that_cannot_be_used(address: str, fields: dict[str, str], reason: str) -> None:
    partial = _send(address, root(), _with(model(), **fields), tool()).partial_success
    assert (partial.rejected_spans, reason in partial.error_message) == (1, True)
    assert _steps() == ["handle order", "get_order"]


def test_ten_thousand_attributes_are_stored(address: str) -> None:
    attributes = [{"key": f"note.{number}", "value": {"intValue": "7"}} for number in range(10_000)]
    item = _with(tool(), attributes=[*tool()["attributes"], *attributes])
    assert not _send(address, root(), model(), item).HasField("partial_success")
    assert _steps() == ["handle order", "chat", "get_order"]
    assert Run.objects.get().steps.get(name="get_order").attributes_ref


def test_clock_two_days_ahead(address: str) -> None:
    future = str(time.time_ns() + 2 * DAY_NS)
    _send(address, *(_with(item, startTimeUnixNano=future, endTimeUnixNano=future) for item in (root(), tool())))
    assert sorted(_steps()) == ["get_order", "handle order"]
    assert Run.objects.get().sealed_at is not None


def test_same_id_with_other_content(address: str) -> None:
    other = _with(tool(), spanId=MODEL)
    _send(address, root(), model())
    for span in (other, model()):
        _send(address, span)
        # The fuller one counts.
        assert _steps() == ["handle order", "chat"]
        assert "occurs twice" in Run.objects.get().metadata["recording_problem"]


@pytest.mark.parametrize(("role", "code"), [("", UNAUTHENTICATED), ("viewer", DENIED), ("sender", OK)])
def test_tokens(address: str, settings: Settings, role: Any, code: int) -> None:
    settings.LOGIN_REQUIRED = True
    secret = tokens.create(name="me", role=role) if role else "fp_unknown"
    assert call(address, TRACES, message_frame(WHOLE), {"authorization": f"Bearer {secret}"}).code == code
    assert Recording.objects.exists() is (code == OK)


def test_no_token_is_unauthenticated(address: str, settings: Settings) -> None:
    settings.LOGIN_REQUIRED = True
    assert call(address, TRACES, message_frame(WHOLE)).code == UNAUTHENTICATED


def test_guessed_tokens_have_to_wait(address: str, settings: Settings) -> None:
    settings.LOGIN_REQUIRED = True
    responses = [call(address, TRACES, b"", {"x-api-key": f"fp_{number}"}) for number in range(21)]
    assert [response.code for response in responses] == [UNAUTHENTICATED] * 20 + [EXHAUSTED]
    assert "google.rpc.retryinfo-bin" in responses[-1].headers


def test_database_that_does_not_respond(address: str) -> None:
    with (
        patch.object(arrivals, "accept", side_effect=OperationalError("the server closed the connection")),
        pytest.raises(grpc.RpcError) as refusal,
    ):
        _send(address, root())
    assert refusal.value.code() is grpc.StatusCode.UNAVAILABLE
    retry = RetryInfo.FromString(dict(refusal.value.trailing_metadata())["google.rpc.retryinfo-bin"])
    assert retry.retry_delay.seconds == 1
