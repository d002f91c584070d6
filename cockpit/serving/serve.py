"""`forkpoint serve`: the whole product in one process."""

import asyncio
import fcntl
import gc
import signal
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Protocol

import uvicorn
from django.conf import settings
from django.core.management import call_command
from django.db import connection, connections

from cockpit.process.home import make_home, make_private_file
from cockpit.serving.incomplete_requests import guarded_protocol
from cockpit.serving.socket_frames import SOCKET_OPTIONS

GRACE_S = 5
# Longer than the timeouts of proxies: a proxy that reuses a connection just closed by the server responds with 502.
KEEP_ALIVE_S = 90
_POLL_S = 0.05
# Python's own; the command line sets others for its start.
_COLLECTION_THRESHOLDS = (700, 10, 10)
_NO_START = "The server could not start; the log above says why."


class ServeError(Exception):
    """The reason why the server cannot start, and the remedy."""


class Companion(Protocol):
    """What runs beside the server, from when it listens until it stops."""

    def start(self, address: str) -> None: ...
    def stop(self) -> None: ...


class _Server(uvicorn.Server):
    """Prints its address once it listens, and runs with a companion."""

    def __init__(self, config: uvicorn.Config, address: str, companion: Companion | None) -> None:
        super().__init__(config)
        self._address = address
        self._companion = companion

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if not self.started:
            return
        _collect_often()
        print(f"Forkpoint is running at {self._address}", flush=True)  # noqa: T201  # the command's output
        if self._companion is not None:
            self._companion.start(_reachable(self._address))

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        if self._companion is not None:
            # In a thread, because its connections are closed by this loop.
            await asyncio.to_thread(self._companion.stop)
        await super().shutdown(sockets)


def _collect_often() -> None:
    """Collect garbage as often as Python does by default, but not among the objects of the start.

    Requests, views and responses refer to one another: only a collection frees the bodies that they contain.
    """
    gc.freeze()
    gc.set_threshold(*_COLLECTION_THRESHOLDS)


def _listen(host: str, port: int) -> socket.socket:
    """Open the listening socket first, so that a port in use is reported at once."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        raise ServeError(
            f"Cannot listen on {host}:{port} ({error.strerror}). Choose another address with --host and --port "
            "or with FORKPOINT_HOST and FORKPOINT_PORT."
        ) from error
    return listener


def own_home() -> IO[str]:
    """Lock the home folder: two embedded servers would consider each other's replays abandoned."""
    try:
        make_home(settings.HOME)
        lock = _private(settings.HOME / "serve.lock").open("w")
    except OSError as error:
        raise ServeError(
            f"FORKPOINT_HOME is {settings.HOME}, which is not writable ({error.strerror}): set it to a writable folder."
        ) from error
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        lock.close()
        raise ServeError(
            f"Another Forkpoint is serving {settings.HOME}. Stop it, or set FORKPOINT_HOME to another folder."
        ) from error
    return lock


def _private(path: Path) -> Path:
    make_private_file(path)
    return path


def _require_token() -> None:
    from cockpit.http import tokens  # noqa: PLC0415  # models exist only after django.setup()

    if settings.LOGIN_REQUIRED and not tokens.any_in_force():
        raise ServeError(
            f"{settings.HOST} can be reached by others and there is no token to sign in with. "
            "Create one with `forkpoint token create NAME --role admin`, or serve on 127.0.0.1."
        )


def _address(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _reachable(address: str) -> str:
    """Return where programs on this machine reach a server: one that listens everywhere also listens on loopback."""
    return address.replace("//0.0.0.0:", "//127.0.0.1:").replace("//[::]:", "//[::1]:")


def _fold_journal() -> None:
    """Merge the write-ahead log into the database file, so that copying the file copies everything."""
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connections.close_all()


def server_config(**address: Any) -> uvicorn.Config:
    """Return the uvicorn configuration of all web processes; `address` is host and port, if there is no socket."""
    return uvicorn.Config(
        "cockpit.asgi:application",
        http=guarded_protocol(),
        **SOCKET_OPTIONS,
        lifespan="on",
        log_config=None,
        access_log=False,
        timeout_graceful_shutdown=GRACE_S,
        timeout_keep_alive=KEEP_ALIVE_S,
        **address,
    )


def serve(companion: Companion | None = None) -> None:
    """Serve until SIGTERM or SIGINT, with a companion beside the server; raises ServeError if it cannot start."""
    listener = _listen(settings.HOST, settings.PORT)
    with listener, own_home():
        call_command("migrate", verbosity=0)
        _require_token()
        _run(listener, companion)
        _fold_journal()
    # Nothing is left to do: the last collections of the interpreter would visit all objects, which takes most of a
    # second of processor time, and many on a busy machine.
    gc.freeze()


@contextmanager
def background_server() -> Iterator[str]:
    """Serve the local store on a free port of this machine while the block runs, and yield the address."""
    listener = _listen("127.0.0.1", 0)
    with listener, own_home():
        call_command("migrate", verbosity=0)
        server = uvicorn.Server(server_config())
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, name="server")
        thread.start()
        try:
            while not server.started:
                if not thread.is_alive():
                    raise ServeError(_NO_START)
                time.sleep(_POLL_S)
            yield _address(listener)
        finally:
            server.should_exit = True
            thread.join()
            _fold_journal()


def _run(listener: socket.socket, companion: Companion | None) -> None:
    server = _Server(server_config(), _address(listener), companion)
    # A signal must stop the server before uvicorn takes over, too. Uvicorn raises it again after it has stopped: this
    # handler then only notes it, so that cleanup can finish.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, server.handle_exit)
    server.run(sockets=[listener])
    if not server.started:
        raise ServeError(_NO_START)
