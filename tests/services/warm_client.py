"""Python programs with a real MCP client or server, forked from a process that has imported both: a second for each.

A launcher takes the place of the interpreter. It passes its streams, arguments, environment and folder on, waits for
the fork, and ends as the fork does; the fork ends with it.
"""

import contextlib
import gc
import importlib
import json
import os
import selectors
import signal
import socket
import sys
import threading
import traceback
from functools import cache
from pathlib import Path
from typing import Any, Final

from tests.services.processes import scratch_folder, start

_LIBRARIES: Final = (
    "mcp",
    "mcp.client.stdio",
    "mcp.client.streamable_http",
    "mcp.server.mcpserver",
    "mcp.server.stdio",
    "mcp.server.streamable_http",
    "urllib.request",
    "uvicorn",
)
_LAUNCHER: Final = """
import json, os, socket, sys
with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as fork:
    fork.connect(sys.argv[1])
    request = json.dumps([sys.argv[2:], dict(os.environ), os.getcwd()])
    socket.send_fds(fork, [request.encode()], [0, 1, 2])
    os._exit(int(fork.recv(20) or 1))
"""
_LONGEST_REQUEST: Final = 200_000


@cache
def mcp_python() -> list[str]:
    """Return what starts `-c PROGRAM ARGUMENT...` like an interpreter that has no SDK."""
    folder = scratch_folder("fp-mcp-")
    launcher, address = folder / "launcher.py", folder / "socket"
    launcher.write_text(_LAUNCHER)
    # It ends with its standard input, whose other end this process keeps open.
    standard_input, _ = os.pipe()
    command = [sys.executable, "-m", "tests.services.warm_client", str(address)]
    start(command, is_ready=address.exists, stop_signal=signal.SIGTERM, log=folder / "log", stdin=standard_input)
    return [sys.executable, "-I", "-S", str(launcher), str(address)]


def _serve(address: Path) -> socket.socket:
    """Fork for each connection until standard input ends. Returns in each fork, with its connection."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener, selectors.DefaultSelector() as selector:
        unfinished = address.with_suffix(".new")
        listener.bind(str(unfinished))
        listener.listen()
        unfinished.rename(address)
        selector.register(listener, selectors.EVENT_READ)
        selector.register(sys.stdin, selectors.EVENT_READ)
        while True:
            for key, _ in selector.select():
                if key.fileobj is not listener:
                    os._exit(0)
                connection, _ = listener.accept()
                if not os.fork():
                    return connection
                connection.close()


def _run(connection: socket.socket) -> int:
    """Run the program that the launcher was started with; return its exit code."""
    data, streams, *_ = socket.recv_fds(connection, _LONGEST_REQUEST, 3)
    (_, program, *arguments), environment, folder = json.loads(data)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    sys.argv = ["-c", *arguments]
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    threading.Thread(target=_end_with_launcher, args=(connection,), daemon=True).start()
    scope: dict[str, Any] = {"__name__": "__main__"}
    try:
        exec(program, scope)
    except SystemExit as end:
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:  # noqa: BLE001  # as the interpreter reports it
        traceback.print_exc()
        return 1
    return 0


def _end_with_launcher(connection: socket.socket) -> None:
    connection.recv(1)
    os._exit(1)


def main() -> None:
    for name in _LIBRARIES:
        importlib.import_module(name)
    gc.freeze()
    # Nobody waits for the forks.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    connection = _serve(Path(sys.argv[1]))
    code = _run(connection)
    with contextlib.suppress(OSError):
        sys.stdout.flush()
        sys.stderr.flush()
        connection.send(str(code).encode())
    os._exit(code)


if __name__ == "__main__":
    main()
