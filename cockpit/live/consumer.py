"""The websocket `/ws/live`: typed messages, in order, resumable.

A wake-up carries no data. The consumer remembers its last position and reads all newer messages on connect, on each
wake-up and every few seconds. Order, gaps, repeats and late subscribers therefore need no special cases.
"""

import asyncio
import time
from collections import Counter
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
# Recovers from a lost wake-up.
CATCH_UP_S = 5.0
# Combines a burst of wake-ups into one read.
PAUSE_S = 0.02
# Sockets of one caller in a process. Each reads the database every few seconds.
MOST_SOCKETS = 500
_sockets_by_caller: Counter[str] = Counter()
# Feeds with numbered messages: their rows, and a function that returns the messages after a number.
_NUMBERED_FEEDS: dict[str, tuple[QuerySet[Any], Callable[[UUID, int], Sequence[Any]]]] = {
    "replay": (ReplaySession.objects.all(), replays.messages_after),
    "experiment": (Experiment.objects.all(), experiments.messages_after),
    "bisection": (Bisection.objects.all(), bisections.changed_after),
}
BAD_REQUEST, NO_ACCESS, NOT_FOUND, SERVER_ERROR, TRY_LATER = 4400, 4401, 4404, 1011, 1013


class Feed(Protocol):
    """The subject that a socket follows."""

    group: str

    def exists(self) -> bool: ...

    def read(self, *, is_wake_up: bool) -> Sequence[BaseModel]:
        """Return the messages that were not sent yet."""


class NumberedFeed:
    """Numbered messages of one session, experiment or bisection."""

    def __init__(self, name: str, id: UUID, after: int) -> None:
        self.group = f"{name}.{id}"
        self._rows, self._after = _NUMBERED_FEEDS[name]
        self._id = id
        self._last_seq = after

    def exists(self) -> bool:
        return self._rows.filter(id=self._id).exists()

    def read(self, *, is_wake_up: bool) -> Sequence[BaseModel]:
        messages = self._after(self._id, self._last_seq)
        if messages:
            self._last_seq = messages[-1].seq
        return messages


class RunFeed:
    """Notifies that a run, or the list of runs, changed; the client fetches it again."""

    def __init__(self, run: UUID | None) -> None:
        self.group = f"run.{run}" if run else "runs"
        self._run = run
        self._seq = 0
        self._last_state: object = None

    def exists(self) -> bool:
        return self._run is None or Run.objects.filter(id=self._run).exists()

    def read(self, *, is_wake_up: bool) -> Sequence[BaseModel]:
        state = self._state()
        if not is_wake_up and state == self._last_state:
            return []
        self._last_state = state
        self._seq += 1
        return [RunsMessage(seq=self._seq, run=self._run)]

    def _state(self) -> object:
        """State whose change reveals a lost wake-up."""
        if self._run is None:
            return Run.objects.order_by("-id").values_list("id", "sealed_at").first()
        steps = Step.objects.filter(run=self._run).order_by("-sequence_no").values_list("sequence_no", flat=True)
        return steps.first(), Run.objects.filter(id=self._run).values_list("sealed_at", "status").first()


class DiffFeed:
    """Notifies that a diff report has new evidence."""

    def __init__(self, diff: UUID) -> None:
        self.group = f"diff.{diff}"
        self._diff = diff
        self._seq = 0

    def exists(self) -> bool:
        return DiffReport.objects.filter(id=self._diff).exists()

    def read(self, *, is_wake_up: bool) -> Sequence[BaseModel]:
        if not is_wake_up:
            return []
        self._seq += 1
        return [DiffTouched(seq=self._seq, diff=self._diff)]


def feed_for(query: str) -> Feed:
    """Return the feed for a query string; raises ValueError with the problem."""
    values = {key: items[-1] for key, items in parse_qs(query).items()}
    after = _number(values.pop("after", "0"))
    match list(values.items()):
        case [("runs", _)]:
            return RunFeed(None)
        case [("run", run)]:
            return RunFeed(_id("run", run))
        case [("diff", diff)]:
            return DiffFeed(_id("diff", diff))
        case [(name, text)] if name in _NUMBERED_FEEDS:
            return NumberedFeed(name, _id(name, text), after)
    raise ValueError("use one of run=, replay=, experiment=, bisection=, diff= or runs=1")


class _ReaderDisconnected(Exception):
    """The client has disconnected; `disconnect` cleans up."""


def _number(text: str) -> int:
    if not (text.isascii() and text.isdecimal()):
        raise ValueError("after must be a whole number from 0")
    return min(int(text[:12]), LAST_NO)


