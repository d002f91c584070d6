"""ASGI application: HTTP in WSGI threads, WebSockets, and in embedded mode the worker."""

import asyncio
from typing import Any, cast

import structlog
from a2wsgi import WSGIMiddleware
from channels.routing import ProtocolTypeRouter, URLRouter
from channels.sessions import SessionMiddlewareStack
from django.conf import settings
from django.urls import path

# Sets up Django, which the imports below need.
from cockpit.wsgi import application as http

from cockpit.http import auth, slow_clients  # isort: skip
from cockpit.serving import embedded_worker  # isort: skip
from cockpit.live import consumer  # isort: skip
from cockpit.process import recovery  # isort: skip

log = structlog.get_logger("cockpit.lifespan")
HTTP_THREADS = 8


def _start() -> embedded_worker.EmbeddedWorker | None:
    """Start the embedded worker, then resume the unfinished work of earlier processes."""
    worker = None
    if settings.EMBEDDED:
        worker = embedded_worker.EmbeddedWorker()
        worker.start()
        recovery.at_start()
    return worker


async def _stop(worker: embedded_worker.EmbeddedWorker | None) -> None:
    # In a thread, because finishing tasks still send wake-ups through this loop.
    if worker is not None and not await asyncio.to_thread(worker.stop):
        log.warning("worker_still_busy", consequence="its replays go on at the next start")


async def lifespan(scope: slow_clients.Scope, receive: slow_clients.Receive, send: slow_clients.Send) -> None:
    worker = None
    while True:
        message = await receive()
        if message["type"] == "lifespan.startup":
            worker = await asyncio.to_thread(_start)
            await send({"type": "lifespan.startup.complete"})
        else:
            await _stop(worker)
            await send({"type": "lifespan.shutdown.complete"})
            return


application = ProtocolTypeRouter(
    {
        "http": slow_clients.SlowClientGuard(WSGIMiddleware(cast(Any, http), workers=HTTP_THREADS), auth.early_refusal),
        "websocket": consumer.SameOrigin(
            SessionMiddlewareStack(URLRouter([path("ws/live", consumer.LiveConsumer.as_asgi())]))
        ),
        "lifespan": lifespan,
    }
)
