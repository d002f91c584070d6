"""OTLP over gRPC, with the exporter of OpenTelemetry as the client."""

import gzip
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from threading import Timer
from typing import Any

import grpc
import pytest
from django.core.cache import cache
from google.rpc.error_details_pb2 import RetryInfo
from google.rpc.status_pb2 import Status
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from pytest_django import Settings

from cockpit.http import tokens
from cockpit.http.schemas import Role
from cockpit.serving.otlp_grpc import CannotListen, GrpcListener
from tests.services.processes import free_port
from tests.services.server import Server
from tests.support.arriving_spans import model, protobuf, request, root, tool
from tests.support.assembler_time import let_pass
from tests.support.http import HTTP
from tests.support.patience import patience_s, wait_until
from traces.collectors.back_pressure import slot
from traces.core.vocabulary import RunStatus
from traces.models import Recording, Run

pytestmark = pytest.mark.django_db(transaction=True)
TRACES = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
LOGS = "/opentelemetry.proto.collector.logs.v1.LogsService/Export"
METRICS = "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export"
WHOLE = protobuf(request(root(), model(), tool()))


@pytest.fixture
def address(settings: Settings) -> Iterator[str]:
    """Listen on a free port; return its address."""
    settings.OTLP_GRPC_PORT, settings.HOST = free_port(), "127.0.0.1"
    # Other tests guess tokens, too.
    cache.clear()
    listener = GrpcListener()
    listener.start()
    yield f"127.0.0.1:{settings.OTLP_GRPC_PORT}"
    listener.stop()


def _send(address: str, body: bytes, method: str = TRACES, **options: Any) -> bytes:
    with grpc.insecure_channel(address) as channel:
        response: bytes = channel.unary_unary(method)(body, timeout=patience_s(20), **options)
        return response


def _refusal(address: str, body: bytes, **options: Any) -> grpc.RpcError:
    with pytest.raises(grpc.RpcError) as info:
        _send(address, body, **options)
    return info.value


def _exporter(address: str, **options: Any) -> OTLPSpanExporter:
    return OTLPSpanExporter(endpoint=f"http://{address}", insecure=True, **options)


def _trace(exporter: OTLPSpanExporter) -> None:
    """Record a small agent run by the SDK of OpenTelemetry, and send it."""
    provider = TracerProvider(resource=Resource({"service.name": "desk"}))
    provider.add_span_processor(BatchSpanProcessor(exporter))
    tracer = provider.get_tracer("agent")
    with (
        tracer.start_as_current_span("handle order", attributes={"openinference.span.kind": "AGENT"}),
        tracer.start_as_current_span("get_order", attributes={"openinference.span.kind": "TOOL"}),
    ):
        pass
    provider.shutdown()


def _steps(run: Run) -> list[tuple[str, str]]:
    return list(run.steps.order_by("sequence_no").values_list("type", "name"))


@pytest.mark.parametrize("compression", list(grpc.Compression))
def test_exporter_records_a_run(address: str, compression: grpc.Compression) -> None:
    _trace(_exporter(address, compression=compression))
    let_pass(10)
    run = Run.objects.get()
    assert (run.app, run.status) == ("desk", RunStatus.COMPLETED)
    assert _steps(run) == [("agent", "handle order"), ("tool", "get_order")]


def test_metadata_names_the_app(address: str) -> None:
    _trace(_exporter(address, headers=(("x-forkpoint-app", "shop"),)))
    let_pass(10)
    assert Run.objects.get().app == "shop"


def test_rejected_spans_are_a_partial_success(address: str) -> None:
    response = _send(address, protobuf(request(root(), {**model(), "spanId": "eee1"}, tool())))
    partial = ExportTraceServiceResponse.FromString(response).partial_success
    assert partial.rejected_spans == 1
    assert "span id" in partial.error_message
    let_pass(10)
    assert _steps(Run.objects.get()) == [("agent", "handle order"), ("tool", "get_order")]


def test_logs_and_metrics_are_accepted(address: str) -> None:
    assert _send(address, b"", LOGS) == b""
    assert _send(address, b"\n\0", METRICS) == b""
    assert not Recording.objects.exists()


