"""A real MCP server that counts what it runs, and requests to it or through the gateway."""

import json
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import httpx2

from tests.clients.environments import ROOT
from tests.services.warm_client import mcp_python
from tests.support.patience import patience_s, wait_until

_HEADERS: Final = {"accept": "application/json, text/event-stream"}
CLIENT: Final = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}


@dataclass(frozen=True)
class Desk:
    """A running MCP server, and the file with a line for each call of its tool."""

    url: str
    log: Path

    def calls(self) -> int:
        return len(self.log.read_text().splitlines()) if self.log.exists() else 0

    def sessions(self) -> list[str]:
        """Return the session in which each call was made."""
        return [json.loads(line)["session"] for line in self.log.read_text().splitlines()]


def desk_command(log: Path, *, program: str = "mcp_server", port: int = 0, preamble: str = "") -> list[str]:
    """Return what starts the server: on standard streams without a port. `preamble` is code that runs first."""
    code = f"{preamble}import runpy, sys; sys.path.insert(0, {str(ROOT)!r}); "
    code += f"runpy.run_module('tests.support.servers.{program}', run_name='__main__')"
    return [*mcp_python(), "-c", code, str(port), str(log)]


@contextmanager
def running_desk(log: Path, program: str = "mcp_server") -> Iterator[Desk]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with subprocess.Popen(desk_command(log, program=program, port=port)) as process:
        wait_until(lambda: _listens(port), 30)
        yield Desk(f"http://127.0.0.1:{port}/mcp", log)
        process.terminate()


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def send(address: str, method: str, parameters: Any, session: str = "") -> httpx2.Response:
    headers = {**_HEADERS, **({"mcp-session-id": session} if session else {})}
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": parameters}
    return httpx2.post(address, json=body, headers=headers, timeout=patience_s(30), trust_env=False)


def lookup(address: str, order: str, session: str = "") -> httpx2.Response:
    return send(address, "tools/call", {"name": "lookup", "arguments": {"order_id": order}}, session)
