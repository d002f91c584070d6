"""One client on standard streams, and its server."""

import queue
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext, suppress
from typing import Any, Final
from uuid import uuid4

from forkpoint.mcp_shim.messages import HANDSHAKE, READY, OpenRequest, error_response, line_of, parse
from forkpoint.mcp_shim.records import (
    PROGRESS,
    Message,
    cancelled_id,
    has_sdk_mark,
    is_about,
    is_id,
    is_question,
    is_request,
    progress_token,
    response_content,
    without_sdk_mark,
)
from forkpoint.mcp_shim.session import Session

_TIMEOUT_S: Final = 60.0
_POLL_S: Final = 0.5
_PROGRESS_S: Final = 5.0
# A server that does not end by itself.
_PATIENCE_S: Final = 5.0
_MOST_CALLS: Final = 32
_HANDSHAKE_ID: Final = "forkpoint-handshake"
_DEFAULT_PARAMETERS: Final = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "forkpoint", "version": "1"},
}


class Shim:
    """One client, and one server that may not run yet."""

    def __init__(self, words: Sequence[str], session: Session) -> None:
        self._words = words
        self._session = session
        self._server: subprocess.Popen[bytes] | None = None
        self._open: dict[Any, OpenRequest] = {}
        # Those that wait for an operator, by their ids.
        self._waiting: dict[Any, threading.Event] = {}
        # Requests to the client of which the answer is awaited, and those of the server as they are recorded.
        self._questions: dict[Any, queue.SimpleQueue[Message]] = {}
        self._server_questions: dict[Any, Message] = {}
        self._is_over, self._is_silent = threading.Event(), threading.Event()
        # What the client said of itself.
        self._parameters: Any = _DEFAULT_PARAMETERS
        self._is_ready = threading.Event()
        self._start_lock, self._input_lock, self._output_lock = threading.Lock(), threading.Lock(), threading.Lock()

    def serve(self) -> int:
        """Pass messages on until the client closes its end, and return the server's exit code."""
        with ThreadPoolExecutor(_MOST_CALLS) as calls:
            for line in sys.stdin.buffer:
                messages = parse(line)
                if not messages:
                    self._tell(line)
                for message in messages:
                    message_line = line if len(messages) == 1 else line_of(message)
                    if is_request(message):
                        calls.submit(self._serve_request, message, message_line)
                    elif not self._takes(message) and message.get("method") != READY:
                        self._tell(message_line)
            self._is_over.set()
        return self._end()

    def _serve_request(self, request: Message, line: bytes) -> None:
        if request["method"] == HANDSHAKE:
            self._parameters = request.get("params")
        if has_sdk_mark(request):
            message = without_sdk_mark(request)
            self._ask_server(OpenRequest(message, line_of(message)))
            return
        call = uuid4().hex
        decision: Message | None = self._session.decide(request, call)
        if decision and "asks" in decision:
            decision = self._await_operator(request, call)
        if decision and decision.get("messages"):
            decision = self._play(decision, request, call)
        if decision and decision.get("is_cancelled"):
            # It waits until the client cancels it again.
            return
        if decision and "response" in decision:
            self._write(decision["response"])
        elif decision:
            edited_request = decision["request"]
            message_line = line if edited_request is None else line_of(edited_request)
            self._ask_server(OpenRequest(edited_request or request, message_line, call=(request, call)))

    def _play(self, decision: Message, request: Message, call: str) -> Message | None:
        """Say what the server said in the recording, and return the decision about the client's answers to it.

        None: the client is gone.
        """
        client_answers: list[Message] = []
        for item in [*decision["messages"]]:
            if not is_question(item):
                self._write(item)
                continue
            content = self._ask_client(item, f"forkpoint-{call}-{len(client_answers)}")
            if content is None:
                return None
            client_answers.append(content)
            decision = self._session.decide(request, call, client_answers)
            if not decision.get("goes_on"):
                break
        return decision

    def _ask_client(self, item: Message, id: str) -> Message | None:
        """Return how the client responds to a request of its server; None if it is gone."""
        answers = self._questions[id] = queue.SimpleQueue()
        try:
            self._write({"jsonrpc": "2.0", "id": id, "method": item["method"], "params": item["params"]})
            while not self._is_over.is_set():
                with suppress(queue.Empty):
                    return answers.get(timeout=_POLL_S)
            return None
        finally:
            del self._questions[id]

    def _takes(self, message: Message) -> bool:
        """Take what the client says to the shim, and return whether that is so: the rest is for the server."""
        if "method" in message:
            return self._cancels(message)
        content, id = response_content(message), message.get("id", "")
        if (item := self._server_questions.pop(id, None)) is not None:
            item["response"] = content
        answers = self._questions.get(id)
        if answers is not None:
            answers.put(content)
        return answers is not None

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

        decision = self._session.await_operator(request, call, goes_on)
        del self._waiting[request["id"]]
        return None if cancellation.is_set() or self._is_over.is_set() else decision

    def _show_progress(self, request: Message, count: int) -> None:
        """Show a client that asked for it that its request goes on: it may extend its time limit."""
        token = progress_token(request)
        if token is not None:
            progress = {"progressToken": token, "progress": count, "message": "waits for the operator"}
            self._write({"jsonrpc": "2.0", "method": PROGRESS, "params": progress})

    def _cancels(self, message: Message) -> bool:
        """End the wait of a request that a message cancels, and return whether it did."""
        id = cancelled_id(message)
        if not is_id(id):
            return False
        if (request := self._open.get(id)) is not None:
            # At once: a server need not respond any more.
            self._session.record(request, {}, is_cancelled=True)
        cancellation = self._waiting.get(id)
        if cancellation is not None:
            cancellation.set()
        return cancellation is not None

    def _ask_server(self, request: OpenRequest) -> None:
        """Let the server answer; if it does not run, it is started and gets the client's handshake first."""
        is_handshake = request.message["method"] == HANDSHAKE
        try:
            is_new = self._start()
        except OSError as error:
            self._write(error_response(request.message, f"cannot run {self._words[0]}: {error.strerror}"))
            return
        if not is_handshake:
            if is_new:
                message = {
                    "jsonrpc": "2.0",
                    "id": _HANDSHAKE_ID,
                    "method": HANDSHAKE,
                    "params": self._parameters,
                }
                self._ask(OpenRequest(message, line_of(message)))
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

    def _ask(self, request: OpenRequest) -> None:
        id = request.message["id"]
        self._open[id] = request
        # A server may read on after the end of its output.
        is_sent = self._tell(request.line) and not self._is_silent.is_set()
        if not is_sent and self._open.pop(id, None) is not None:
            self._fail(request, "the MCP server has ended")

    def _tell(self, line: bytes) -> bool:
        """Send a line to the server, and return whether it can be reached."""
        if self._server is None or self._server.stdin is None:
            return False
        with self._input_lock:
            try:
                self._server.stdin.write(line)
                self._server.stdin.flush()
            except OSError:
                return False
        return True

    def _read_server(self, server: subprocess.Popen[bytes]) -> None:
        """Pass on what the server says until it ends."""
        with server.stdout or nullcontext(()) as lines:
            for line in lines:
                # The client gets what its server wrote, to the byte and also where it is no message.
                answers_shim = [self._is_own(message) for message in parse(line)]
                if not any(answers_shim):
                    self._write_line(line)
        self._is_silent.set()
        self._is_ready.set()
        while self._open:
            _, request = self._open.popitem()
            if request.message["id"] != _HANDSHAKE_ID:
                self._fail(request, "the MCP server ended during the call")

    def _is_own(self, message: Message) -> bool:
        """Note a message of the server, and return whether it answers the shim and not the client."""
        if "method" in message:
            self._hear(message)
            return False
        request = self._open.pop(message.get("id"), None)
        if request is not None:
            self._note_answer(request, message)
        return request is not None and request.message["id"] == _HANDSHAKE_ID

    def _fail(self, request: OpenRequest, reason: str) -> None:
        """Respond for a server that cannot."""
        response = error_response(request.message, reason)
        self._session.record(request, response)
        self._write(response)

    def _note_answer(self, request: OpenRequest, response: Message) -> None:
        self._session.record(request, response)
        if request.message["method"] == HANDSHAKE:
            self._tell(line_of({"jsonrpc": "2.0", "method": READY}))
            self._is_ready.set()

    def _hear(self, message: Message) -> None:
        """Note what the server says with the latest request that may be meant."""
        # A copy, because calls that begin meanwhile are added.
        requests = [request for request in [*self._open.values()] if is_about(message, request.message)]
        item = requests[-1].hear(message) if requests else None
        if item is not None and is_question(item):
            self._server_questions[message["id"]] = item

    def _write(self, message: Message) -> None:
        """Send a message to the client, unless it is gone."""
        self._write_line(line_of(message))

    def _write_line(self, line: bytes) -> None:
        with self._output_lock, suppress(OSError):
            # The last line of a server may not end.
            sys.stdout.buffer.write(line if line.endswith(b"\n") else line + b"\n")
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
