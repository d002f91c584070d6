"""OTLP/HTTP endpoints: traces and logs are recorded, metrics are accepted and not stored.

Answers are in the encoding of the request. A refusal has the status code, and a `google.rpc.Status` with the reason.
"""

from collections.abc import Callable
from typing import Final

import orjson
import structlog
from django.http import HttpRequest, HttpResponse
from django.utils.decorators import method_decorator
from django.views import View
from django.views.decorators.csrf import csrf_exempt
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsPartialSuccess, ExportLogsServiceResponse
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTracePartialSuccess,
    ExportTraceServiceResponse,
)

from traces.collectors import otlp
from traces.collectors.back_pressure import slot
from traces.collectors.encoded_bodies import read_body
from traces.collectors.json_view import project_of
from traces.errors import ProblemError
from traces.importers.otlp.raw_spans import Signal
from traces.recordings import arrivals

logger = structlog.get_logger("traces.collectors")
_PROTOBUF: Final = "application/x-protobuf"
_JSON: Final = "application/json"
# google.rpc.Code
_INVALID_ARGUMENT: Final = 3
_UNAVAILABLE: Final = 14
_OK: Final = 200


class UnknownMediaType(ProblemError):
    """A body that is neither protobuf nor JSON."""

    status = 415


@method_decorator(csrf_exempt, name="dispatch")
class OtlpView(View):
    """Receives the requests of one signal; `signal` None accepts them and stores nothing."""

    signal: Signal | None = None

    def post(self, request: HttpRequest) -> HttpResponse:
        is_json = _media_type(request) == _JSON
        try:
            return self._record(request, is_json=is_json)
        except ProblemError as problem:
            return _refusal(problem, is_json=is_json)

    def _record(self, request: HttpRequest, *, is_json: bool) -> HttpResponse:
        if _media_type(request) not in (_PROTOBUF, _JSON):
            raise UnknownMediaType(f"send {_PROTOBUF} or {_JSON}")
        body = read_body(request)
        if self.signal is None or not body:
            return _answer(b"{}" if is_json else b"", is_json=is_json)
        with slot():
            parts = otlp.split(body, self.signal)
            arrivals.accept(parts.segments, project=project_of(request))
        if parts.rejections:
            logger.warning("records_rejected", count=parts.rejections, reasons=parts.reasons)
        return _answer(_RESPONSES[self.signal](parts, is_json), is_json=is_json)


def _traces_response(parts: otlp.Split, is_json: bool) -> bytes:
    if is_json:
        return _partial_success("rejectedSpans", parts)
    if not parts.rejections:
        return b""
    partial = ExportTracePartialSuccess(rejected_spans=parts.rejections, error_message=parts.reasons)
    return ExportTraceServiceResponse(partial_success=partial).SerializeToString()


def _logs_response(parts: otlp.Split, is_json: bool) -> bytes:
    if is_json:
        return _partial_success("rejectedLogRecords", parts)
    if not parts.rejections:
        return b""
    partial = ExportLogsPartialSuccess(rejected_log_records=parts.rejections, error_message=parts.reasons)
    return ExportLogsServiceResponse(partial_success=partial).SerializeToString()


def _partial_success(name: str, parts: otlp.Split) -> bytes:
    # 64-bit integers are texts in the JSON of protobuf.
    partial = {"partialSuccess": {name: str(parts.rejections), "errorMessage": parts.reasons}}
    return orjson.dumps(partial if parts.rejections else {})


_RESPONSES: Final[dict[Signal, Callable[[otlp.Split, bool], bytes]]] = {
    Signal.TRACES: _traces_response,
    Signal.LOGS: _logs_response,
}


def _media_type(request: HttpRequest) -> str:
    return (request.content_type or _PROTOBUF).lower()


def _answer(content: bytes, *, is_json: bool, status: int = _OK) -> HttpResponse:
    return HttpResponse(content, status=status, content_type=_JSON if is_json else _PROTOBUF)


def _refusal(problem: ProblemError, *, is_json: bool) -> HttpResponse:
    code = _UNAVAILABLE if problem.retryable else _INVALID_ARGUMENT
    content = orjson.dumps({"code": code, "message": problem.detail}) if is_json else _status(code, problem.detail)
    response = _answer(content, is_json=is_json, status=problem.status)
    if wait := getattr(problem, "wait", None):
        response["Retry-After"] = str(wait)
    return response


def _status(code: int, message: str) -> bytes:
    """Encode a `google.rpc.Status`: the code is field 1, the message field 2."""
    text = message.encode()[:2_000]
    length, rest = bytearray(), len(text)
    while rest > 127:
        length.append(rest & 127 | 128)
        rest >>= 7
    return bytes([8, code, 18, *length, rest]) + text
