"""Export requests of both transports: store their records, and encode the response."""

from typing import Final

import structlog
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsPartialSuccess, ExportLogsServiceResponse
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTracePartialSuccess,
    ExportTraceServiceResponse,
)

from traces.collectors.back_pressure import slot
from traces.collectors.otlp.segments import Split, split
from traces.importers.otlp.batches import check_request
from traces.importers.otlp.raw_spans import Signal
from traces.recordings import arrivals

logger = structlog.get_logger("traces.collectors")
_EMPTY: Final = Split(segments=[], rejections=0, reasons="")


def export(body: bytes, signal: Signal | None, *, project: str) -> Split:
    """Store the records of a request; they are committed on return. `signal` None only checks that it is one.

    Raises `BadFile` for anything that is not a request, and `ServerOverload`.
    """
    if not body:
        return _EMPTY
    if signal is None:
        check_request(body)
        return _EMPTY
    with slot():
        parts = split(body, signal)
        arrivals.accept(parts.segments, project=project)
    if parts.rejections:
        logger.warning("records_rejected", count=parts.rejections, reasons=parts.reasons)
    return parts


def protobuf_response(parts: Split, signal: Signal | None) -> bytes:
    """Encode the response in protobuf: empty, or a partial success."""
    if not parts.rejections:
        return b""
    if signal is Signal.LOGS:
        rejected_logs = ExportLogsPartialSuccess(rejected_log_records=parts.rejections, error_message=parts.reasons)
        return ExportLogsServiceResponse(partial_success=rejected_logs).SerializeToString()
    rejected_spans = ExportTracePartialSuccess(rejected_spans=parts.rejections, error_message=parts.reasons)
    return ExportTraceServiceResponse(partial_success=rejected_spans).SerializeToString()
