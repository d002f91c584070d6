"""The websocket `/ws/runner`: gives a runner the sessions of its app, and follows its agents.

The connection is the worker of these sessions: it claims them, beats for them, writes their steps and ends them. If
the connection or its process ends, they wait for the runner, or for another one.
"""

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from typing import Final, ParamSpec, TypeVar
from uuid import UUID

import structlog
from channels.generic.websocket import AsyncWebsocketConsumer
from django.conf import settings
from django.db import Error as DatabaseError
from django.db import close_old_connections
from pydantic import ValidationError

from cockpit.gateway.api import rerun_session
from cockpit.http import auth
from cockpit.http.auth import Caller
from cockpit.live.consumer import BAD_REQUEST, NO_ACCESS, SERVER_ERROR, TRY_LATER
from cockpit.live.wakeups import Subscription
from cockpit.runners import protocol
from replay.agents import connections, dispatch, output, progress
from replay.agents.connections import Announcement, NameInUse
from replay.agents.output import PrintedLine
from replay.core.errors import LostOwnership
from replay.execution import leases
from replay.execution.runner import RUNNERS
from replay.models import ReplaySession, Runner
from traces.core.schema import Schema

log = structlog.get_logger("cockpit.runners")
# In which a runner says who it is.
HELLO_S = 10.0
# The close code for a name that another runner has.
NAME_IN_USE: Final = 4409
# Between two looks: while agents run, and while the runner waits.
_BUSY_S: Final = 0.3
_IDLE_S: Final = 2.0
# What is written of a run takes longer the more there is: the pauses between are this many times as long.
_PAUSE_FACTOR: Final = 4

P = ParamSpec("P")
R = TypeVar("R")


async def _in_thread(function: Callable[P, R], *args: P.args, **options: P.kwargs) -> R:
    """Call a function that uses the database. Not in the thread that all live views share: a long run takes a while."""

    def call() -> R:
        close_old_connections()
        try:
            return function(*args, **options)
        finally:
            close_old_connections()

    return await asyncio.to_thread(call)


