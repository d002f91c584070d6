"""ASGI application: the gateway, HTTP in WSGI threads, WebSockets, and in embedded mode the worker."""

import asyncio
from typing import Any, cast

import structlog
from a2wsgi import WSGIMiddleware
from channels.routing import ProtocolTypeRouter, URLRouter
from channels.security.websocket import WebsocketDenier
from channels.sessions import SessionMiddlewareStack
from django.conf import settings
from django.db import DatabaseError
from django.urls import get_resolver, path, re_path

# Sets up Django, which the imports below need.
from cockpit.wsgi import application as http

from cockpit.gateway.app import Gateway  # isort: skip
from cockpit.http import auth  # isort: skip
from cockpit.http.transfer import slots, slow_clients  # isort: skip
from cockpit.http.transfer.asgi import Receive, Scope, Send  # isort: skip
from cockpit.serving import embedded_worker, otlp_grpc  # isort: skip
from cockpit.live import consumer  # isort: skip
from cockpit.metrics.registry import REGISTRY  # isort: skip
from cockpit.metrics.requests import MeasuredRequests  # isort: skip
from cockpit.process import recovery  # isort: skip
from cockpit.runners.consumer import RunnerConsumer  # isort: skip
from traces.http import routes  # isort: skip
from traces.http.outages import name_outage  # isort: skip
from traces.recordings import assembler  # isort: skip
from traces.search import indexer  # isort: skip

log = structlog.get_logger("cockpit.lifespan")
# As many requests run at once; others wait for slow clients.
SLOTS = slots.Slots(active=8, slow=32, slow_per_address=16)


class _Worker:
    """The worker of the embedded mode. Its threads also assemble the recordings that arrive, and index runs."""

    def __init__(self) -> None:
        self._tasks = embedded_worker.EmbeddedWorker()

    def start(self) -> None:
        """Start, then resume the unfinished work of earlier processes."""
        assembler.release_leases()
        assembler.note_restart()
        indexer.release_leases()
        self._tasks.start()
        recovery.at_start()

    def stop(self) -> None:
        if not self._tasks.stop():
            log.warning("worker_still_busy", consequence="its replays continue at the next start")


async def lifespan(scope: Scope, receive: Receive, send: Send) -> None:
    worker = _Worker() if settings.EMBEDDED else None
    listener = otlp_grpc.GrpcListener()
    while True:
        message = await receive()
        if message["type"] == "lifespan.startup":
            try:
                listener.start()
                if worker is not None:
                    await asyncio.to_thread(worker.start)
            except otlp_grpc.CannotListen as error:
                await send({"type": "lifespan.startup.failed", "message": str(error)})
                return
            except DatabaseError as error:
                await send({"type": "lifespan.startup.failed", "message": f"{name_outage(error)}."})
                return
            await send({"type": "lifespan.startup.complete"})
        else:
            await asyncio.to_thread(listener.stop)
            await gateway.close()
            # In a thread, because finishing tasks still send wake-ups through this loop.
            if worker is not None:
                await asyncio.to_thread(worker.stop)
            await send({"type": "lifespan.shutdown.complete"})
            return


# The threads of the first requests would wait for each other's imports.
routes.load(get_resolver().url_patterns)
gateway = Gateway(
    ProtocolTypeRouter(
        {
            "http": slow_clients.SlowClientGuard(
                WSGIMiddleware(cast(Any, http), workers=SLOTS.threads), auth.early_refusal, SLOTS
            ),
            "websocket": consumer.SameOrigin(
                SessionMiddlewareStack(
                    URLRouter(
                        [
                            path("ws/live", consumer.LiveConsumer.as_asgi()),
                            path("ws/runner", RunnerConsumer.as_asgi()),
                            re_path("", WebsocketDenier()),
                        ]
                    )
                )
            ),
            "lifespan": lifespan,
        }
    )
)
application = MeasuredRequests(gateway, REGISTRY)
