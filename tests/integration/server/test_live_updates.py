"""The websocket: typed, ordered messages from any writer, and none without access."""

import asyncio
from collections.abc import Callable
from uuid import uuid4

import pytest
from channels.db import database_sync_to_async
from django.db import connection, transaction
from django.test import Client
from pytest_django import Settings

from cockpit.http import tokens
from cockpit.live import consumer
from cockpit.models import ApiToken
from cockpit.runners import consumer as runner_consumer
from replay.sessions import services as replays
from replay.sessions.schemas import ReplayRequest
from tests.services.sockets import open_socket
from tests.support.recordings import order_run
from traces.notify import touch
from traces.runs import services

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.asyncio]


def _touch(group: str) -> None:
    with transaction.atomic():
        touch(group)
    connection.close()


async def test_list_watcher_gets_new_run() -> None:
    async with open_socket("runs=1") as socket:
        await socket.connect()
        assert (await socket.next())["seq"] == 1  # whatever happened before it connected
        await database_sync_to_async(services.record)(order_run())
        assert await socket.next() == {"type": "runs", "seq": 2, "run": None}


async def test_runner_without_a_hello_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner_consumer, "HELLO_S", 0.1)
    async with open_socket("", "/ws/runner") as socket:
        assert await socket.connect()
        assert await socket.close_code() == consumer.BAD_REQUEST


async def test_runner_whose_message_fails_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(*_: object) -> None:
        raise OverflowError

    monkeypatch.setattr(runner_consumer.RunnerConsumer, "_end", fail)
    hello = {"type": "hello", "app": "desk", "name": "a", "host": "h", "process": "p", "command": [], "capacity": 1}
    async with open_socket("", "/ws/runner") as socket:
        assert await socket.connect()
        await socket.send(hello)
        await socket.send({"type": "exit", "session": str(uuid4()), "attempt": 1, "code": 0})
        assert (await socket.next(has_schema=False))["type"] == "welcome"
        assert await socket.close_code() == consumer.SERVER_ERROR


async def test_wake_up_from_other_thread_is_immediate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(consumer, "CATCH_UP_S", 3_600)
    async with open_socket("runs=1") as socket:
        await socket.connect()
        await socket.next()
        # A thread with no event loop of ours, as a worker's.
        await asyncio.get_running_loop().run_in_executor(None, _touch, "runs")
        assert (await socket.next())["seq"] == 2


async def test_replay_messages_are_ordered_and_resumable() -> None:
    recording = await database_sync_to_async(services.record)(order_run())
    session = await database_sync_to_async(replays.launch)(ReplayRequest(run=str(recording.run_id)))
    async with open_socket(f"replay={session.id}") as socket:
        await socket.connect()
        first = await socket.next()
        assert (first["type"], first["session"]["status"]) == ("session", "pending")
        await database_sync_to_async(replays.cancel)(session.id)
        second = await socket.next()
        assert second["session"]["status"] == "cancelled"
        assert second["seq"] > first["seq"]
    async with open_socket(f"replay={session.id}&after={first['seq']}") as late:
        await late.connect()
        assert await late.next() == second
        assert await late.is_silent(0.3)


async def test_lost_wake_up_is_recovered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(consumer, "CATCH_UP_S", 0.2)
    async with open_socket("runs=1") as socket:
        await socket.connect()
        await socket.next()
        monkeypatch.setattr("traces.notify._wake", lambda group: None)
        await database_sync_to_async(services.record)(order_run())
        assert (await socket.next())["seq"] == 2


class SilentLayer:
    """Channel layer whose server accepts a command and never answers."""

    async def new_channel(self) -> str:
        return "nobody"

    async def group_add(self, group: str, channel: str) -> None:
        await asyncio.Event().wait()


async def test_silent_channel_layer_delays_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(consumer, "CATCH_UP_S", 0.2)
    monkeypatch.setattr("cockpit.live.wakeups.get_channel_layer", SilentLayer)
    async with open_socket("runs=1") as socket:
        await socket.connect()
        assert (await socket.next())["seq"] == 1
        await database_sync_to_async(services.record)(order_run())
        assert (await socket.next())["seq"] == 2


