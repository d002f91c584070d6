"""Websocket client that talks to the ASGI application directly."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from asgiref.testing import ApplicationCommunicator

from cockpit.asgi import application
from cockpit.http.openapi import LiveMessage
from tests.support.patience import patience_s

PATIENCE_S = 4.0


class Socket:
    """One connection. Messages of `/ws/live` are validated against their schema."""

    # asgiref does not type its communicator.
    def __init__(self, communicator: Any) -> None:
        self._communicator = communicator

    async def connect(self) -> bool:
        await self._communicator.send_input({"type": "websocket.connect"})
        answer = await self._communicator.receive_output(patience_s(PATIENCE_S))
        return bool(answer["type"] == "websocket.accept")

    async def next(self, *, has_schema: bool = True) -> dict[str, Any]:
        event = await self._communicator.receive_output(patience_s(PATIENCE_S))
        assert event["type"] == "websocket.send", event
        if has_schema:
            LiveMessage.model_validate_json(event["text"])
        message: dict[str, Any] = json.loads(event["text"])
        return message

    async def send(self, message: object) -> None:
        await self._communicator.send_input({"type": "websocket.receive", "text": json.dumps(message)})

    async def close_code(self) -> int:
        event = await self._communicator.receive_output(patience_s(PATIENCE_S))
        assert event["type"] == "websocket.close", event
        return int(event["code"])

    async def is_silent(self, seconds: float) -> bool:
        return bool(await self._communicator.receive_nothing(seconds))


@asynccontextmanager
async def open_socket(query: str, path: str = "/ws/live", **headers: str) -> AsyncIterator[Socket]:
    header_values = {"host": "localhost", **headers}
    scope = {
        "type": "websocket",
        "path": path,
        "query_string": query.encode(),
        "subprotocols": [],
        "headers": [(key.encode(), value.encode()) for key, value in header_values.items()],
    }
    communicator: Any = ApplicationCommunicator(application, scope)  # type: ignore[no-untyped-call]  # of asgiref
    try:
        yield Socket(communicator)
    finally:
        await communicator.send_input({"type": "websocket.disconnect", "code": 1000})
        # A blocking read on Redis outlives its consumer by seconds.
        await communicator.wait(0.5)
