"""Runners that come and go."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Now

from replay.models import Runner
from replay.runners.queries import online

_MOST_NAMES: Final = 1_000


class NameInUse(Exception):
    """Another runner of the app has this name."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Announcement:
    """What a runner states about itself. An empty name lets the server choose one."""

    app: str
    name: str
    host: str
    process: str
    command: Sequence[str]
    capacity: int
    tools_to_run: Sequence[str]
    tools_to_ask: Sequence[str]
    tools_with_hook: Sequence[str]
    env_allow: Sequence[str]
    network: str


def connect(announcement: Announcement, *, owner: str, by: str) -> Runner:
    """Store a connected runner; `owner` is the lease of its connection. Raise `NameInUse`."""
    with transaction.atomic():
        name = _free_name(announcement)
        runner, _ = Runner.objects.update_or_create(
            app=announcement.app,
            name=name,
            defaults={
                "host": announcement.host,
                "process": announcement.process,
                "command": [*announcement.command],
                "capacity": announcement.capacity,
                "tools_to_run": [*announcement.tools_to_run],
                "tools_to_ask": [*announcement.tools_to_ask],
                "tools_with_hook": [*announcement.tools_with_hook],
                "env_allow": [*announcement.env_allow],
                "network": announcement.network,
                "connection": owner,
                "last_seen_at": Now(),
                "by": by,
            },
        )
    return runner


def beat(runner: Runner) -> bool:
    """Note that a connection lives; False if its runner has connected again."""
    return bool(_rows_of(runner).update(last_seen_at=Now()))


def disconnect(runner: Runner) -> None:
    """Note that a connection has ended."""
    _rows_of(runner).update(connection="", last_seen_at=Now())


def disconnect_all() -> None:
    """Note that no runner is connected: the process that had the connections is gone."""
    Runner.objects.exclude(connection="").update(connection="")


def _rows_of(runner: Runner) -> QuerySet[Runner]:
    return Runner.objects.filter(id=runner.id, connection=runner.connection)


def _free_name(announcement: Announcement) -> str:
    """Return the name that a runner has, or the first of its host that no other process uses."""
    neighbours = online(announcement.app).exclude(process=announcement.process)
    names = {*neighbours.values_list("name", flat=True)}
    if announcement.name:
        if announcement.name in names:
            raise NameInUse(announcement.name)
        return announcement.name
    own = Runner.objects.filter(app=announcement.app, process=announcement.process).values_list("name", flat=True)
    candidates = [announcement.host, *(f"{announcement.host}-{no}" for no in range(2, _MOST_NAMES))]
    return own.first() or next(name for name in candidates if name not in names)
