"""`forkpoint` from a process that has imported its modules: to import them takes most of a command's processor time.

One process per test session imports them and is forked for each command. The fork reads its environment, settings and
store like a new process, and ends like one. Modules are imported before an environment is known, so they may read only
settings that none changes.
"""

import atexit
import contextlib
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

from django.apps import AppConfig, apps
from django.conf import global_settings, settings
from django.db import connections
from django.db.utils import ConnectionHandler
from django.utils.functional import empty

FORKPOINT: Final = "from cockpit.cli import main; main()"
CELERY: Final = "from celery.__main__ import main; main()"

_SETTINGS: Final = "cockpit.settings"
# No environment changes these. Models read the limits of their database's names, which none of them reaches.
_CONSTANTS: Final = (
    "ABSOLUTE_URL_OVERRIDES",
    "DEBUG",
    "DEFAULT_AUTO_FIELD",
    "DEFAULT_TABLESPACE",
    "INSTALLED_APPS",
    "LANGUAGE_CODE",
    "LOCALE_PATHS",
    "REST_FRAMEWORK",
    "SPECTACULAR_SETTINGS",
    "USE_I18N",
    "VERSION",
)
# These, all views, and what they import.
_MODULES: Final = (
    "anthropic",
    "celery.app.amqp",
    "celery.app.control",
    "celery.bin.celery",
    "celery.concurrency.solo",
    "celery.concurrency.thread",
    "celery.contrib.django.task",
    "celery.worker.autoscale",
    "celery.worker.consumer",
    "channels.routing",
    "channels.sessions",
    "channels_redis.core",
    "cockpit.cli.app",
    "cockpit.cli.commands.replay",
    "cockpit.cli.commands.serve",
    "cockpit.db.postgres.base",
    "cockpit.db.sqlite.base",
    "cockpit.demo.service",
    "cockpit.gateway.app",
    "cockpit.http.middleware",
    "cockpit.http.spa",
    "cockpit.http.transfer.chunked_bodies",
    "cockpit.http.transfer.compression",
    "cockpit.management.commands.migrate",
    "cockpit.metrics.requests",
    "cockpit.process.assembly",
    "cockpit.process.indexing",
    "cockpit.process.purging",
    "cockpit.process.recovery",
    "cockpit.runners.consumer",
    "cockpit.serving.otlp_grpc",
    "cockpit.serving.serve",
    "django.contrib.auth.hashers",
    "django.contrib.sessions.backends.db",
    "django.core.cache.backends.locmem",
    "django.core.cache.backends.redis",
    "django.middleware.clickjacking",
    "django.middleware.common",
    "django.middleware.security",
    "kombu.transport.redis",
    "openai",
    "replay.migrations.0001_tables",
    "replay.tasks",
    "traces.imports.upload_files",
    "traces.migrations.0001_tables",
    "traces.storage.immutability_triggers",
    "uvicorn.lifespan.on",
    "uvicorn.loops.uvloop",
    "uvicorn.protocols.websockets.websockets_sansio_impl",
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

    Overrides what `Popen` does to start and to wait: private methods, which Python 3.11 to 3.14 call alike.
    """

    def _execute_child(self, args: list[str], *options: Any) -> None:
        cwd, env = options[4:6]
        pipes = options[9:15]
        stdin, _, _, stdout, _, stderr = pipes
        streams = [number if stream == -1 else stream for number, stream in enumerate((stdin, stdout, stderr))]
        request = _Request([*map(str, args)], dict(os.environ if env is None else env), cwd and os.fspath(cwd))
        self._status, status = os.pipe()
        try:
            self.pid = _warm_starter().fork(json.dumps(request).encode(), [*streams, status])
        finally:
            os.close(status)
            self._close_pipe_fds(*pipes)  # type: ignore[attr-defined]  # private
        self._child_created = True

    def _waitpid(self, pid: int, flags: int) -> tuple[int, int]:
        with selectors.DefaultSelector() as selector:
            selector.register(self._status, selectors.EVENT_READ)
            if not selector.select(0 if flags & os.WNOHANG else None):
                return 0, 0
        with os.fdopen(self._status, "rb") as status:
            report = status.read()
        if not report:
            raise RuntimeError("the process that forks has ended")
        return pid, int.from_bytes(report)

    def _try_wait(self, wait_flags: int) -> tuple[int, int]:
        return self._waitpid(self.pid, wait_flags)

    def _internal_poll(self, _deadstate: int | None = None) -> int | None:
        # Not the library's, whose parameters differ between versions of Python.
        lock: threading.Lock = self._waitpid_lock  # type: ignore[attr-defined]  # private
        if self.returncode is None and lock.acquire(blocking=False):
            try:
                pid, status = self._waitpid(self.pid, os.WNOHANG)
                if pid:
                    self.returncode = os.waitstatus_to_exitcode(status)
            finally:
                lock.release()
        return self.returncode


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


class _Forker:
    """Forks for each request, and reports how the forks end."""

    def __init__(self, requests: socket.socket) -> None:
        self._requests = requests
        self._selector = selectors.DefaultSelector()
        self._selector.register(requests, selectors.EVENT_READ)
        # The ids of the forks, and where their ends are reported, by their handles.
        self._forks: dict[int, tuple[int, int]] = {}

    def serve(self) -> _Request:
        """Serve until the socket is closed. Returns in each fork, with its request."""
        while True:
            for key, _ in self._selector.select():
                if key.fd != self._requests.fileno():
                    self._report_end(key.fd)
                elif (request := self._fork()) is not None:
                    return request

    def _report_end(self, handle: int) -> None:
        self._selector.unregister(handle)
        pid, status = self._forks.pop(handle)
        os.write(status, os.waitpid(pid, 0)[1].to_bytes(_STATUS_BYTES))
        _close(status, handle)

    def _fork(self) -> _Request | None:
        """Fork for the next request; return it in the fork."""
        data, descriptors, *_ = socket.recv_fds(self._requests, _LONGEST_REQUEST, 4)
        if not data:
            os._exit(0)
        *streams, status = descriptors
        if pid := os.fork():
            handle = os.pidfd_open(pid)
            self._forks[handle] = pid, status
            self._selector.register(handle, selectors.EVENT_READ)
            _close(*streams)
            self._requests.send(str(pid).encode())
            return None
        self._selector.close()
        _close(status, *self._forks, *(pipe for _, pipe in self._forks.values()))
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
        _close(*streams)
        return _Request(*json.loads(data))


def _close(*descriptors: int) -> None:
    for descriptor in descriptors:
        os.close(descriptor)


def _run(request: _Request) -> None:
    os.environ.clear()
    os.environ.update(request.environment)
    # As our Celery application does when it is imported.
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", _SETTINGS)
    if request.cwd is not None:
        os.chdir(request.cwd)
    program, *arguments = request.command
    sys.argv = ["-c", *arguments]
    # These remember the environment.
    tempfile.tempdir = None
    time.tzset()
    # Its memory is that of all forks, because a worker's processes share it.
    importlib.reload(sys.modules["replay.live.shutdown"])
    sys.modules["__main__"] = module = types.ModuleType("__main__")
    exec(program, module.__dict__)


class _Constants:
    """The settings that modules may read while they are imported."""

    def __init__(self) -> None:
        values = vars(global_settings) | vars(importlib.import_module(_SETTINGS))
        self.__dict__ |= {name: values[name] for name in _CONSTANTS} | {"DATABASES": {}}

    def __getattr__(self, name: str) -> Any:
        sys.exit(f"{name} was read before the environment of a process was known")


def _import_modules() -> None:
    """Import what commands import, then forget the settings and what follows from them."""
    settings.configure(_Constants())
    configurations = [AppConfig.create(name) for name in settings.INSTALLED_APPS]
    for configuration in configurations:
        # Only a fork is ready: it has settings.
        configuration.ready = lambda: None  # type: ignore[method-assign]
    apps.populate(configurations)
    for name in _MODULES:
        importlib.import_module(name)
    importlib.import_module("traces.http.routes").load(importlib.import_module("cockpit.urls").urlpatterns)
    apps.app_configs.clear()
    apps.apps_ready = apps.models_ready = apps.ready = apps.loading = False
    apps.ready_event.clear()
    apps.clear_cache()
    settings._wrapped = empty
    vars(connections).clear()
    ConnectionHandler.__init__(connections)
    del sys.modules[_SETTINGS], sys.modules["cockpit"].settings


def main() -> None:
    gc.disable()
    _import_modules()
    gc.freeze()
    gc.enable()
    with socket.socket(fileno=int(sys.argv[1])) as requests:
        request = _Forker(requests).serve()
    try:
        _run(request)
    except SystemExit as end:
        if not isinstance(end.code, str):
            _leave(end.code or 0)
        raise
    _leave(0)


def _leave(code: int) -> None:
    """End like an interpreter, which takes six times as long because it frees all objects; return if it has to."""
    with contextlib.suppress(OSError, ValueError):
        sys.stdout.flush()
        sys.stderr.flush()
        threading._shutdown()  # type: ignore[attr-defined]  # private
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    main()
