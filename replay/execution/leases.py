"""Which worker process works on a session, and whether it still lives.

A heartbeat is never held against a clock: whoever looks after the others waits, by its own clock, for a beat that
does not change. So clocks that disagree, or a database that was away for a while, make nobody look dead.
"""

import os
import socket
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Final
from uuid import UUID, uuid4

from django.conf import settings
from django.db.models import F, QuerySet
from django.db.models.functions import Coalesce, Now

from replay.core.vocabulary import SessionStatus
from replay.models import ReplaySession
from traces.transitions import move

_PROC: Final = Path("/proc")


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A session in the hands of an owner."""

    session_id: UUID
    owner: str


def beat_s() -> float:
    """Seconds between two heartbeats: several fit into the time after which a worker is taken for dead."""
    return min(2.0, float(settings.TAKEOVER_S) / 5)


def new_owner() -> str:
    """A name for one claim by this process."""
    return f"{_process(os.getpid())}:{uuid4().hex[:12]}"


def claim(session_id: UUID, owner: str) -> bool:
    """Take a pending session; false when somebody else has it, or it has ended."""
    return bool(
        move(
            ReplaySession.objects.filter(id=session_id),
            SessionStatus.PENDING,
            SessionStatus.RUNNING,
            owner=owner,
            heartbeat_at=Now(),
            started_at=Coalesce("started_at", Now()),
        )
    )


def beat(session_id: UUID, owner: str) -> bool:
    """Say that the owner lives; false when it is the owner no more."""
    return bool(_held(Claim(session_id=session_id, owner=owner)).update(heartbeat_at=Now()))


def release(lost: Claim) -> bool:
    """Make an abandoned session pending again, unless it is in other hands by now.

    What its old owner still tries to write is refused.
    """
    return _hand_back(lost, lost_workers=F("lost_workers") + 1)


def give_back(session_id: UUID, owner: str) -> bool:
    """Leave a session to another worker; false when it is in other hands already."""
    return _hand_back(Claim(session_id=session_id, owner=owner), current="")


class Observer:
    """Looks at the heartbeats of all running sessions, again and again."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._seen: dict[Claim, tuple[datetime, float]] = {}

    def abandoned(self) -> list[Claim]:
        """Sessions whose process has ended, or whose heartbeat did not change while this observer watched."""
        now, found, seen = self._clock(), [], {}
        for held, beat_at in _running():
            known = self._seen.get(held)
            since = known[1] if known is not None and known[0] == beat_at else now
            if beat_at is None or now - since > settings.TAKEOVER_S or is_dead(held.owner):
                found.append(held)
            else:
                seen[held] = (beat_at, since)
        self._seen = seen
        return found

    def forget(self) -> None:
        """Begin anew: what kept this observer from looking may have kept the others from beating."""
        self._seen = {}


def _hand_back(held: Claim, **columns: object) -> bool:
    return bool(move(_held(held), SessionStatus.RUNNING, SessionStatus.PENDING, owner="", **columns))


def _held(held: Claim) -> QuerySet[ReplaySession]:
    return ReplaySession.objects.filter(id=held.session_id, owner=held.owner, status=SessionStatus.RUNNING)


def _running() -> Iterable[tuple[Claim, datetime | None]]:
    rows = ReplaySession.objects.filter(status=SessionStatus.RUNNING).values_list("id", "owner", "heartbeat_at")
    return [(Claim(session_id=id, owner=owner), beat_at) for id, owner, beat_at in rows]


@cache
def _process(pid: int) -> str:
    """This process, told apart from an earlier one with the same number by when it started."""
    return f"{socket.gethostname()[:60]}:{_place()}:{pid}:{_started(pid)}"


@cache
def _place() -> str:
    """Where process numbers mean the same: one boot of one machine, and one container on it.

    Host names do not tell: containers on the network of their host share its name, and machines are named alike.
    """
    try:
        boot = _PROC.joinpath("sys/kernel/random/boot_id").read_text().strip()
        return f"{boot}.{_PROC.joinpath('self/ns/pid').readlink()}".replace(":", "").replace("-", "")
    except OSError:
        return socket.gethostname()


def is_dead(owner: str) -> bool:
    """Only a process of this place can be known to have ended."""
    _, place, pid, started = (*owner.split(":"), "", "", "", "")[:4]
    if place != _place() or not pid.isdecimal():
        return False
    return _started(int(pid)) != started


def _started(pid: int) -> str:
    """When a process started, in the clock of the machine; empty when there is no such process."""
    if _PROC.joinpath("self").exists():
        try:
            fields = _PROC.joinpath(str(pid), "stat").read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            return ""
        # A zombie has ended; field 20 after the name is the start time.
        return "" if fields[0] == "Z" else fields[19]
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return ""
    except PermissionError:
        pass  # it lives, under another account
    return "alive"
