"""Session leases: which worker process owns a session, and whether it is still alive.

A heartbeat's time is never compared with a clock. An observer measures, on its own clock, how long a heartbeat has not
changed. So clock skew or a database outage does not make a live worker look dead.
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
    """A session and its owner."""

    session_id: UUID
    owner: str


def beat_s() -> float:
    """Seconds between two heartbeats: several fit into the takeover time."""
    return min(2.0, float(settings.TAKEOVER_S) / 5)


def new_owner() -> str:
    """Create a unique owner name for one claim by this process."""
    return f"{_process(os.getpid())}:{uuid4().hex[:12]}"


def claim(session_id: UUID, owner: str) -> bool:
    """Claim a pending session; False if it is not pending."""
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
    """Write a heartbeat; False if the session has another owner or has ended."""
    return bool(_owned_session(Claim(session_id=session_id, owner=owner)).update(heartbeat_at=Now()))


def release(abandoned_claim: Claim) -> bool:
    """Make an abandoned session pending again; False if it has another owner by now.

    Later writes of the old owner are rejected.
    """
    return _hand_back(abandoned_claim, lost_workers=F("lost_workers") + 1)


def give_back(session_id: UUID, owner: str) -> bool:
    """Return a session to the queue; False if it has another owner already."""
    return _hand_back(Claim(session_id=session_id, owner=owner), current="")


class Observer:
    """Polls the heartbeats of all running sessions."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._beats: dict[Claim, tuple[datetime, float]] = {}

    def find_abandoned(self) -> list[Claim]:
        """Return sessions whose process has ended, or whose heartbeat has not changed for the takeover time."""
        now, abandoned_claims, beats = self._clock(), [], {}
        for lease, beat_at in _running():
            last = self._beats.get(lease)
            changed_at = last[1] if last is not None and last[0] == beat_at else now
            if beat_at is None or now - changed_at > settings.TAKEOVER_S or is_dead(lease.owner):
                abandoned_claims.append(lease)
            else:
                beats[lease] = (beat_at, changed_at)
        self._beats = beats
        return abandoned_claims

    def forget(self) -> None:
        """Restart all measurements: what stopped this observer may have stopped the heartbeats, too."""
        self._beats = {}


def _hand_back(lease: Claim, **columns: object) -> bool:
    return bool(move(_owned_session(lease), SessionStatus.RUNNING, SessionStatus.PENDING, owner="", **columns))


def _owned_session(lease: Claim) -> QuerySet[ReplaySession]:
    return ReplaySession.objects.filter(id=lease.session_id, owner=lease.owner, status=SessionStatus.RUNNING)


def _running() -> Iterable[tuple[Claim, datetime | None]]:
    rows = ReplaySession.objects.filter(status=SessionStatus.RUNNING).values_list("id", "owner", "heartbeat_at")
    return [(Claim(session_id=id, owner=owner), beat_at) for id, owner, beat_at in rows]


@cache
def _process(pid: int) -> str:
    """Name of this process; its start time distinguishes it from an earlier process with the same number."""
    return f"{socket.gethostname()[:60]}:{_pid_space()}:{pid}:{_start_time(pid)}"


@cache
def _pid_space() -> str:
    """Name of the process number space: one boot of one machine, and one container on it.

    Host names are not unique: containers on the host network share its name, and machines can have equal names.
    """
    try:
        boot = _PROC.joinpath("sys/kernel/random/boot_id").read_text().strip()
        return f"{boot}.{_PROC.joinpath('self/ns/pid').readlink()}".replace(":", "").replace("-", "")
    except OSError:
        return socket.gethostname()


def is_dead(owner: str) -> bool:
    """True if the owner's process has ended; always False for processes of another machine or container."""
    _, pid_space, pid, start_time = (*owner.split(":"), "", "", "", "")[:4]
    if pid_space != _pid_space() or not pid.isdecimal():
        return False
    return _start_time(int(pid)) != start_time


def _start_time(pid: int) -> str:
    """Start time of a process in clock ticks since boot; empty if there is no such process."""
    if _PROC.joinpath("self").exists():
        try:
            fields = _PROC.joinpath(str(pid), "stat").read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            return ""
        # A zombie has ended. Field 20 after the name is the start time.
        return "" if fields[0] == "Z" else fields[19]
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return ""
    except PermissionError:
        # Alive, under another account.
        pass
    return "alive"
