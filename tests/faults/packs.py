"""Damage the packs of a stopped server, or take away its disk, and check that only what was hit is lost."""

import json
import os
import random
import resource
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from uuid import UUID

import httpx2

from tests.services.server import Server
from tests.services.warm_start import FORKPOINT
from tests.support.arriving_spans import ROOT, TOOL, request, span
from tests.support.patience import patience_s, wait_until

# Damages of a pack in the database, and of one in a file.
PACK_DAMAGES: Final = ("truncated", "flipped", "missing")
FILE_DAMAGES: Final = ("half written", "flipped", "missing")
# Hexadecimal digits: half of their bytes remain when they are encoded, which is more than a row may have.
_LARGE: Final = 300_000
_LOST: Final = "$unavailable"
_RETRY: Final = (429, 503)


@dataclass(frozen=True, kw_only=True, slots=True)
class Damage:
    """One damaged pack: what was done to it, its owner, and the artifacts in it with the runs that use them."""

    kind: str
    run: str
    users: dict[str, set[str]]

    def explains(self, lost: dict[str, set[str]]) -> bool:
        """Return whether exactly this pack is lost; a flipped bit may leave some of its artifacts whole."""
        own_losses = {digest: lost[digest] for digest in self.users if digest in lost}
        is_whole = own_losses.keys() == self.users.keys() or (self.kind == "flipped" and bool(own_losses))
        return is_whole and all(self.users[digest] == runs for digest, runs in own_losses.items())


def trace_of(number: int) -> tuple[str, bytes]:
    """Return the id of a trace, and its spans as a request; no other trace has any of its texts."""
    chance = random.Random(number)  # noqa: S311 - reproducible
    trace = chance.randbytes(16).hex()
    large = chance.randbytes(_LARGE // 2).hex()
    tool = span(
        TOOL,
        f"read {trace}",
        parent=ROOT,
        trace=trace,
        second=2,
        openinference__span__kind="TOOL",
        tool__name=f"read_{trace}",
        input__value=f'{{"file": "{trace}"}}',
        output__value=large,
        note=trace,
    )
    start = span(
        ROOT, f"handle {trace}", trace=trace, openinference__span__kind="AGENT", input__value=trace, note=trace
    )
    return trace, request(tool, start)


def send_all(server: Server, bodies: Sequence[bytes]) -> None:
    """Send requests until they are acknowledged."""
    for body in bodies:
        while not _post(server, body):
            time.sleep(0.2)


def sealed_runs(server: Server, count: int) -> dict[str, str]:
    """Return the ids of runs by trace, once this many are sealed."""
    runs: list[dict[str, Any]] = []

    def are_sealed() -> bool:
        runs[:] = httpx2.get(f"{server.url}/api/v1/runs", params={"limit": 200}, timeout=30).json()["runs"]
        return len([run for run in runs if run["sealed"]]) == count

    wait_until(are_sealed, 60)
    return {run["external_id"]: run["id"] for run in runs}


def damage(home: Path, runs: Sequence[str]) -> list[Damage]:
    """Damage one pack of each run in a different way; the server does not run."""
    kinds = [(kind, True) for kind in PACK_DAMAGES] + [(kind, False) for kind in FILE_DAMAGES]
    with closing(sqlite3.connect(home / "forkpoint.sqlite3", isolation_level=None)) as database:
        # As the disk would: the triggers reject any change of a pack.
        triggers = database.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for name, _ in triggers:
            database.execute(f'DROP TRIGGER "{name}"')
        damages = [
            _damage(database, home, run, kind, is_inline=is_inline)
            for run, (kind, is_inline) in zip(runs, kinds, strict=True)
        ]
        for _, statement in triggers:
            database.execute(statement)
    return damages


def lost_artifacts(home: Path) -> dict[str, set[str]]:
    """Return what `forkpoint check --artifacts` reports as lost, with the runs that use it."""
    command = [sys.executable, "-c", FORKPOINT, "check", "--artifacts", "--json"]
    env = {**os.environ, "FORKPOINT_HOME": str(home)}
    report = json.loads(subprocess.run(command, env=env, capture_output=True, check=False).stdout)
    return {loss["sha256"]: set(loss["runs"]) for loss in report["artifacts"]["lost"]}


def restore(home: Path, bodies: Sequence[bytes]) -> None:
    """Import the same traces from files, as a user restores them."""
    folder = home.with_name("traces")
    folder.mkdir()
    for number, body in enumerate(bodies):
        (folder / f"{number}.json").write_bytes(body)
    command = [sys.executable, "-c", FORKPOINT, "import", str(folder)]
    subprocess.run(command, env={**os.environ, "FORKPOINT_HOME": str(home)}, capture_output=True, check=True)


def unreadable_steps(server: Server, run: str) -> dict[int, bool]:
    """Return by step of a run whether any part of it is unavailable."""
    steps = httpx2.get(f"{server.url}/api/v1/runs/{run}/full-steps", timeout=30).json()["steps"]
    return {step["sequence_no"]: _LOST in json.dumps(step) or bool(step.get("unavailable")) for step in steps}


def kill_while_packing(server: Server, *, kills: int) -> list[str]:
    """Kill a running server at random moments after it acknowledged traces, which it packs then; return the traces."""
    chance = random.Random(5)  # noqa: S311 - reproducible moments
    traces = dict(trace_of(number) for number in range(2 * kills))
    bodies = list(traces.values())
    for number in range(kills):
        send_all(server, bodies[2 * number : 2 * number + 2])
        # Their segments are assembled after a quarter of a second, and sealed after half of one.
        time.sleep(chance.uniform(0.2, 0.9))
        server.kill()
        server.start()
    return list(traces)


def fill_disk(server: Server, bodies: Sequence[bytes], seconds: float) -> list[int]:
    """Let all writes of a running server fail for a while; return the statuses of requests meanwhile."""
    soft, hard = resource.prlimit(server.pid, resource.RLIMIT_FSIZE)
    # The kernel then rejects any write to a file, as on a full disk.
    resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (0, hard))
    try:
        end = time.monotonic() + seconds
        return [_status(server, body) for body in _while_before(bodies, end)]
    finally:
        resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (soft, hard))


