"""`forkpoint mcp-shim -- COMMAND`: stands before an MCP server on standard streams.

What passes is recorded. In a rerun, requests are answered from the recording, and the server is only started for a call
that must run. Outside of a session the server takes the place of this process.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final, TypeGuard
from urllib.request import Request
from uuid import uuid4

from forkpoint.bootstrap.ancestry import find_variables
from forkpoint.gateway_run import GATEWAY
from forkpoint.transport.http import open_request
from forkpoint.vocabulary import SDK_MARK

_BAD_INPUT: Final = 2
_UNAVAILABLE: Final = 6
_TIMEOUT_S: Final = 60.0
# How long a call waits for an operator, and how long for a session that is away meanwhile: as in `forkpoint.session`.
_OPERATOR_S: Final = 3600.0
_OUTAGE_S: Final = 120.0
_POLL_S: Final = 0.5
_PROGRESS_S: Final = 5.0
# A server that does not end by itself.
_PATIENCE_S: Final = 5.0
_MOST_CALLS: Final = 32
_HANDSHAKE_ID: Final = "forkpoint-handshake"
_HANDSHAKE_METHOD: Final = "initialize"
_READY_MESSAGE: Final = "notifications/initialized"
_PROGRESS: Final = "notifications/progress"
# Of one request that are recorded.
_MOST_NOTIFICATIONS: Final = 1_000
_CANCELLATION: Final = "notifications/cancelled"
_DEFAULT_PARAMETERS: Final = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "forkpoint", "version": "1"},
}
_NAME: Final = re.compile(r"[^\w.-]+", re.ASCII)
# JSON-RPC's code for errors of an implementation.
_SERVER_ERROR: Final = -32000

Message = dict[str, Any]


def mcp_shim(arguments: Sequence[str]) -> int:
    """Serve until the client or the server ends, and return the exit code."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    options, words = option_parser().parse_args(arguments[:end]), [*arguments[end + 1 :]]
    if not words:
        option_parser().error("name a server to run: forkpoint mcp-shim -- python server.py")
    variables = find_variables(GATEWAY)
    if not variables:
        return _become(words)
    return _Shim(words, _Gateway(variables, _name(options.name or words))).serve()


def _become(words: Sequence[str]) -> int:
    try:
        os.execvp(words[0], [*words])  # noqa: S606 - it is the command that the user names
    except OSError as error:
        print(f"error: cannot run {words[0]}: {error.strerror}", file=sys.stderr)
    return _BAD_INPUT


def _name(words: str | Sequence[str]) -> str:
    """Return the name under which a server is known: without folders, which differ from machine to machine."""
    parts = [words] if isinstance(words, str) else [re.split(r"[/\\]", word)[-1] for word in words]
    return _NAME.sub("-", " ".join(parts)).strip("-")[:100] or "server"


class _Gateway:
    """The session in which the agent runs."""

    def __init__(self, variables: Mapping[str, str], name: str) -> None:
        self._address = f"{variables[GATEWAY]}/mcp/{name}"
        self._is_rerun = bool(variables.get("FORKPOINT_RERUN"))

    def decide(self, request: Message, call: str) -> Message:
        """Return the `response` to a request, the `request` for the server, or that an operator is asked (`asks`)."""
        try:
            return self._ask(request, call)
        except (OSError, ValueError) as error:
            self._fail(error)
        return {"request": request}

    def await_operator(self, request: Message, call: str, goes_on: Callable[[], bool]) -> Message:
        """Ask again until an operator has answered, while `goes_on` says so; the session may be away for a moment."""
        end = time.monotonic() + _OPERATOR_S
        last_contact = time.monotonic()
        while True:
            is_last = not goes_on() or time.monotonic() > end
            try:
                decision = self._ask(request, call, is_last=is_last)
            except (OSError, ValueError) as error:
                if getattr(error, "code", 500) < 500 or time.monotonic() - last_contact > _OUTAGE_S:
                    self._fail(error)
                time.sleep(_POLL_S)
            else:
                last_contact = time.monotonic()
                if "asks" not in decision:
                    return decision

    def record(self, request: "_OpenRequest", response: Message) -> None:
        """Record what the server answered; not a call of which the SDK in the client takes care."""
        if request.call is None:
            return
        message, call = request.call
        duration_ms = int((time.monotonic() - request.at) * 1000)
        report = {"request": message, "response": response, "call": call, "duration_ms": duration_ms}
        if request.notifications:
            report["notifications"] = request.notifications
        try:
            self._post("/exchanges", report)
        except (OSError, ValueError) as error:
            self._fail(error)

    def _ask(self, request: Message, call: str, *, is_last: bool = False) -> Message:
        decision = self._post("/stdio", {"request": request, "call": call, "is_last": is_last})
        if decision is None:
            raise ValueError("the session gave no answer")
        return decision

    def _fail(self, error: Exception) -> None:
        """End a rerun, whose tools would really run. A recording goes on with a gap."""
        print(f"forkpoint: the session cannot be reached: {error}", file=sys.stderr, flush=True)
        if self._is_rerun:
            os._exit(_UNAVAILABLE)

    def _post(self, path: str, body: Any) -> Message | None:
        headers = {"Content-Type": "application/json"}
        request = Request(self._address + path, data=json.dumps(body).encode(), headers=headers, method="POST")
        with open_request(request, timeout_s=_TIMEOUT_S) as response:
            content = response.read()
        return json.loads(content) if content else None