class RunnerConsumer(AsyncWebsocketConsumer):
    """The connection of one runner."""

    channel_layer_alias = "none"
    _runner: Runner | None = None
    _caller: Caller | None = None
    _pump: asyncio.Task[None] | None = None
    _deadline: asyncio.Task[None] | None = None

    async def connect(self) -> None:
        await self.accept()
        # The attempt of each agent that runs there, how many calls of it are written, and when the next may be.
        self._sessions: dict[UUID, int] = {}
        # Agents that were running while the connection was lost.
        self._adopted_sessions: set[UUID] = set()
        self._call_counts: dict[UUID, int] = {}
        self._write_times: dict[UUID, float] = {}
        self._event = asyncio.Event()
        self._wake_ups = Subscription(RUNNERS, self._event)
        self._is_leaving = False
        # What one agent did is written by one thread at a time.
        self._lock = asyncio.Lock()
        self._caller = await _in_thread(self._find_caller)
        if self._caller is None:
            await self.close(NO_ACCESS, "the token is missing, wrong or revoked: a runner needs the role debugger")
            return
        self._deadline = asyncio.create_task(self._close_silent())

    async def _close_silent(self) -> None:
        """Close the connection of a client that does not say who it is: nobody would ever use it."""
        await asyncio.sleep(HELLO_S)
        if self._runner is None:
            await self.close(BAD_REQUEST, f"the first message, `hello`, did not come within {HELLO_S:g} s")

    async def disconnect(self, code: int) -> None:
        self._is_leaving = True
        if self._deadline is not None:
            self._deadline.cancel()
        if self._pump is not None:
            self._pump.cancel()
            with suppress(asyncio.CancelledError):
                await self._pump
            await self._wake_ups.stop()
        if self._runner is not None:
            try:
                await _in_thread(self._leave, self._runner)
            except DatabaseError as error:
                # What was not written shows by the time of the last beat.
                _note_wait(error)

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        if self._caller is None:
            return
        try:
            message = protocol.RunnerMessage.validate_json(text_data or b"")
        except ValidationError as error:
            await self.close(BAD_REQUEST, f"a message that the server does not know: {error.errors()[0]['msg']}"[:120])
            return
        try:
            await self._handle(message)
        except DatabaseError as error:
            _note_wait(error)
            await self.close(TRY_LATER)
        except Exception as error:
            # Without a close, `_work` would go on beating for a runner that is gone, and claim sessions for it.
            log.exception("runner_failed", exc_info=error)
            await self.close(SERVER_ERROR)

    async def _handle(self, message: protocol.Hello | protocol.Output | protocol.Exit) -> None:
        match message:
            case protocol.Hello():
                await self._greet(message)
            case _ if self._runner is None:
                await self.close(BAD_REQUEST, "the first message is `hello`")
            case protocol.Output():
                await _in_thread(self._store, message)
                last = message.lines[-1].no if message.lines else 0
                await self._tell(protocol.Receipt(session=message.session, attempt=message.attempt, no=last))
            case protocol.Exit():
                async with self._lock:
                    await self._end(message)

    async def _greet(self, hello: protocol.Hello) -> None:
        if self._runner is not None:
            return
        try:
            self._runner = await _in_thread(self._connect, hello)
        except NameInUse as error:
            await self.close(NAME_IN_USE, f"a runner named {error} is online for this app: choose another --name")
            return
        welcome = protocol.Welcome(
            name=self._runner.name, patience_s=settings.TAKEOVER_S, answered_at=datetime.now(UTC)
        )
        await self._tell(welcome)
        for item in hello.sessions:
            session = await _in_thread(dispatch.adopt, item.session, self._runner)
            if session is None or session.rerun is None or session.rerun.attempt != item.attempt:
                await self._tell(protocol.Stop(session=item.session, reason="it has ended, or another runner has it"))
            else:
                self._sessions[item.session] = item.attempt
                self._adopted_sessions.add(item.session)
        await self._wake_ups.start()
        self._pump = asyncio.create_task(self._work(self._runner))

    async def _end(self, message: protocol.Exit) -> None:
        """Follow the end of an agent: one that was killed, or lost calls with the server, is started again."""
        runner = self._require_runner()
        if self._sessions.get(message.session) != message.attempt:
            return
        is_cut_off = message.code < 0 or await self._may_have_lost_calls(message)
        if is_cut_off and message.attempt < progress.MOST_STARTS:
            await self._restart(message.session, runner)
            return
        del self._sessions[message.session]
        error = message.error
        if message.code < 0 and not error:
            error = f"the agent was killed by signal {-message.code}, {message.attempt} times"
        code = message.code if message.code >= 0 else 128 - message.code
        await _in_thread(progress.finish, message.session, runner.connection, exit_code=code, error=error)
        self._event.set()

    async def _may_have_lost_calls(self, message: protocol.Exit) -> bool:
        """Return whether an agent may not have reached the server while its runner did not.

        One that ignores errors of its calls ends without an error of its own, but lacks recorded calls.
        """
        is_own_end = bool(message.error) or message.code == progress.REFUSAL_EXIT
        if is_own_end or message.session not in self._adopted_sessions:
            return False
        return message.code != 0 or await _in_thread(progress.lacks_calls, message.session)

    async def _restart(self, session_id: UUID, runner: Runner) -> None:
        self._adopted_sessions.discard(session_id)
        session = await _in_thread(_load, session_id)
        await _in_thread(dispatch.restart, session, runner)
        await self._start(session)

    async def _work(self, runner: Runner) -> None:
        """Beat, follow the agents, and start others, until the connection ends."""
        beat_at = time.monotonic()
        try:
            while True:
                if self._wake_ups.take_access_change() or time.monotonic() - beat_at > leases.beat_s():
                    beat_at = time.monotonic()
                    if not await self._beat(runner):
                        return
                async with self._lock:
                    for session_id in [*self._sessions]:
                        await self._follow(session_id, runner)
                    await self._start_waiting(runner)
                with suppress(TimeoutError):
                    async with asyncio.timeout(_BUSY_S if self._sessions else _IDLE_S):
                        await self._event.wait()
                self._event.clear()
        except DatabaseError as error:
            _note_wait(error)
            await self.close(TRY_LATER)
        except Exception as error:
            log.exception("runner_failed", exc_info=error)
            await self.close(SERVER_ERROR)

    async def _beat(self, runner: Runner) -> bool:
        """Note that the runner and its agents are there; close the connection if it may not be, or has another one."""
        if await _in_thread(self._find_caller) is None:
            await self.close(NO_ACCESS, "the token was revoked")
            return False
        if not await _in_thread(connections.beat, runner):
            await self.close(NAME_IN_USE, "this runner has connected again")
            return False
        for session_id in [*self._sessions]:
            await _in_thread(leases.beat, session_id, runner.connection)
        return True

    async def _follow(self, session_id: UUID, runner: Runner) -> None:
        """Write what an agent did since the last look, and end it if its session must not go on."""
        reason = await _in_thread(self._look, session_id, runner)
        if reason is not None:
            self._sessions.pop(session_id, None)
            await self._tell(protocol.Stop(session=session_id, reason=reason))

    def _look(self, session_id: UUID, runner: Runner) -> progress.Interruption | None:
        reason = progress.interruption(session_id, runner.connection)
        if reason in {"cancelled", "deadline"}:
            progress.stop(session_id, runner.connection, reason)
        if reason is None and time.monotonic() > self._write_times.get(session_id, 0.0):
            # Until the session runs, if it begins to wait for an answer meanwhile.
            with suppress(LostOwnership):
                self._write(session_id, runner)
        return reason

    def _write(self, session_id: UUID, runner: Runner) -> None:
        """Write the steps of an agent if it has made calls since."""
        count = progress.count_calls(session_id)
        if count == self._call_counts.get(session_id):
            return
        start = time.monotonic()
        progress.write_steps(session_id, runner.connection)
        end = time.monotonic()
        self._call_counts[session_id] = count
        self._write_times[session_id] = end + _PAUSE_FACTOR * (end - start)

    async def _start_waiting(self, runner: Runner) -> None:
        """Start the agents of sessions that wait, as many as the runner has room for."""
        while len(self._sessions) < runner.capacity and not self._is_leaving:
            session = await _in_thread(dispatch.claim, runner, except_for=[*self._sessions])
            if session is None:
                return
            await self._start(session)

    async def _start(self, session: ReplaySession) -> None:
        rerun = session.rerun
        if rerun is None:
            raise RuntimeError(f"session {session.id} has no rerun")
        self._sessions[session.id] = rerun.attempt
        access = await _in_thread(rerun_session, rerun)
        start = protocol.Start(session=session.id, attempt=rerun.attempt, rerun=access, variables=session.variables)
        await self._tell(start)

    async def _tell(self, message: Schema) -> None:
        # The connection may be closed meanwhile; `disconnect` follows.
        with suppress(OSError):
            await self.send(message.model_dump_json())

    def _connect(self, hello: protocol.Hello) -> Runner:
        announcement = Announcement(
            app=hello.app,
            name=hello.name,
            host=hello.host,
            process=hello.process,
            command=hello.command,
            capacity=hello.capacity,
            tools_to_run=hello.tools_to_run,
            tools_to_ask=hello.tools_to_ask,
            tools_with_hook=hello.tools_with_hook,
            env_allow=hello.env_allow,
            network=hello.network,
        )
        by = self._caller.name if self._caller else ""
        return connections.connect(announcement, owner=leases.new_owner(), by=by)

    def _store(self, message: protocol.Output) -> None:
        """Store lines, also those of an agent whose session has just ended."""
        session = ReplaySession.objects.filter(id=message.session, runner=self._require_runner())
        lines = [PrintedLine(no=line.no, stream=line.stream, text=line.text, at=line.at) for line in message.lines]
        for item in session.select_related("source_run", "rerun"):
            output.append(item, message.attempt, lines)

    def _leave(self, runner: Runner) -> None:
        for session_id in self._sessions:
            dispatch.lose(session_id, runner)
        connections.disconnect(runner)

    def _find_caller(self) -> Caller | None:
        headers = {key.decode("latin1"): value.decode("latin1") for key, value in self.scope["headers"]}
        session = self.scope["session"]
        caller = auth.caller_of(headers, session.__class__(session.session_key))
        return caller if caller is not None and auth.may(caller, "debugger") else None

    def _require_runner(self) -> Runner:
        if self._runner is None:
            raise RuntimeError("the runner is not connected")
        return self._runner


def _note_wait(error: DatabaseError) -> None:
    log.warning("runner_waits", error=str(error).partition("\n")[0])


def _load(session_id: UUID) -> ReplaySession:
    return ReplaySession.objects.select_related("source_run", "profile", "rerun").get(id=session_id)