def _id(name: str, text: str) -> UUID:
    if (id := as_uuid(text)) is None:
        raise ValueError(f"{name} must be an id")
    return id


class LiveConsumer(AsyncWebsocketConsumer):
    """A socket that follows one feed. Unlike Channels' own wiring, it survives an outage of the channel layer."""

    channel_layer_alias = "none"
    _pump: asyncio.Task[None] | None = None
    _caller = ""
    _is_counted = False
    _checked_at = float("-inf")

    async def connect(self) -> None:
        self._wake_up_event = asyncio.Event()
        # Accept before refusing: a browser sees the close code only of an accepted socket.
        await self.accept()
        try:
            self._feed = feed_for(self.scope["query_string"].decode("latin1"))
        except ValueError as error:
            await self.close(BAD_REQUEST, str(error))
            return
        try:
            await self._start()
        except DatabaseError as error:
            await self._close_for_retry(error)

    async def _start(self) -> None:
        if not await self._may_read():
            await self.close(NO_ACCESS, "sign in first")
        elif not await database_sync_to_async(self._feed.exists)():
            await self.close(NOT_FOUND, "not found")
        elif _sockets_by_caller[self._caller] >= MOST_SOCKETS:
            log.warning("feed_refused", caller=self._caller, open=MOST_SOCKETS)
            await self.close(TRY_LATER, f"{self._caller} has {MOST_SOCKETS} live connections open")
        else:
            _sockets_by_caller[self._caller] += 1
            self._is_counted = True
            self._wake_ups = Subscription(self._feed.group, self._wake_up_event)
            await self._wake_ups.start()
            self._pump = asyncio.create_task(self._follow())

    async def disconnect(self, code: int) -> None:
        if self._is_counted:
            self._is_counted = False
            _sockets_by_caller[self._caller] -= 1
        if self._pump is not None:
            self._pump.cancel()
            await self._wake_ups.stop()

    async def _may_read(self) -> bool:
        """Check access when anyone's changed, and every few seconds in case that a wake-up was lost."""
        if time.monotonic() - self._checked_at > CATCH_UP_S:
            if not await database_sync_to_async(self._has_access)():
                return False
            self._checked_at = time.monotonic()
        return True

    def _has_access(self) -> bool:
        headers = {key.decode("latin1"): value.decode("latin1") for key, value in self.scope["headers"]}
        session = self.scope["session"]
        # A new session object reads the stored state.
        caller = auth.caller_of(headers, session.__class__(session.session_key))
        if caller is None or not auth.may(caller, "viewer"):
            return False
        self._caller = self._caller or caller.name
        return True

    async def _follow(self) -> None:
        is_wake_up = True
        try:
            while await self._may_read():
                await self._send_new(is_wake_up)
                await asyncio.sleep(PAUSE_S)
                with suppress(TimeoutError):
                    async with asyncio.timeout(CATCH_UP_S):
                        await self._wake_up_event.wait()
                is_wake_up = self._wake_up_event.is_set()
                self._wake_up_event.clear()
                if self._wake_ups.take_access_change():
                    self._checked_at = float("-inf")
            await self.close(NO_ACCESS, "sign in again")
        except DatabaseError as error:
            await self._close_for_retry(error)
        except _ReaderDisconnected:
            return
        except Exception as error:
            log.error("feed_failed", group=self._feed.group, exc_info=error)
            await self.close(SERVER_ERROR)

    async def _close_for_retry(self, error: Exception) -> None:
        """Close during a database outage; the client reconnects at its last position."""
        log.warning("feed_waits", group=self._feed.group, error=str(error).partition("\n")[0])
        await self.close(TRY_LATER)

    async def _send_new(self, is_wake_up: bool) -> None:
        read = database_sync_to_async(self._feed.read)
        while messages := await read(is_wake_up=is_wake_up):
            is_wake_up = False
            for message in messages:
                try:
                    await self.send(message.model_dump_json())
                except OSError as error:  # raised by ASGI servers for a closed socket
                    raise _ReaderDisconnected from error


class SameOrigin:
    """Refuses sockets from pages of other sites, and unknown hosts."""

    def __init__(self, application: Any) -> None:
        self._application = application

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> Any:
        headers = {key.decode("latin1"): value.decode("latin1") for key, value in scope["headers"]}
        host = headers.get("host", "")
        is_our_host = validate_host(split_domain_port(host)[0], settings.ALLOWED_HOSTS)
        if not is_our_host or auth.foreign_origin(headers.get("origin"), host):
            return await WebsocketDenier()(scope, receive, send)
        return await self._application(scope, receive, send)
