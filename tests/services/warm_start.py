"""`forkpoint` from a process that has imported its libraries: to import them takes most of a command's processor time.

One process per test session imports them and is forked for each command. The fork reads its environment, settings and
store like a new process, and ends like one.
"""

import gc
import importlib
import json
import os
import selectors
import socket
import subprocess
import sys
import tempfile
import threading
import time
import types
from functools import cache
from typing import Any, Final, NamedTuple

from django.conf import settings

FORKPOINT: Final = "from cockpit.cli import main; main()"

# What needs no settings: these, and what they import.
_LIBRARIES: Final = (
    "a2wsgi",
    "celery.app.amqp",
    "celery.app.control",
    "celery.concurrency.thread",
    "celery.fixups.django",
    "celery.worker.worker",
    "channels.routing",
    "channels.sessions",
    "cockpit.cli.app",
    "diffing.attribution.verdict",
    "django.contrib.auth.hashers",
    "django.contrib.staticfiles.finders",
    "django.core.management.commands.migrate",
    "django.db.backends.sqlite3.base",
    "django.template.loader_tags",
    "drf_spectacular.drainage",
    "jsonschema_rs",
    "kombu.transport.virtual",
    "psycopg",
    "replay.engine.replayer",
    "rest_framework.serializers",
    "traces.importers.registry",
    "traces.provenance.edges",
    "uvicorn.protocols.http.h11_impl",
    "uvloop",
    "whitenoise.middleware",
)
_LONGEST_REQUEST: Final = 200_000
_STATUS_BYTES: Final = 4


class _Request(NamedTuple):
    command: list[str]
    environment: dict[str, str]
    cwd: str | None


class WarmProcess(subprocess.Popen[Any]):
    """A process like that of `python -c PROGRAM ARGUMENT...`, forked. Options: `env`, `cwd` and those for streams.

    Overrides what `Popen` does to start and to wait: private methods, but the same in all versions since Python 3.11.
    """

    def _execute_child(self, args: list[str], *options: Any) -> None:
        cwd, env = options[4:6]
        pipes = options[9:15]
        stdin, _, _, stdout, _, stderr = pipes
        streams = [number if stream == -1 else stream for number, stream in enumerate((stdin, stdout, stderr))]
        request = _Request([*map(str, args)], dict(os.environ if env is None else env), cwd)
        self._status, status = os.pipe()
        try:
            self.pid = _warm_starter().fork(json.dumps(request).encode(), [*streams, status])
        finally:
            os.close(status)
            self._close_pipe_fds(*pipes)  # type: ignore[attr-defined]
        self._child_created = True

    def _waitpid(self, pid: int, flags: int) -> tuple[int, int]:
        with selectors.DefaultSelector() as selector:
            selector.register(self._status, selectors.EVENT_READ)
            if not selector.select(0 if flags & os.WNOHANG else None):
                return 0, 0
        return pid, int.from_bytes(os.read(self._status, _STATUS_BYTES))

    def _try_wait(self, wait_flags: int) -> tuple[int, int]:
        return self._waitpid(self.pid, wait_flags)

    def _internal_poll(self, _deadstate: int | None = None) -> int | None:
        code: int | None = super()._internal_poll(_deadstate, _waitpid=self._waitpid)  # type: ignore[misc]
        return code


class _Starter:
    """The process that is forked, and the socket to it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._socket, other_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with other_end:
            command = [sys.executable, "-u", "-m", "tests.services.warm_start", str(other_end.fileno())]
            # It ends with the socket, and so with this process.
            self._process = subprocess.Popen(command, pass_fds=[other_end.fileno()])

    def fork(self, request: bytes, descriptors: list[int]) -> int:
        with self._lock:
            socket.send_fds(self._socket, [request], descriptors)
            return int(self._socket.recv(20))


@cache
def _warm_starter() -> _Starter:
    return _Starter()


def _forked_request(requests: socket.socket) -> _Request:
    """Fork for each request and report how the forks end. Returns in each fork, with its request."""
    pipes: dict[int, tuple[int, int]] = {}
    with selectors.DefaultSelector() as selector:
        selector.register(requests, selectors.EVENT_READ)
        while True:
            for key, _ in selector.select():
                if key.fd != requests.fileno():
                    selector.unregister(key.fd)
                    pid, status = pipes.pop(key.fd)
                    os.write(status, os.waitpid(pid, 0)[1].to_bytes(_STATUS_BYTES))
                    os.close(status)
                    os.close(key.fd)
                    continue
                data, descriptors, *_ = socket.recv_fds(requests, _LONGEST_REQUEST, 4)
                if not data:
                    os._exit(0)
                *streams, status = descriptors
                if not (pid := os.fork()):
                    for descriptor in (status, *pipes, *(pipe for _, pipe in pipes.values())):
                        os.close(descriptor)
                    for number, stream in enumerate(streams):
                        os.dup2(stream, number)
                        os.close(stream)
                    return _Request(*json.loads(data))
                handle = os.pidfd_open(pid)
                pipes[handle] = pid, status
                selector.register(handle, selectors.EVENT_READ)
                for stream in streams:
                    os.close(stream)
                requests.send(str(pid).encode())


def _run(request: _Request) -> None:
    os.environ.clear()
    os.environ.update(request.environment)
    if request.cwd is not None:
        os.chdir(request.cwd)
    program, *arguments = request.command
    sys.argv = ["-c", *arguments]
    # These remember the environment.
    tempfile.tempdir = None
    time.tzset()
    sys.modules["__main__"] = module = types.ModuleType("__main__")
    exec(program, module.__dict__)


def main() -> None:
    for name in _LIBRARIES:
        importlib.import_module(name)
    if settings.configured:
        sys.exit("settings were read before the environment of a process was known")
    gc.freeze()
    with socket.socket(fileno=int(sys.argv[1])) as requests:
        request = _forked_request(requests)
    _run(request)


if __name__ == "__main__":
    main()