def are_refused_properly(statuses: Sequence[int]) -> bool:
    """Return whether clients were asked to send again, and nothing was acknowledged that could not be stored."""
    return bool(statuses) and set(statuses) <= set(_RETRY)


def _while_before(bodies: Sequence[bytes], end: float) -> Iterator[bytes]:
    for body in bodies:
        if time.monotonic() < end:
            yield body


def _post(server: Server, body: bytes) -> bool:
    return _status(server, body) == 200


def _status(server: Server, body: bytes) -> int:
    headers = {"Content-Type": "application/json"}
    try:
        return httpx2.post(f"{server.url}/v1/traces", content=body, headers=headers, timeout=patience_s(10)).status_code
    except httpx2.TransportError:
        return 0


def _damage(database: sqlite3.Connection, home: Path, run: str, kind: str, *, is_inline: bool) -> Damage:
    owner = bytes.fromhex(run.replace("-", ""))
    condition = "data IS NOT NULL" if is_inline else "data IS NULL"
    pack_id, data = database.execute(
        f"SELECT id, data FROM traces_pack WHERE owner = ? AND {condition} ORDER BY id LIMIT 1", [owner]
    ).fetchone()
    digests = [
        row[0].hex() for row in database.execute("SELECT sha256 FROM traces_artifact WHERE pack_id = ?", [pack_id])
    ]
    if not is_inline:
        (file,) = (home / "artifacts").rglob(f"{digests[0]}*")
        if kind == "missing":
            file.unlink()
        else:
            file.write_bytes(_damaged(file.read_bytes(), kind))
    elif kind == "missing":
        database.execute("DELETE FROM traces_pack WHERE id = ?", [pack_id])
    else:
        database.execute("UPDATE traces_pack SET data = ? WHERE id = ?", [_damaged(data, kind), pack_id])
    users = {digest: {run} for digest in digests}
    for digest in digests:
        rows = database.execute("SELECT run_id FROM traces_artifactuse WHERE sha256 = ?", [bytes.fromhex(digest)])
        users[digest].update(str(UUID(run_id)) for (run_id,) in rows)
    return Damage(kind=kind, run=run, users=users)


def _damaged(data: bytes, kind: str) -> bytes:
    middle = len(data) // 2
    return data[:middle] if kind != "flipped" else data[:middle] + bytes([data[middle] ^ 0x40]) + data[middle + 1 :]