def test_malformed_request_is_invalid(address: str) -> None:
    error = _refusal(address, b"\x0a\xff\xff")
    assert error.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert Status.FromString(dict(error.trailing_metadata())["grpc-status-details-bin"]).code == 3


def test_broken_compression_is_invalid(address: str) -> None:
    assert _refusal(address, gzip.compress(WHOLE)[:-9]).code() is grpc.StatusCode.INVALID_ARGUMENT


def test_message_above_the_limit_is_refused(address: str, settings: Settings) -> None:
    error = _refusal(address, bytes(settings.MAX_BODY_BYTES + 1))
    assert error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert "google.rpc.retryinfo-bin" not in dict(error.trailing_metadata())


def test_bomb_is_not_unpacked(address: str, settings: Settings) -> None:
    error = _refusal(address, gzip.compress(bytes(settings.MAX_BODY_BYTES + 1)))
    assert error.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert "larger than" in error.details()


@pytest.mark.parametrize(
    ("role", "code"), [(None, grpc.StatusCode.UNAUTHENTICATED), ("viewer", grpc.StatusCode.PERMISSION_DENIED)]
)
def test_token_must_be_of_a_sender(address: str, settings: Settings, role: Role | None, code: grpc.StatusCode) -> None:
    settings.LOGIN_REQUIRED = True
    secret = tokens.create(name="me", role=role) if role else "fp_unknown"
    assert _refusal(address, WHOLE, metadata=[("authorization", f"Bearer {secret}")]).code() is code
    _trace(_exporter(address, headers=(("authorization", f"Bearer {secret}"),)))
    assert not Recording.objects.exists()


def test_sender_may_record(address: str, settings: Settings) -> None:
    settings.LOGIN_REQUIRED = True
    _trace(_exporter(address, headers=(("authorization", f"Bearer {tokens.create(name='me', role='sender')}"),)))
    let_pass(10)
    assert Run.objects.get().step_count == 2


def test_guessing_tokens_is_limited(address: str, settings: Settings) -> None:
    settings.LOGIN_REQUIRED = True
    guesses = [_refusal(address, b"", metadata=[("x-api-key", f"fp_{number}")]) for number in range(21)]
    assert {guess.code() for guess in guesses[:20]} == {grpc.StatusCode.UNAUTHENTICATED}
    assert guesses[20].code() is grpc.StatusCode.RESOURCE_EXHAUSTED


def test_overload_asks_to_send_again(address: str) -> None:
    with ExitStack() as busy:
        for _ in range(4):
            busy.enter_context(slot())
        error = _refusal(address, WHOLE)
    assert error.code() is grpc.StatusCode.UNAVAILABLE
    delay = RetryInfo.FromString(dict(error.trailing_metadata())["google.rpc.retryinfo-bin"]).retry_delay
    assert delay.seconds == 1
    status = Status.FromString(dict(error.trailing_metadata())["grpc-status-details-bin"])
    assert status.details[0].Is(RetryInfo.DESCRIPTOR)
    assert not Recording.objects.exists()


def test_exporter_sends_again_after_an_overload(address: str) -> None:
    busy = ExitStack()
    for _ in range(4):
        busy.enter_context(slot())
    Timer(2.5, busy.close).start()
    _trace(_exporter(address))
    let_pass(10)
    assert Run.objects.get().step_count == 2


def test_port_in_use_is_reported(address: str) -> None:
    with pytest.raises(CannotListen, match="FORKPOINT_OTLP_GRPC_PORT"):
        GrpcListener().start()


@pytest.mark.own_store
def test_server_that_is_killed_loses_nothing_acknowledged(tmp_path: Path) -> None:
    port = free_port()
    env = {"FORKPOINT_OTLP_GRPC_PORT": str(port), "FORKPOINT_QUIET_S": "0"}
    server = Server(tmp_path / "home", "--no-demo", env=env)
    server.start()
    _send(f"127.0.0.1:{port}", WHOLE)
    server.kill()
    server.start()
    try:
        wait_until(lambda: _step_counts(server) == [3], 20)
    finally:
        assert server.stop() == 0


def _step_counts(server: Server) -> list[int]:
    runs = HTTP.get(f"{server.url}/api/v1/runs", timeout=patience_s(10)).json()["runs"]
    return [run["steps"] for run in runs]