@dataclass(frozen=True)
class _OpenRequest:
    """A request that the server has not answered."""

    message: Message
    # As the client sent it, and the id of its step; None if it is not recorded here.
    call: tuple[Message, str] | None = None
    at: float = field(default_factory=time.monotonic)
    # What the server said meanwhile.
    notifications: list[Message] = field(default_factory=list)


class _Shim:
    """One client, and one server that may not run yet."""

    def __init__(self, words: Sequence[str], gateway: _Gateway) -> None:
        self._words = words
        self._gateway = gateway
        self._server: subprocess.Popen[bytes] | None = None
        self._open: dict[Any, _OpenRequest] = {}
        # Those that wait for an operator, by their ids.
        self._waiting: dict[Any, threading.Event] = {}
        self._is_over = threading.Event()
        # What the client said of itself.
        self._parameters: Any = _DEFAULT_PARAMETERS
        self._is_ready = threading.Event()
        self._start_lock, self._input_lock, self._output_lock = threading.Lock(), threading.Lock(), threading.Lock()

    def serve(self) -> int:
        """Pass messages on until the client closes its end, and return the server's exit code."""
        with ThreadPoolExecutor(_MOST_CALLS) as calls:
            for line in sys.stdin.buffer:
                message = _parse(line)
                if _is_request(message):
                    calls.submit(self._serve_request, message)
                elif message and self._cancels(message):
                    continue
                elif message and message.get("method") != _READY_MESSAGE:
                    self._tell(message)
            self._is_over.set()
        return self._end()

    def _serve_request(self, request: Message) -> None:
        if request["method"] == _HANDSHAKE_METHOD:
            self._parameters = request.get("params")
        is_asked, request = _without_mark(request)
        if is_asked:
            self._ask_server(_OpenRequest(request))
            return
        call = uuid4().hex
        decision: Message | None = self._gateway.decide(request, call)
        if decision and "asks" in decision:
            decision = self._await_operator(request, call)
        if decision and "response" in decision:
            for notification in decision.get("notifications", ()):
                self._write(notification)
            self._write(decision["response"])
        elif decision:
            self._ask_server(_OpenRequest(decision["request"], call=(request, call)))

    def _await_operator(self, request: Message, call: str) -> Message | None:
        """Return what the operator decided; None if the client waits no longer."""
        cancellation = self._waiting[request["id"]] = threading.Event()
        next_progress_s, count = 0.0, 0

        def goes_on() -> bool:
            nonlocal next_progress_s, count
            if time.monotonic() > next_progress_s:
                next_progress_s, count = time.monotonic() + _PROGRESS_S, count + 1
                self._show_progress(request, count)
            return not (cancellation.wait(_POLL_S) or self._is_over.is_set())

        decision = self._gateway.await_operator(request, call, goes_on)
        del self._waiting[request["id"]]
        return None if cancellation.is_set() or self._is_over.is_set() else decision

    def _show_progress(self, request: Message, count: int) -> None:
        """Show a client that asked for it that its request goes on: it may extend its time limit."""
        token = _progress_token(request)
        if token is not None:
            progress = {"progressToken": token, "progress": count, "message": "waits for the operator"}
            self._write({"jsonrpc": "2.0", "method": _PROGRESS, "params": progress})

    def _cancels(self, message: Message) -> bool:
        """End the wait of a request that a message cancels, and return whether it did."""
        if message.get("method") != _CANCELLATION:
            return False
        cancellation = self._waiting.get((message.get("params") or {}).get("requestId"))
        if cancellation is not None:
            cancellation.set()
        return cancellation is not None

    def _ask_server(self, request: _OpenRequest) -> None:
        """Let the server answer; if it does not run, it is started and gets the client's handshake first."""
        is_handshake = request.message["method"] == _HANDSHAKE_METHOD
        try:
            is_new = self._start()
        except OSError as error:
            self._write(_error(request.message, f"cannot run {self._words[0]}: {error.strerror}"))
            return
        if not is_handshake:
            if is_new:
                message = {
                    "jsonrpc": "2.0",
                    "id": _HANDSHAKE_ID,
                    "method": _HANDSHAKE_METHOD,
                    "params": self._parameters,
                }
                self._ask(_OpenRequest(message))
            self._is_ready.wait(_TIMEOUT_S)
        self._ask(request)

    def _start(self) -> bool:
        """Start the server unless it runs, and return whether it was started."""
        with self._start_lock:
            if self._server is not None:
                return False
            self._server = subprocess.Popen(self._words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            threading.Thread(target=self._read_server, args=(self._server,), daemon=True).start()
            return True

    def _ask(self, request: _OpenRequest) -> None:
        id = request.message["id"]
        self._open[id] = request
        is_sent = self._tell(request.message)
        if not is_sent and self._open.pop(id, None) is not None:
            self._write(_error(request.message, "the MCP server has ended"))

    def _tell(self, message: Message) -> bool:
        """Send a message to the server, and return whether it can be reached."""
        if self._server is None or self._server.stdin is None:
            return False
        with self._input_lock:
            try:
                self._server.stdin.write(_line(message))
                self._server.stdin.flush()
            except OSError:
                return False
        return True

    def _read_server(self, server: subprocess.Popen[bytes]) -> None:
        """Pass on what the server says until it ends."""
        for line in server.stdout or ():
            message = _parse(line)
            if message is None:
                continue
            request = None if "method" in message else self._open.pop(message.get("id", ""), None)
            if request is not None:
                self._note_answer(request, message)
            elif "method" in message and message.get("id") is None:
                self._note_notification(message)
            if request is None or request.message["id"] != _HANDSHAKE_ID:
                self._write(message)
        self._is_ready.set()
        while self._open:
            _, request = self._open.popitem()
            if request.message["id"] != _HANDSHAKE_ID:
                self._write(_error(request.message, "the MCP server ended during the call"))

    def _note_answer(self, request: _OpenRequest, response: Message) -> None:
        self._gateway.record(request, response)
        if request.message["method"] == _HANDSHAKE_METHOD:
            self._tell({"jsonrpc": "2.0", "method": _READY_MESSAGE})
            self._is_ready.set()

    def _note_notification(self, message: Message) -> None:
        """Note what the server says with the request that is meant: the latest one, unless it is about progress."""
        requests = [*self._open.values()]
        if message["method"] == _PROGRESS:
            token = (message.get("params") or {}).get("progressToken")
            requests = [request for request in requests if _progress_token(request.message) == token]
        if requests and len(requests[-1].notifications) < _MOST_NOTIFICATIONS:
            requests[-1].notifications.append(message)

    def _write(self, message: Message) -> None:
        """Send a message to the client, unless it is gone."""
        with self._output_lock, suppress(OSError):
            sys.stdout.buffer.write(_line(message))
            sys.stdout.buffer.flush()

    def _end(self) -> int:
        """End the server as a client does: by the end of its input, and if that does not help by signals."""
        if self._server is None:
            return 0
        with suppress(OSError):
            if self._server.stdin is not None:
                self._server.stdin.close()
        for end in (self._server.terminate, self._server.kill):
            try:
                return self._server.wait(_PATIENCE_S)
            except subprocess.TimeoutExpired:
                end()
        return self._server.wait()


def _parse(line: bytes) -> Message | None:
    """Return a message; None for a line that is none, which no server should write."""
    try:
        message = json.loads(line)
    except ValueError:
        return None
    return message if isinstance(message, dict) else None


def _is_request(message: Message | None) -> TypeGuard[Message]:
    return message is not None and "method" in message and message.get("id") is not None


def _progress_token(request: Message) -> Any:
    """Return the token of a client that wants to know the progress of its request; None if it does not."""
    return ((request.get("params") or {}).get("_meta") or {}).get("progressToken")


def _without_mark(request: Message) -> tuple[bool, Message]:
    """Return whether the SDK in the client takes care of a call, and the request without its mark."""
    parameters = request.get("params") or {}
    meta: Message = {**(parameters.get("_meta") or {})}
    if not meta.pop(SDK_MARK, False):
        return False, request
    rest = {name: value for name, value in parameters.items() if name != "_meta"}
    return True, {**request, "params": {**rest, **({"_meta": meta} if meta else {})}}


def _error(request: Message, reason: str) -> Message:
    return {"jsonrpc": "2.0", "id": request["id"], "error": {"code": _SERVER_ERROR, "message": reason}}


def _line(message: Message) -> bytes:
    return json.dumps(message, ensure_ascii=False).encode() + b"\n"


def option_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="forkpoint mcp-shim",
        usage="forkpoint mcp-shim [--name NAME] -- COMMAND...",
        description="Stand before an MCP server on standard streams. Inside `forkpoint record --gateway`, its calls "
        "are recorded. Inside `forkpoint rerun` they are answered from the recording, and the server is only started "
        "for a call that may run. Elsewhere the server runs as it is.",
        allow_abbrev=False,
    )
    parser.add_argument("--name", help="Name of the server in the recording. [default: from COMMAND]")
    return parser
