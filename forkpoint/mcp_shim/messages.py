"""Messages of MCP on standard streams. Pure."""

import json
from dataclasses import dataclass, field
from time import monotonic
from typing import Final

from forkpoint.mcp_shim.records import MOST_MESSAGES, Message, is_id, to_record

HANDSHAKE: Final = "initialize"
READY: Final = "notifications/initialized"
# JSON-RPC's code for errors of an implementation.
_SERVER_ERROR: Final = -32000


@dataclass
class OpenRequest:
    """A request that the server has not answered."""

    message: Message
    # What the server gets.
    line: bytes
    # As the client sent it, and the id of its step; None if it is not recorded here.
    call: tuple[Message, str] | None = None
    at: float = field(default_factory=monotonic)
    # What the server said meanwhile, as it is recorded.
    messages: list[Message] = field(default_factory=list)

    def hear(self, message: Message) -> Message | None:
        """Note what the server says, and return how it is recorded; None if it is not."""
        item = to_record(message)
        if item is None or len(self.messages) >= MOST_MESSAGES:
            return None
        self.messages.append(item)
        return item


def parse(line: bytes) -> list[Message]:
    """Return the messages in a line: more than one of a batch, none in what is no message."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return []
    messages = value if isinstance(value, list) else [value]
    return [item for item in messages if isinstance(item, dict) and (item.get("id") is None or is_id(item["id"]))]


def error_response(request: Message, reason: str) -> Message:
    return {"jsonrpc": "2.0", "id": request["id"], "error": {"code": _SERVER_ERROR, "message": reason}}


def line_of(message: Message) -> bytes:
    return json.dumps(message).encode() + b"\n"
