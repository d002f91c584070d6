"""Which worker process works on a session, and whether it still lives."""

import os
import socket
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Final
from uuid import UUID, uuid4

from replay.models import ReplaySession

BEAT_S: Final = 2.0
# Several missed beats: a busy machine is not a dead one.
STALE: Final = timedelta(seconds=15)


@cache
def _process(pid: int) -> str:
    """This process, told apart from an earlier one with the same number by when it started."""
    return f"{socket.gethostname()}:{pid}:{_started(pid)}"


def new_owner() -> str:
    """A name for one claim by this process."""
    return f"{_process(os.getpid())}:{uuid4().hex[:12]}"


def claim(session_id: UUID, owner: str) -> bool:
    """Take a pending session; false when somebody else has it, or it has ended."""
    now = datetime.now(UTC)
    claimed = ReplaySession.objects.filter(id=session_id, status="pending").update(
        status="running", owner=owner, heartbeat_at=now
    )
    if claimed:
        ReplaySession.objects.filter(id=session_id, started_at__isnull=True).update(started_at=now)
    return bool(claimed)


def beat(session_id: UUID, owner: str) -> bool:
    """Say that the owner lives; false when it is the owner no more."""
    mine = ReplaySession.objects.filter(id=session_id, owner=owner, status="running")
    return bool(mine.update(heartbeat_at=datetime.now(UTC)))


def abandoned() -> list[UUID]:
    """Running sessions whose worker is gone: its process has ended, or it has been silent for long."""
    rows = ReplaySession.objects.filter(status="running").values_list("id", "owner", "heartbeat_at")
    limit = datetime.now(UTC) - STALE
    return [id for id, owner, beat_at in rows if beat_at is None or beat_at < limit or _is_dead(owner)]


def release(session_id: UUID) -> None:
    """Make an abandoned session pending again; what its old owner still tries to write is refused."""
    ReplaySession.objects.filter(id=session_id, status="running").update(status="pending", owner="")


def _is_dead(owner: str) -> bool:
    """Only a process of this machine can be known to have ended."""
    host, _, rest = owner.partition(":")
    pid, _, started = rest.partition(":")
    if host != socket.gethostname() or not pid.isdecimal():
        return False
    return _started(int(pid)) != started.partition(":")[0]


def _started(pid: int) -> str:
    """When a process started, in the clock of the machine; empty when there is no such process."""
    stat = Path(f"/proc/{pid}/stat")
    if stat.parent.parent.joinpath("self").exists():
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except FileNotFoundError:
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
