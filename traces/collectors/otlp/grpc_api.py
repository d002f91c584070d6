"""OTLP/gRPC: the methods of the collector services, on encoded messages. Needs the extra `grpc`."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import unquote

import grpc
import structlog
from django.db import InterfaceError, OperationalError, close_old_connections

from traces.collectors.back_pressure import ServerOverload
from traces.collectors.collector_view import project_in
from traces.collectors.encoded_bodies import decompress
from traces.collectors.otlp.export import export, protobuf_response
from traces.collectors.refusals import refusal_of
from traces.collectors.rpc_status import retry_info, status_of
from traces.errors import ProblemError
from traces.http.outages import name_outage
from traces.importers.otlp.raw_spans import Signal

log = structlog.get_logger("traces.collectors.otlp.grpc_api")
# Raises a `ProblemError` if the sender of these metadata, at this address, may not record.
Authorize = Callable[[Mapping[str, str], str], None]
_PACKAGE: Final = "opentelemetry.proto.collector"
_SIGNALS: Final = {
    f"{_PACKAGE}.trace.v1.TraceService": Signal.TRACES,
    f"{_PACKAGE}.logs.v1.LogsService": Signal.LOGS,
    f"{_PACKAGE}.metrics.v1.MetricsService": None,
}
# First bytes of compressed messages. A message of OTLP begins with the tag of its first field, which is a line break.
_ENCODINGS: Final = {b"\x1f": "gzip", b"\x78": "deflate"}
_CODES: Final = {code.value[0]: code for code in grpc.StatusCode}


class NotOneMessage(ProblemError):
    """A call without exactly one message."""


class InternalError(ProblemError):
    """An unexpected error; the log contains it."""

    code = "internal_error"
    status = 500


def handlers(authorize: Authorize) -> list[Any]:
    """Return the handlers of the three services for a server that does not decompress messages itself."""
    return [
        # As for a stream of messages: then nothing is read of a sender that is refused.
        grpc.method_handlers_generic_handler(
            service, {"Export": grpc.stream_unary_rpc_method_handler(_Export(signal=signal, authorize=authorize))}
        )
        for service, signal in _SIGNALS.items()
    ]


@dataclass(frozen=True, kw_only=True, slots=True)
class _Export:
    """One method: messages come and go encoded."""

    signal: Signal | None
    authorize: Authorize

    def __call__(self, messages: Iterator[bytes], context: Any) -> bytes:
        close_old_connections()
        try:
            return self._export(messages, context)
        except grpc.RpcError:
            # The client left, or its message is too large: the library has answered.
            return b""
        except Exception as error:  # noqa: BLE001  # the library would send its text to the client
            problem = _problem(error)
        finally:
            close_old_connections()
        return _refuse(context, problem)

    def _export(self, messages: Iterator[bytes], context: Any) -> bytes:
        metadata = {key: value for key, value in context.invocation_metadata() if isinstance(value, str)}
        self.authorize(metadata, _address(context.peer()))
        message = _single_message(messages)
        body = decompress(iter([message]), _ENCODINGS.get(message[:1], "identity"))
        parts = export(body, self.signal, project=project_in(metadata))
        return protobuf_response(parts, self.signal)


def _single_message(messages: Iterator[bytes]) -> bytes:
    """Return the message of a call. Raises `NotOneMessage`: what is not read would otherwise be acknowledged."""
    message = next(messages, None)
    if message is None:
        raise NotOneMessage("the call contains no whole message")
    if next(messages, None) is not None:
        raise NotOneMessage("the call contains more than one message")
    return message


def _problem(error: Exception) -> ProblemError:
    if isinstance(error, ProblemError):
        return error
    log.error("request_failed", exc_info=error)
    if isinstance(error, OperationalError | InterfaceError):
        return ServerOverload(f"{name_outage(error)}: send the request again in a second")
    return InternalError("an internal error occurred; the server log contains it")


def _refuse(context: Any, problem: ProblemError) -> bytes:
    refusal = refusal_of(problem)
    status = status_of(refusal.status, refusal.detail, wait=refusal.wait)
    trailer = [("grpc-status-details-bin", status.SerializeToString())]
    if refusal.wait:
        # The exporter of Python reads only this one.
        trailer.append(("google.rpc.retryinfo-bin", retry_info(refusal.wait).SerializeToString()))
    context.set_trailing_metadata(tuple(trailer))
    context.abort(_CODES[status.code], status.message)
    return b""


def _address(peer: str) -> str:
    """Return the address in the name of a peer, such as `ipv4:10.0.0.5:51234` or `ipv6:%5B::1%5D:51234`."""
    return unquote(peer).partition(":")[2].rpartition(":")[0].strip("[]")
