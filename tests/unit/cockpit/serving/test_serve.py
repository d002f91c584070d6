"""The server of `forkpoint serve`."""

import asyncio
import gc
import socket
from typing import Any

import uvicorn

from cockpit.serving.serve import _Server


async def silence(scope: Any, receive: Any, send: Any) -> None:
    """Answer nothing."""


async def _start(server: _Server, listener: socket.socket) -> None:
    server.config.load()
    server.lifespan = server.config.lifespan_class(server.config)
    await server.startup([listener])
    await server.shutdown([listener])


def test_a_started_server_collects_garbage_as_often_as_python_does() -> None:
    thresholds = gc.get_threshold()
    try:
        # As the command line, which starts the server.
        gc.set_threshold(50_000)
        with socket.create_server(("127.0.0.1", 0)) as listener:
            server = _Server(uvicorn.Config(silence, lifespan="off", log_config=None), "http://127.0.0.1", None)
            asyncio.run(_start(server, listener))
        assert gc.get_threshold() == (700, 10, 10)
        assert gc.get_freeze_count() > 0
    finally:
        gc.set_threshold(*thresholds)
        gc.unfreeze()
