"""`forkpoint record --gateway`: run a program in any language, with its model calls through the server's gateway."""

import json
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, Final
from urllib.error import HTTPError
from urllib.request import Request

from forkpoint.bootstrap import child_environment, clients
from forkpoint.bootstrap.languages import is_node, is_other_language
from forkpoint.bootstrap.node_preload import node_preload
from forkpoint.bootstrap.server_clock import ServerClock
from forkpoint.confinement.credentials import hide_environment, session_environment
from forkpoint.gateway_run import VARIABLE
from forkpoint.transport.http import open_request

ERROR: Final = 1
BAD_INPUT: Final = 2
AUTHENTICATION: Final = 3
NOT_FOUND: Final = 4
UNAVAILABLE: Final = 6
SEED: Final = "FORKPOINT_SEED"
# As `timeout` of the shells.
_TIMEOUT: Final = 124
_TIMEOUT_S: Final = 10.0
# What a program may still do when it is told to end.
_LAST_WORDS_S: Final = 5.0
# A run appears a moment after its first call; one with many megabytes takes longer.
_APPEARANCE_S: Final = 5.0
_STORAGE_S: Final = 60.0
_KEYS: Final = {
    "openai": ("OPENAI_API_KEY",),
    "anthropic": ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"),
    "gemini": ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
}
_FORWARDED_SIGNALS: Final = (signal.SIGTERM, signal.SIGHUP)


class CannotRun(Exception):
    """Why a program cannot be run with the gateway, the exit code for that, and the server's name of the problem."""

    def __init__(self, reason: str, code: int, problem: str = "") -> None:
        super().__init__(reason)
        self.code = code
        self.problem = problem


def exit_code(status: int, problem: str) -> int:
    """Return the exit code for a refusal of the server, as of all commands."""
    if status in {401, 403}:
        return AUTHENTICATION
    if status == 404:
        return NOT_FOUND
    if status in {408, 429} or status >= 500:
        return UNAVAILABLE
    return ERROR if problem == "conflict" else BAD_INPUT


@dataclass(frozen=True)
class Server:
    """Requests to the server."""

    url: str
    token: str

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> "Server":
        """Return the server that the variables name."""
        return cls((environment.get("FORKPOINT_URL") or "").rstrip("/"), environment.get("FORKPOINT_TOKEN") or "")

    def open(self, path: str, facts: Any, *, timeout_s: float = _TIMEOUT_S) -> Any:
        """Open a session for a program; raise `CannotRun`."""
        try:
            return self.send("POST", path, facts, timeout_s=timeout_s)
        except HTTPError as error:
            with error:
                reason, problem = _explanation(error.read())
            code = exit_code(error.code, problem)
            raise CannotRun(f"{self.url} opened no session: {error.code} {reason}", code, problem) from error
        except (OSError, ValueError) as error:
            # urllib wraps the error of the connection.
            cause = getattr(error, "reason", error)
            detail = getattr(cause, "strerror", None) or cause
            raise CannotRun(f"cannot reach {self.url}: {detail}", UNAVAILABLE) from error

    def send(self, method: str, path: str, body: Any = None, *, timeout_s: float = _TIMEOUT_S) -> Any:
        """Return the JSON of a response, None if it has none; raise `OSError`."""
        headers = {"Content-Type": "application/json"}
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        data = None if body is None else json.dumps(body).encode()
        request = Request(f"{self.url}/api/v1{path}", data=data, headers=headers, method=method)
        with open_request(request, timeout_s=timeout_s) as response:
            content = response.read()
        return json.loads(content) if content else None


def _explanation(body: bytes) -> tuple[str, str]:
    """Return the detail and the code of an error response; a text that is none of the server's as it is."""
    try:
        content = json.loads(body)
    except ValueError:
        content = None
    if isinstance(content, dict) and "detail" in content:
        return str(content["detail"]), str(content.get("code", ""))
    return body.decode("utf-8", "replace")[:500], ""


def record(words: Sequence[str], environment: Mapping[str, str], client: str = "", *, is_seeded: bool = False) -> int:
    """Run a program with its model calls through the gateway, and return its exit code.

    `is_seeded`: the random numbers and ids of a Python or Node program come from the id of the run.
    """
    server = Server.from_environment(environment)
    hide_environment()
    try:
        asked_at = time.time()
        session = _open(server, words, environment)
        clock = ServerClock.read(session["answered_at"], asked_at, time.time())
        start = clock.local_seconds(session["started_at"])
        # A program without a key gets a placeholder if the server has the key. Otherwise it may log in some other way.
        keys = placeholders(environment, session["placeholder_key"], session["keys"])
        seed = {SEED: session["run"], **node_preload(environment)} if is_seeded else {}
        if is_seeded and is_other_language(words) and not is_node(words):
            print(f"warning: --freeze does not reach the random numbers of {words[0]}", file=sys.stderr)
        variables = child_environment(
            {**session_environment(environment, session), **keys, **seed, VARIABLE: f"{session['run']} {start}"}
        )
        code = run_client(words, variables, server.url + session["path"], client)
    except CannotRun as problem:
        print(f"error: {problem}", file=sys.stderr)
        return problem.code
    _finish(server, session, code)
    return code


