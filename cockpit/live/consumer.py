"""The websocket `/ws/live`: typed messages, in order, resumable.

A wake-up carries no data. The consumer keeps how far it has sent, and on connect, on each wake-up and every few
seconds reads what comes after; so order, gaps, repeats and late joiners are one question with one answer.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Protocol
from urllib.parse import parse_qs
from uuid import UUID

import structlog
from channels.db import database_sync_to_async
from channels.generic.websocket import AsyncWebsocketConsumer
from channels.security.websocket import WebsocketDenier
from django.conf import settings
from django.db import Error as DatabaseError
from django.db.models import QuerySet
from django.http.request import split_domain_port, validate_host
from pydantic import BaseModel

from cockpit.http import auth
from cockpit.http.schemas import DiffTouched
from cockpit.live.wakeups import Subscription
from diffing.models import DiffReport
from replay.bisection import queries as bisections
from replay.experiments import queries as experiments
from replay.models import Bisection, Experiment, ReplaySession
from replay.sessions import queries as replays
from replay.sessions.schemas import RunsMessage
from traces.http.paging import LAST_NO
from traces.models import Run, Step
from traces.runs.queries import as_uuid

log = structlog.get_logger("cockpit.live.consumer")
# Heals a lost wake-up.
CATCH_UP_S = 5.0
# A burst of wake-ups becomes one read.
PAUSE_S = 0.02
# Of what has numbered changes: where it is, and what changed after a number.
_NUMBERED: dict[str, tuple[QuerySet[Any], Callable[[UUID, int], Sequence[Any]]]] = {
    "replay": (ReplaySession.objects.all(), replays.messages_after),
    "experiment": (Experiment.objects.all(), experiments.messages_after),
    "bisection": (Bisection.objects.all(), bisections.changed_after),
}
BAD_REQUEST, NO_ACCESS, NOT_FOUND, SERVER_ERROR, TRY_LATER = 4400, 4401, 4404, 1011, 1013


class Feed(Protocol):
    """What one socket follows."""

    group: str

    def exists(self) -> bool: ...

    def read(self, *, woken: bool) -> Sequence[BaseModel]:
        """What has not been sent yet."""


class NumberedFeed:
    """What changed in one thing, whose changes have numbers of their own."""

    def __init__(self, name: str, id: UUID, after: int) -> None:
        self.group = f"{name}.{id}"
        self._rows, self._after = _NUMBERED[name]
        self._id = id
        self._sent = after

    def exists(self) -> bool:
        return self._rows.filter(id=self._id).exists()

    def read(self, *, woken: bool) -> Sequence[BaseModel]:
        messages = self._after(self._id, self._sent)
        if messages:
            self._sent = messages[-1].seq
        return messages


class RunFeed:
    """Tells that one run, or the list of runs, changed; the client fetches again."""

    def __init__(self, run: UUID | None) -> None:
        self.group = f"run.{run}" if run else "runs"
        self._run = run
        self._seq = 0
        self._seen: object = None

    def exists(self) -> bool:
        return self._run is None or Run.objects.filter(id=self._run).exists()

    def read(self, *, woken: bool) -> Sequence[BaseModel]:
        state = self._state()
        if not woken and state == self._seen:
            return []
        self._seen = state
        self._seq += 1
        return [RunsMessage(seq=self._seq, run=self._run)]

    def _state(self) -> object:
        """What a lost wake-up would have been about."""
        if self._run is None:
            return Run.objects.order_by("-id").values_list("id", "sealed_at").first()
        steps = Step.objects.filter(run=self._run).order_by("-sequence_no").values_list("sequence_no", flat=True)
        return steps.first(), Run.objects.filter(id=self._run).values_list("sealed_at", "status").first()


class DiffFeed:
    """Tells that a diff report got new evidence."""

    def __init__(self, diff: UUID) -> None:
        self.group = f"diff.{diff}"
        self._diff = diff
        self._seq = 0

    def exists(self) -> bool:
        return DiffReport.objects.filter(id=self._diff).exists()

    def read(self, *, woken: bool) -> Sequence[BaseModel]:
        if not woken:
            return []
        self._seq += 1
        return [DiffTouched(seq=self._seq, diff=self._diff)]


def feed_for(query: str) -> Feed:
    """The feed that a query string names; raises ValueError saying what is wrong with it."""
    values = {key: items[-1] for key, items in parse_qs(query).items()}
    after = _number(values.pop("after", "0"))
    match list(values.items()):
        case [("runs", _)]:
            return RunFeed(None)
        case [("run", run)]:
            return RunFeed(_id("run", run))
        case [("diff", diff)]:
            return DiffFeed(_id("diff", diff))
        case [(name, text)] if name in _NUMBERED:
            return NumberedFeed(name, _id(name, text), after)
    raise ValueError("name one of run=, replay=, experiment=, bisection=, diff= or runs=1")


class _ReaderLeft(Exception):
    """Nobody is there any more to send to; `disconnect` cleans up."""


def _number(text: str) -> int:
    if not (text.isascii() and text.isdecimal()):
        raise ValueError("after must be a whole number from 0")
    return min(int(text[:12]), LAST_NO)


def _id(name: str, text: str) -> UUID:
    if (found := as_uuid(text)) is None:
        raise ValueError(f"{name} must be an id")
    return found


class LiveConsumer(AsyncWebsocketConsumer):
    """One socket following one feed. It outlives the channel layer, which Channels' own wiring would not."""

    channel_layer_alias = "none"
    _pump: asyncio.Task[None] | None = None
    _let_in_at = float("-inf")

    async def connect(self) -> None:
        self._woken = asyncio.Event()
        await self.accept()  # refusals come after: a browser sees the close code of an accepted socket only
        try:
            self._feed = feed_for(self.scope["query_string"].decode("latin1"))
        except ValueError as error:
            await self.close(BAD_REQUEST, str(error))
            return
        try:
            await self._begin()
        except DatabaseError as error:
            await self._put_off(error)

    async def _begin(self) -> None:
        if not await self._may_read():
            await self.close(NO_ACCESS, "log in first")
        elif not await database_sync_to_async(self._feed.exists)():
            await self.close(NOT_FOUND, "there is no such thing to follow")
        else:
            self._wake_ups = Subscription(self._feed.group, self._woken)
            await self._wake_ups.start()
            self._pump = asyncio.create_task(self._follow())

    async def disconnect(self, code: int) -> None:
        if self._pump is not None:
            self._pump.cancel()
            await self._wake_ups.stop()

    async def _may_read(self) -> bool:
        """Asked again every few seconds: the end of a token or a login closes the sockets that it opened."""
        if time.monotonic() - self._let_in_at > CATCH_UP_S:
            if not await database_sync_to_async(self._allowed)():
                return False
            self._let_in_at = time.monotonic()
        return True

    def _allowed(self) -> bool:
        headers = {key.decode("latin1"): value.decode("latin1") for key, value in self.scope["headers"]}
        session = self.scope["session"]
        return auth.caller_of(headers, session.__class__(session.session_key)) is not None  # as it is stored now

    async def _follow(self) -> None:
        woken = True
        try:
            while await self._may_read():
                await self._send_new(woken)
                await asyncio.sleep(PAUSE_S)
                with suppress(TimeoutError):
                    async with asyncio.timeout(CATCH_UP_S):
                        await self._woken.wait()
                woken = self._woken.is_set()
                self._woken.clear()
            await self.close(NO_ACCESS, "log in again")
        except DatabaseError as error:
            await self._put_off(error)
        except _ReaderLeft:
            return
        except Exception as error:
            log.error("feed_failed", group=self._feed.group, exc_info=error)
            await self.close(SERVER_ERROR)

    async def _put_off(self, error: Exception) -> None:
        """The database is away: the client comes back after what it has seen."""
        log.warning("feed_waits", group=self._feed.group, error=str(error).partition("\n")[0])
        await self.close(TRY_LATER)

    async def _send_new(self, woken: bool) -> None:
        read = database_sync_to_async(self._feed.read)
        while messages := await read(woken=woken):
            woken = False
            for message in messages:
                try:
                    await self.send(message.model_dump_json())
                except OSError as error:  # what ASGI servers raise for a socket that is closed
                    raise _ReaderLeft from error


class SameOrigin:
    """Refuses sockets that a page of another site opens, and hosts that are not ours."""

    def __init__(self, application: Any) -> None:
        self._application = application

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> Any:
        headers = {key.decode("latin1"): value.decode("latin1") for key, value in scope["headers"]}
        host = headers.get("host", "")
        known = validate_host(split_domain_port(host)[0], settings.ALLOWED_HOSTS)
        if not known or auth.foreign_origin(headers.get("origin"), host):
            return await WebsocketDenier()(scope, receive, send)
        return await self._application(scope, receive, send)
