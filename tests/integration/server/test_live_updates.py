"""The websocket: typed messages in order, whoever writes and from wherever, and nothing for strangers."""

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


async def test_a_watcher_of_the_list_hears_of_a_new_run() -> None:
    async with open_socket("runs=1") as socket:
        await socket.connect()
        assert (await socket.next())["seq"] == 1  # whatever happened before it connected
        await database_sync_to_async(services.record)(order_run())
        assert await socket.next() == {"type": "runs", "seq": 2, "run": None}


async def test_a_wake_up_from_another_thread_arrives_at_once() -> None:
    async with open_socket("runs=1") as socket:
        await socket.connect()
        await socket.next()
        # A thread with no event loop of ours, as a worker's; the catch-up would take 5 s.
        await asyncio.get_running_loop().run_in_executor(None, _touch, "runs")
        assert (await socket.next(timeout=2))["seq"] == 2


async def test_a_replay_is_told_in_order_and_resumes_after_what_was_seen() -> None:
    recorded = await database_sync_to_async(services.record)(order_run())
    session = await database_sync_to_async(replays.launch)(ReplayRequest(run=str(recorded.run_id)))
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


async def test_a_lost_wake_up_heals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(consumer, "CATCH_UP_S", 0.2)
    async with open_socket("runs=1") as socket:
        await socket.connect()
        await socket.next()
        monkeypatch.setattr("traces.notify._wake", lambda group: None)
        await database_sync_to_async(services.record)(order_run())
        assert (await socket.next())["seq"] == 2


class SilentLayer:
    """A channel layer whose server takes a command and never answers."""

    async def new_channel(self) -> str:
        return "nobody"

    async def group_add(self, group: str, channel: str) -> None:
        await asyncio.Event().wait()


async def test_a_channel_layer_that_never_answers_keeps_nothing_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(consumer, "CATCH_UP_S", 0.2)
    monkeypatch.setattr("cockpit.live.wakeups.get_channel_layer", SilentLayer)
    async with open_socket("runs=1") as socket:
        await socket.connect()
        assert (await socket.next(timeout=2))["seq"] == 1
        await database_sync_to_async(services.record)(order_run())
        assert (await socket.next(timeout=2))["seq"] == 2


@pytest.mark.parametrize(
    "query", ["", "run=nonsense", "replay=1&run=2", "runs=1&after=x", "runs=1&after=-1", f"runs=1&after=-{5_000 * '9'}"]
)
async def test_a_query_that_names_nothing_is_refused(query: str) -> None:
    async with open_socket(query) as socket:
        assert await socket.connect()
        assert await socket.close_code() == consumer.BAD_REQUEST


@pytest.mark.parametrize("topic", ["run", "replay", "diff"])
async def test_what_does_not_exist_cannot_be_followed(topic: str) -> None:
    async with open_socket(f"{topic}={uuid4()}") as socket:
        assert await socket.connect()
        assert await socket.close_code() == consumer.NOT_FOUND


async def test_a_page_of_another_site_is_refused() -> None:
    async with open_socket("runs=1", origin="https://elsewhere.example") as socket:
        assert not await socket.connect()


async def test_a_name_that_is_not_ours_is_refused(settings: Settings) -> None:
    """Also where a page says that it belongs to it: its owner can let the name lead here."""
    settings.ALLOWED_HOSTS = ["localhost"]  # as on loopback
    async with open_socket("runs=1", host="elsewhere.example", origin="http://elsewhere.example") as socket:
        assert not await socket.connect()


async def test_a_page_of_this_site_is_welcome() -> None:
    async with open_socket("runs=1", origin="http://localhost") as socket:
        assert await socket.connect()


@pytest.mark.parametrize("query", ["runs=1", "run=01a20290-9345-7664-9887-59b504e97209"])
async def test_a_stranger_is_refused_where_others_can_reach_the_server(settings: Settings, query: str) -> None:
    """And is not told what there is."""
    settings.LOGIN_REQUIRED = True
    async with open_socket(query) as socket:
        assert await socket.connect()
        assert await socket.close_code() == consumer.NO_ACCESS


def _bearer(secret: str) -> tuple[dict[str, str], Callable[[], object]]:
    return {"authorization": f"Bearer {secret}"}, lambda: tokens.revoke(ApiToken.objects.get().id)


def _login(secret: str) -> tuple[dict[str, str], Callable[[], object]]:
    client = Client()
    client.post("/api/v1/login", {"token": secret}, content_type="application/json")
    return {"cookie": f"sessionid={client.cookies['sessionid'].value}"}, lambda: client.post("/api/v1/logout")


@pytest.mark.parametrize("way", [_bearer, _login])
async def test_the_end_of_a_token_or_a_login_closes_the_sockets_that_it_opened(
    way: Callable[[str], tuple[dict[str, str], Callable[[], object]]],
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings.LOGIN_REQUIRED = True
    monkeypatch.setattr(consumer, "CATCH_UP_S", 0.1)
    secret = await database_sync_to_async(tokens.create)(name="ada", role="viewer")
    sent, end = await database_sync_to_async(way)(secret)
    async with open_socket("runs=1", **sent) as socket:
        await socket.connect()
        await socket.next()
        assert await socket.is_silent(0.3)
        await database_sync_to_async(end)()
        assert await socket.close_code() == consumer.NO_ACCESS
