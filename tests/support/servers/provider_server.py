"""HTTP server on loopback that speaks both provider protocols and fails as a test requires."""

import json
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Respond = Callable[["Exchange"], None]


@dataclass
class Exchange:
    """One request, with methods to answer it."""

    handler: BaseHTTPRequestHandler
    path: str
    headers: dict[str, str]
    body: dict[str, Any]

    def status(self, status: int, body: dict[str, Any] | str = "", **headers: str) -> None:
        data = (body if isinstance(body, str) else json.dumps(body)).encode()
        self.handler.send_response(status)
        fields = {name.replace("_", "-"): value for name, value in headers.items()}
        for name, value in {"content-type": "application/json", **fields}.items():
            self.handler.send_header(name, value)
        self.handler.send_header("content-length", str(len(data)))
        self.handler.end_headers()
        self.handler.wfile.write(data)

    def stream(self) -> None:
        self.handler.send_response(200)
        self.handler.send_header("content-type", "text/event-stream")
        self.handler.send_header("connection", "close")
        self.handler.end_headers()
        self.handler.close_connection = True

    def send(self, data: dict[str, Any] | str, event: str = "") -> None:
        text = data if isinstance(data, str) else json.dumps(data)
        self.handler.wfile.write((f"event: {event}\n" if event else "").encode() + f"data: {text}\n\n".encode())
        self.handler.wfile.flush()


@dataclass
class ProviderServer:
    """`respond` answers every request; `requests` records them."""

    base_url: str
    respond: Respond
    requests: list[Exchange] = field(default_factory=list)


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore disconnected clients: tests kill them and cancel their calls."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


@contextmanager
def provider_server(respond: Respond) -> Iterator[ProviderServer]:
    server = _Server(("127.0.0.1", 0), BaseHTTPRequestHandler)
    provider = ProviderServer(base_url=f"http://127.0.0.1:{server.server_port}", respond=respond)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self.do_POST()

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))) or b"{}")
            headers = {name.lower(): value for name, value in self.headers.items()}
            exchange = Exchange(handler=self, path=self.path, headers=headers, body=body)
            provider.requests.append(exchange)
            provider.respond(exchange)

        def log_message(self, format: str, *args: Any) -> None:
            """Log nothing: tests read `requests`."""

    server.RequestHandlerClass = Handler
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield provider
    finally:
        server.shutdown()
        server.server_close()


def openai_chunk(
    delta: dict[str, Any] | None = None,
    finish: str | None = None,
    usage: dict[str, Any] | None = None,
    model: str = "served-1",
) -> dict[str, Any]:
    choices = [] if delta is None and finish is None else [{"index": 0, "delta": delta or {}, "finish_reason": finish}]
    return {
        "id": "c1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": model,
        "choices": choices,
        **({"usage": usage} if usage else {}),
    }


def openai_text(*pieces: str) -> Respond:
    """Answer with these pieces of text and the usage."""

    def respond(exchange: Exchange) -> None:
        exchange.stream()
        for piece in pieces:
            exchange.send(openai_chunk({"content": piece}))
        exchange.send(openai_chunk(finish="stop"))
        usage = {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12}
        exchange.send(openai_chunk(usage={**usage, "prompt_tokens_details": {"cached_tokens": 4}}))
        exchange.send("[DONE]")

    return respond


def anthropic_events(*blocks: dict[str, Any], stop_reason: str = "end_turn") -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the events of a message of text and tool_use blocks, each block's content in two pieces."""
    usage = {"input_tokens": 7, "cache_read_input_tokens": 5, "cache_creation_input_tokens": 3, "output_tokens": 1}
    message = {"id": "m", "type": "message", "role": "assistant", "content": [], "model": "served-2", "usage": usage}
    yield "message_start", {"type": "message_start", "message": {**message, "stop_reason": None}}
    for index, block in enumerate(blocks):
        tool = block["type"] == "tool_use"
        whole = json.dumps(block["input"]) if tool else block["text"]
        start = {**block, "input": {}} if tool else {"type": "text", "text": ""}
        yield "content_block_start", {"type": "content_block_start", "index": index, "content_block": start}
        for piece in (whole[: len(whole) // 2], whole[len(whole) // 2 :]):
            kind = (
                {"type": "input_json_delta", "partial_json": piece} if tool else {"type": "text_delta", "text": piece}
            )
            yield "content_block_delta", {"type": "content_block_delta", "index": index, "delta": kind}
        yield "content_block_stop", {"type": "content_block_stop", "index": index}
    delta = {"stop_reason": stop_reason, "stop_sequence": None}
    yield "message_delta", {"type": "message_delta", "delta": delta, "usage": {"output_tokens": 9}}
    yield "message_stop", {"type": "message_stop"}


def anthropic_message(*blocks: dict[str, Any], stop_reason: str = "end_turn") -> Respond:
    def respond(exchange: Exchange) -> None:
        exchange.stream()
        for event, data in anthropic_events(*blocks, stop_reason=stop_reason):
            exchange.send(data, event)

    return respond
