"""HTTP server of the local deterministic model, with the OpenAI and the Anthropic protocol.

`python -m cockpit.demo.local_model.server --port 8123` runs it alone.
"""

import argparse
import json
import threading
import time
from collections.abc import Iterable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

from cockpit.demo.local_model import wire
from cockpit.demo.local_model.model import DESCRIPTION, MODELS
from traces.core.json_access import text_or_json

# Pause between two words of a stream, so that people can watch it.
_PACE_S: Final = 0.012
_LARGEST: Final = 64 * 1024 * 1024
# Guards starting and stopping the only server of this process.
_lock = threading.Lock()
_running: "ThreadingHTTPServer | None" = None


def start(port: int = 0) -> str:
    """Serve on loopback in a thread of this process; return the base URL for the OpenAI protocol."""
    global _running
    with _lock:
        if _running is None:
            _running = ThreadingHTTPServer(("127.0.0.1", port), _Handler)
            _running.daemon_threads = True
            serving = {"poll_interval": 0.05}
            threading.Thread(target=_running.serve_forever, kwargs=serving, name="local-model", daemon=True).start()
        return f"http://127.0.0.1:{_running.server_port}/v1"


def stop() -> None:
    """Stop the server, if it is running."""
    global _running
    with _lock:
        server, _running = _running, None
    if server is not None:
        server.shutdown()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        if self.path.rstrip("/") == "/v1/models":
            models = [
                {"id": name, "object": "model", "owned_by": "forkpoint", "description": DESCRIPTION} for name in MODELS
            ]
            self._send(200, {"object": "list", "data": models})
        else:
            self._send(404, {"error": {"message": f"There is nothing at {self.path}.", "type": "not_found_error"}})

    def do_POST(self) -> None:
        try:
            self._answer(self._body())
        except wire.BadRequest as problem:
            kind = "not_found_error" if problem.status == 404 else "invalid_request_error"
            self._send(problem.status, {"type": "error", "error": {"message": str(problem), "type": kind}})
        except (BrokenPipeError, ConnectionResetError):
            # The client has disconnected.
            self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing: requests may be private."""

    def _answer(self, body: dict[str, Any]) -> None:
        if self.path == "/v1/chat/completions":
            answer = wire.from_chat(body)
            self._respond(answer, wire.chat_stream(answer) if answer.streams else None, wire.chat_completion)
        elif self.path in {"/v1/messages", "/v1/v1/messages"}:  # the Anthropic SDK appends /v1 to its base URL
            answer = wire.from_messages(body)
            self._respond(answer, wire.message_stream(answer) if answer.streams else None, wire.message)
        else:
            raise wire.BadRequest(f"There is nothing at {self.path}.", 404)

    def _body(self) -> dict[str, Any]:
        length = self.headers.get("content-length", "")
        if not length.isdecimal() or int(length) > _LARGEST:
            self.close_connection = True
            raise wire.BadRequest("a body of at most 64 MiB with its length is needed", 413)
        try:
            body = json.loads(self.rfile.read(int(length)))
        except ValueError as error:
            raise wire.BadRequest(f"the body is not JSON: {error}") from error
        if not isinstance(body, dict):
            raise wire.BadRequest("the body must be an object")
        return body

    def _respond(self, answer: wire.ProtocolAnswer, events: Iterable[wire.Event] | None, whole: Any) -> None:
        if events is None:
            self._send(200, whole(answer))
            return
        self._head(200, "text/event-stream", "transfer-encoding", "chunked")
        for event, data in events:
            text = text_or_json(data)
            self._chunk((f"event: {event}\n" if event else "") + f"data: {text}\n\n")
            time.sleep(_PACE_S)
        self._chunk("")

    def _chunk(self, text: str) -> None:
        data = text.encode()
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")

    def _send(self, status: int, value: dict[str, Any]) -> None:
        data = json.dumps(value, ensure_ascii=False).encode()
        self._head(status, "application/json", "content-length", str(len(data)))
        self.wfile.write(data)

    def _head(self, status: int, content_type: str, framing: str, value: str) -> None:
        self.send_response(status)
        self.send_header("content-type", content_type)
        self.send_header(framing, value)
        self.end_headers()


def main() -> None:
    """Serve until interrupted."""
    parser = argparse.ArgumentParser(description=f"Serves a {DESCRIPTION}.")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8123)
    options = parser.parse_args()
    with ThreadingHTTPServer((options.host, options.port), _Handler) as server:
        print(f"http://{options.host}:{server.server_port}/v1", flush=True)  # noqa: T201 - the command's output
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            return


if __name__ == "__main__":
    main()
