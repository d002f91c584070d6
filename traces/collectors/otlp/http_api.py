"""OTLP/HTTP endpoints. Answers are in the encoding of the request; a refusal is a `google.rpc.Status`."""

from typing import Final

import orjson
from django.http import HttpRequest, HttpResponse
from django.utils.decorators import method_decorator
from django.views import View
from django.views.decorators.csrf import csrf_exempt

from traces.collectors.encoded_bodies import read_body
from traces.collectors.json_view import project_of
from traces.collectors.otlp.export import export, protobuf_response
from traces.collectors.otlp.refusals import status_of
from traces.collectors.otlp.segments import Split
from traces.errors import ProblemError
from traces.importers.otlp.raw_spans import Signal

_PROTOBUF: Final = "application/x-protobuf"
_JSON: Final = "application/json"
_OK: Final = 200
_COUNTS: Final = {Signal.TRACES: "rejectedSpans", Signal.LOGS: "rejectedLogRecords"}


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
        parts = export(read_body(request), self.signal, project=project_of(request))
        content = _json_response(parts, self.signal) if is_json else protobuf_response(parts, self.signal)
        return _answer(content, is_json=is_json)


def _json_response(parts: Split, signal: Signal | None) -> bytes:
    if signal is None or not parts.rejections:
        return b"{}"
    # 64-bit integers are texts in the JSON of protobuf.
    return orjson.dumps({"partialSuccess": {_COUNTS[signal]: str(parts.rejections), "errorMessage": parts.reasons}})


def _media_type(request: HttpRequest) -> str:
    return (request.content_type or _PROTOBUF).lower()


def _answer(content: bytes, *, is_json: bool, status: int = _OK) -> HttpResponse:
    return HttpResponse(content, status=status, content_type=_JSON if is_json else _PROTOBUF)


def _refusal(problem: ProblemError, *, is_json: bool) -> HttpResponse:
    status = status_of(problem)
    content = orjson.dumps({"code": status.code, "message": status.message}) if is_json else status.SerializeToString()
    response = _answer(content, is_json=is_json, status=problem.status)
    if wait := getattr(problem, "wait", None):
        response["Retry-After"] = str(wait)
    return response