def _open(server: Server, words: Sequence[str], environment: Mapping[str, str]) -> Any:
    if not server.url:
        raise CannotRun("--gateway needs a server: name it with --url or FORKPOINT_URL", BAD_INPUT)
    refuse_addresses(environment)
    facts = {"app": environment.get("FORKPOINT_APP") or "", "command": list(words)[:200]}
    return server.open("/gateway/sessions", facts)


def refuse_addresses(environment: Mapping[str, str]) -> None:
    """Raise `CannotRun` if the program's key is meant for another address than the server's provider."""
    if variable := next((name for name in clients.ADDRESSES if environment.get(name)), None):
        raise CannotRun(
            f"{variable} is set, and the gateway would replace it: unset it, and configure its address as a provider "
            "of the server instead",
            BAD_INPUT,
        )


def placeholders(
    environment: Mapping[str, str], placeholder: str, providers: Collection[str] = tuple(_KEYS)
) -> dict[str, str]:
    """Return variables for the keys that a program lacks: of these providers, or of all."""
    return {
        names[0]: placeholder
        for provider, names in _KEYS.items()
        if provider in providers and not any(environment.get(name) for name in names)
    }


def run_client(
    words: Sequence[str],
    environment: Mapping[str, str],
    url: str,
    client: str,
    *,
    output: int | None = None,
    timeout_s: float | None = None,
    confine: Callable[[list[str]], list[str]] = list,
) -> int:
    """Run a program with its model calls through the session at this address, and return its exit code.

    `confine` returns a command that runs another one with limits.
    """
    command, variables = client_program(words, environment, url, client)
    try:
        process = subprocess.Popen(confine(command), env=variables, stdout=output)
    except OSError as error:
        raise CannotRun(f"cannot run {words[0]}: {error.strerror}", BAD_INPUT) from error
    return _wait(process, timeout_s)


def client_program(
    words: Sequence[str], environment: Mapping[str, str], url: str, client: str
) -> tuple[list[str], dict[str, str]]:
    """Return the command and the environment of a program whose model calls go through the session at this address.

    Raise `CannotRun` if there is no such program.
    """
    if shutil.which(words[0], path=environment.get("PATH")) is None:
        raise CannotRun(f"cannot run {words[0]}: no such program", BAD_INPUT)
    return clients.command(words, url, client), {**environment, **clients.variables(environment, url)}


def _wait(process: subprocess.Popen[bytes], timeout_s: float | None) -> int:
    """Wait until a program ends, pass signals on to it, and return its exit code as shells show it."""

    def forward(number: int, _: object) -> None:
        process.send_signal(number)

    with ExitStack() as handlers:
        # A terminal sends Ctrl+C to both: the program decides what it does, and this process waits for it.
        reactions = {signal.SIGINT: lambda *_: None} | dict.fromkeys(_FORWARDED_SIGNALS, forward)
        for number, reaction in reactions.items():
            handlers.callback(signal.signal, number, signal.signal(number, reaction))
        try:
            code = process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            print(f"The program is ended: it ran for {timeout_s:g} s.", file=sys.stderr)
            _end(process)
            return _TIMEOUT
    return code if code >= 0 else 128 - code


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a program, and kill it if it does not react."""
    process.terminate()
    try:
        process.wait(_LAST_WORDS_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _finish(server: Server, session: Any, code: int) -> None:
    """Record the end of the program, and print where its run is."""
    try:
        end = server.send("POST", f"/gateway/sessions/{session['session']}/end", {"exit_code": code})
        run = _find_run(server, session["run"], _STORAGE_S if end["has_calls"] else _APPEARANCE_S)
    except (OSError, ValueError) as error:
        print(f"warning: the end of the program was not recorded: {error}", file=sys.stderr)
        return
    if run:
        print(f"Recorded: {server.url}/runs/{run}", file=sys.stderr)
    elif end["has_calls"]:
        print(f"The recording has not appeared yet. Once it is stored, it is at {server.url}/runs", file=sys.stderr)
    else:
        print("Nothing was recorded: no model call of the program came through the gateway.", file=sys.stderr)


def _find_run(server: Server, id: str, patience_s: float) -> str:
    """Return the run's id on the server; empty if it does not appear."""
    deadline = time.monotonic() + patience_s
    while time.monotonic() < deadline:
        try:
            return str(server.send("GET", f"/runs/{id}")["id"])
        except HTTPError as error:
            if error.code != 404:
                raise
        time.sleep(0.1)
    return ""