@pytest.mark.parametrize(
    "query", ["", "run=nonsense", "replay=1&run=2", "runs=1&after=x", "runs=1&after=-1", f"runs=1&after=-{5_000 * '9'}"]
)
async def test_invalid_topic_is_rejected(query: str) -> None:
    async with open_socket(query) as socket:
        assert await socket.connect()
        assert await socket.close_code() == consumer.BAD_REQUEST


@pytest.mark.parametrize("topic", ["run", "replay", "diff"])
async def test_unknown_object_is_not_found(topic: str) -> None:
    async with open_socket(f"{topic}={uuid4()}") as socket:
        assert await socket.connect()
        assert await socket.close_code() == consumer.NOT_FOUND


async def test_unknown_address_is_rejected() -> None:
    async with open_socket("", "/ws/other") as socket:
        assert not await socket.connect()


async def test_other_origin_is_rejected() -> None:
    async with open_socket("runs=1", origin="https://elsewhere.example") as socket:
        assert not await socket.connect()


async def test_foreign_host_is_rejected(settings: Settings) -> None:
    """Reject it even with a matching origin, because its owner can point the name at this server."""
    settings.ALLOWED_HOSTS = ["localhost"]  # as on loopback
    async with open_socket("runs=1", host="elsewhere.example", origin="http://elsewhere.example") as socket:
        assert not await socket.connect()


async def test_own_origin_is_accepted() -> None:
    async with open_socket("runs=1", origin="http://localhost") as socket:
        assert await socket.connect()


@pytest.mark.parametrize("query", ["runs=1", "run=01a20290-9345-7664-9887-59b504e97209"])
async def test_reachable_server_needs_login(settings: Settings, query: str) -> None:
    """The response does not reveal whether the object exists."""
    settings.LOGIN_REQUIRED = True
    async with open_socket(query) as socket:
        assert await socket.connect()
        assert await socket.close_code() == consumer.NO_ACCESS


async def test_senders_cannot_follow_runs(settings: Settings) -> None:
    settings.LOGIN_REQUIRED = True
    secret = await database_sync_to_async(tokens.create)(name="agent", role="sender")
    async with open_socket("runs=1", authorization=f"Bearer {secret}") as socket:
        assert await socket.connect()
        assert await socket.close_code() == consumer.NO_ACCESS


async def test_sockets_of_one_caller_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(consumer, "MOST_SOCKETS", 1)
    async with open_socket("runs=1") as first, open_socket("runs=1") as second:
        await first.connect()
        await first.next()
        await second.connect()
        assert await second.close_code() == consumer.TRY_LATER
    async with open_socket("runs=1") as third:
        await third.connect()
        await third.next()


def _bearer(secret: str) -> tuple[dict[str, str], Callable[[], object]]:
    return {"authorization": f"Bearer {secret}"}, lambda: tokens.revoke(ApiToken.objects.get().id)


def _login(secret: str) -> tuple[dict[str, str], Callable[[], object]]:
    client = Client()
    client.post("/api/v1/login", {"token": secret}, content_type="application/json")
    return {"cookie": f"sessionid={client.cookies['sessionid'].value}"}, lambda: client.post("/api/v1/logout")


@pytest.mark.parametrize("login", [_bearer, _login])
async def test_logout_or_revocation_closes_sockets(
    login: Callable[[str], tuple[dict[str, str], Callable[[], object]]],
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings.LOGIN_REQUIRED = True
    # It would take far longer than the test without the wake-up.
    monkeypatch.setattr(consumer, "CATCH_UP_S", 60.0)
    secret = await database_sync_to_async(tokens.create)(name="ada", role="viewer")
    headers, end = await database_sync_to_async(login)(secret)
    async with open_socket("runs=1", **headers) as socket:
        await socket.connect()
        await socket.next()
        assert await socket.is_silent(0.3)
        await database_sync_to_async(end)()
        assert await socket.close_code() == consumer.NO_ACCESS
