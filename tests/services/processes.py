"""Start a server for tests, wait until it is ready, and always stop it at the end."""

import atexit
import importlib.util
import secrets
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.support.patience import patience_s

START_LIMIT_S = 60
# As usual on Linux: /proc/sys/net/ipv4/ip_local_port_range.
_LOWEST_ASSIGNED_PORT = 32_768
_LOWEST_PORT = 10_000
# The same as in docker/compose.yml.
WORKER_OPTIONS = ("--without-mingle", "--without-gossip", "--without-heartbeat")


class CannotStart(Exception):
    """The service cannot start; the message lists the attempts."""


def free_port() -> int:
    """Return a port below those that the kernel assigns, so that nobody takes it before the server starts."""
    while True:
        port = _LOWEST_PORT + secrets.randbelow(_LOWEST_ASSIGNED_PORT - _LOWEST_PORT)
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


def package_folder(name: str) -> Path | None:
    """Return a package's folder without importing it."""
    spec = importlib.util.find_spec(name)
    return Path(spec.origin).parent if spec and spec.origin else None


def scratch_folder(prefix: str) -> Path:
    """Create a folder that is removed with this process. Short, because a socket's path is limited to 107 bytes."""
    folder = Path(tempfile.mkdtemp(prefix=prefix, dir="/tmp"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def start(
    command: Sequence[str | Path],
    *,
    is_ready: Callable[[], bool],
    stop_signal: int,
    log: Path,
    env: Mapping[str, str] | None = None,
    launch: "type[subprocess.Popen[Any]]" = subprocess.Popen,
    **options: Any,
) -> subprocess.Popen[bytes]:
    """Start a server. Raises CannotStart with the end of its log."""
    with log.open("wb") as output:
        process = launch(command, stdout=output, stderr=output, env=env, **options)
    atexit.register(stop, process, stop_signal)
    start_time = time.monotonic()
    while not is_ready():
        if process.poll() is not None or time.monotonic() - start_time > patience_s(START_LIMIT_S):
            stop(process, stop_signal)
            raise CannotStart(f"{command[0]}: {log.read_text(errors='replace')[-2000:]}")
        time.sleep(0.02)
    return process


def stop(process: subprocess.Popen[bytes], stop_signal: int) -> None:
    if process.poll() is None:
        process.send_signal(stop_signal)
        try:
            process.wait(patience_s(15))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
