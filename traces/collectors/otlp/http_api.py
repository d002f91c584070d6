"""OTLP/HTTP endpoints. Answers are in the encoding of the request; a refusal is a `google.rpc.Status`."""

from typing import Final

import orjson
from django.http import HttpRequest, HttpResponse

from traces.collectors.collector_view import CollectorView, project_of
from traces.collectors.encoded_bodies import read_body
from traces.collectors.otlp.export import export, protobuf_response
from traces.collectors.otlp.segments import Split
from traces.errors import ProblemError
from traces.importers.otlp.raw_spans import Signal

_PROTOBUF: Final = "application/x-protobuf"
_JSON: Final = "application/json"
_COUNTS: Final = {Signal.TRACES: "rejectedSpans", Signal.LOGS: "rejectedLogRecords"}


class UnknownMediaType(ProblemError):
    """A body that is neither protobuf nor JSON."""

    status = 415


class OtlpView(CollectorView):
    """Receives the requests of one signal; `signal` None accepts them and stores nothing."""

    signal: Signal | None = None

    def post(self, request: HttpRequest) -> HttpResponse:
        media_type = (request.content_type or _PROTOBUF).lower()
        if media_type not in (_PROTOBUF, _JSON):
            raise UnknownMediaType(f"send {_PROTOBUF} or {_JSON}")
        parts = export(read_body(request), self.signal, project=project_of(request))
        encode = _json_response if media_type == _JSON else protobuf_response
        return HttpResponse(encode(parts, self.signal), content_type=media_type)


def _json_response(parts: Split, signal: Signal | None) -> bytes:
    if signal is None or not parts.rejections:
        return b"{}"
    # 64-bit integers are texts in the JSON of protobuf.
    return orjson.dumps({"partialSuccess": {_COUNTS[signal]: str(parts.rejections), "errorMessage": parts.reasons}})
