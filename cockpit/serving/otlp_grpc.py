"""The listener of OTLP/gRPC, beside the HTTP server of a web process. Off unless a port is configured."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from django.conf import settings

from cockpit.http import auth

# Each of them may wait for one of the slots of the collectors, so that a refusal under overload is prompt.
_THREADS: Final = 16
_GRACE_S: Final = 5.0


class CannotListen(Exception):
    """The reason why the listener cannot start, and the remedy."""


class GrpcListener:
    """Receives OTLP/gRPC in threads of this process."""

    def __init__(self) -> None:
        self._server: Any = None

    def start(self) -> None:
        """Listen on the configured port, if there is one. Raises `CannotListen`."""
        if settings.OTLP_GRPC_PORT is None:
            return
        # Installed with the extra `grpc`.
        import grpc  # noqa: PLC0415

        from traces.collectors.otlp.grpc_api import handlers  # noqa: PLC0415

        options = [
            ("grpc.max_receive_message_length", settings.MAX_BODY_BYTES),
            # The library decompresses without a limit.
            ("grpc.per_message_decompression", 0),
            # Two servers would share the port without an error.
            ("grpc.so_reuseport", 0),
        ]
        server = grpc.server(ThreadPoolExecutor(_THREADS, thread_name_prefix="otlp-grpc"), options=options)
        server.add_generic_rpc_handlers(handlers(_authorize))
        address = _address()
        try:
            server.add_insecure_port(address)
        except RuntimeError as error:
            raise CannotListen(
                f"Cannot listen on {address} for OTLP/gRPC: another process may use the port. "
                "Choose another one with FORKPOINT_OTLP_GRPC_PORT."
            ) from error
        server.start()
        self._server = server

    def stop(self) -> None:
        """Finish the requests that have arrived, and refuse new ones."""
        if self._server is not None:
            self._server.stop(_GRACE_S).wait()


def _address() -> str:
    host = f"[{settings.HOST}]" if ":" in settings.HOST else settings.HOST
    return f"{host}:{settings.OTLP_GRPC_PORT}"


def _authorize(metadata: Mapping[str, str], address: str) -> None:
    auth.authenticate(metadata, {}, role="sender", address=address)
