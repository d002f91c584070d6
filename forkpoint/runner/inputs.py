"""How an agent gets the recorded input: as an argument, on standard input, in a file, or in an HTTP request."""

import json
import socket
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import Request

from forkpoint.bootstrap.rerun import INPUT, Agent
from forkpoint.transport.http import open_request

MODES: Final = ("argument", "stdin", "file", "http")
# Until an agent that is a server answers.
_START_S: Final = 60.0
_ANSWER_S: Final = 3600.0
_PAUSE_S: Final = 0.2
_CONNECT_S: Final = 2.0


def words_of(agent: Agent, mode: str, input: Any, folder: "tempfile.TemporaryDirectory[str]") -> list[str]:
    """Return the agent's command: with the input, or with the file that has it, in place of `{input}`."""
    if mode == "argument":
        return agent.command(input)
    path = Path(folder.name) / "input.json"
    path.write_text(json.dumps(input, ensure_ascii=False), "utf-8", "replace")
    return [word.replace(INPUT, str(path)) for word in agent.words]


def text_of(input: Any) -> str:
    """Return the input as a text: as it is, or as JSON."""
    return input if isinstance(input, str) else json.dumps(input, ensure_ascii=False)


def is_served(url: str) -> bool:
    """Return whether a server listens at an address: it would get an input that is not meant for it."""
    parts = urlsplit(url)
    try:
        port = parts.port or (443 if parts.scheme == "https" else 80)
        socket.create_connection((parts.hostname or "", port), timeout=_CONNECT_S).close()
    except (OSError, ValueError):
        return False
    return True


def post(url: str, input: Any, print_line: Callable[[str, str], None], is_running: Callable[[], bool]) -> int:
    """Send the input to an agent that is a server, as soon as it listens; print its answer, return its exit code."""
    data = json.dumps(input, ensure_ascii=False).encode("utf-8", "replace")
    deadline = time.monotonic() + _START_S
    while is_running() and time.monotonic() < deadline:
        request = Request(url, data=data, headers={"Content-Type": "application/json"}, method="POST")
        try:
            with open_request(request, timeout_s=_ANSWER_S) as response:
                _print_all(response.read(), print_line)
            return 0
        except HTTPError as error:
            with error:
                _print_all(error.read(), print_line)
            print_line("stderr", f"forkpoint: the agent answered with status {error.code}")
            return 1
        except (URLError, ConnectionError) as error:
            if not isinstance(getattr(error, "reason", error), ConnectionRefusedError):
                print_line("stderr", f"forkpoint: the agent did not answer: {error}")
                return 1
        time.sleep(_PAUSE_S)
    print_line("stderr", f"forkpoint: the agent did not listen at {url}")
    return 1


def _print_all(content: bytes, print_line: Callable[[str, str], None]) -> None:
    lines: Sequence[str] = content.decode("utf-8", "replace").splitlines()
    for line in lines:
        print_line("stdout", line)
