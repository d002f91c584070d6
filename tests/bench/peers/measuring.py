"""Measure one server after the other: from the first request until every span can be queried."""

import os
import shutil
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import httpx2

from tests.bench.ingest.floor import floor
from tests.bench.peers.process_tree import PeakMemory, cpu_s, demand_s
from tests.bench.peers.results import FLOOR, Block, Measurement
from tests.bench.peers.servers import Forkpoint, Peer, TraceServer
from tests.bench.peers.traffic import ExportRequest, bodies, send
from tests.services.processes import CannotStart
from tests.support.patience import patience_s

_POLL_S: Final = 0.2
# A server whose count of spans has not changed for so long will not store the rest.
_STALLED_S: Final = 120
_IDLE_LIMIT_S: Final = 60
_IDLE_CORES: Final = 0.2
_MB: Final = 1_000_000


def measure_blocks(
    scratch: Path, batch: Sequence[ExportRequest], peers: Sequence[type[Peer]], count: int
) -> list[Block]:
    """Measure all servers and the floor `count` times, each time in another order."""
    blocks: list[Block] = []
    for number in range(count):
        subjects: list[type[TraceServer] | None] = [Forkpoint, *peers, None]
        rotation = number % len(subjects)
        block: dict[str, Measurement] = {}
        for subject in subjects[rotation:] + subjects[:rotation]:
            try:
                measured = measure_floor(scratch, batch) if subject is None else measure(subject, scratch, batch)
            except CannotStart as error:
                print(error, file=sys.stderr)
                continue
            block[measured.name] = measured
            _print_progress(number, measured)
        blocks.append(block)
    return blocks


def measure(subject: type[TraceServer], scratch: Path, batch: Sequence[ExportRequest]) -> Measurement:
    """Start a server, send everything, and wait until it can be queried and the server is idle."""
    home = scratch / subject.name
    shutil.rmtree(home, ignore_errors=True)
    load = os.getloadavg()[0]
    with subject(home) as server:
        _wait_until_idle(server.pid)
        cpu_start, start = cpu_s(server.pid), time.perf_counter()
        with PeakMemory(server.pid) as peak:
            traffic = send(f"{server.url}/v1/traces", server.headers, batch)
            ack_end = time.perf_counter()
            spans, end = _wait_for_spans(server, traffic.acknowledged)
            _wait_until_idle(server.pid)
            cpu_end = cpu_s(server.pid)
    for error in traffic.errors[:3]:
        print(f"{subject.name}: {error}", file=sys.stderr)
    measurement = Measurement(
        name=subject.name,
        spans=spans,
        seconds=end - start,
        cpu_s=cpu_end - cpu_start,
        input_mb=sum(request.size for request in batch) / _MB,
        stored_mb=_stored_mb(home),
        ack_s=ack_end - start,
        ack_ms=tuple(traffic.latencies_ms),
        peak_mb=peak.mb,
        lost=sum(request.spans for request in batch) - spans,
        postponed=traffic.postponed,
        load=load,
    )
    shutil.rmtree(home)
    return measurement


def measure_floor(scratch: Path, batch: Sequence[ExportRequest]) -> Measurement:
    """Decode every attribute and insert one row per span, without HTTP, in this process."""
    home = scratch / "floor"
    home.mkdir()
    load, start = os.getloadavg()[0], time.perf_counter()
    seconds_of_cpu = floor(bodies(batch), home / "floor.sqlite3")
    measurement = Measurement(
        name=FLOOR,
        spans=sum(request.spans for request in batch),
        seconds=time.perf_counter() - start,
        cpu_s=seconds_of_cpu,
        input_mb=sum(request.size for request in batch) / _MB,
        stored_mb=_stored_mb(home),
        load=load,
    )
    shutil.rmtree(home)
    return measurement


def _wait_for_spans(server: TraceServer, acknowledged: int) -> tuple[int, float]:
    """Return the number of spans that can be queried, and when the last of them could."""
    spans, changed_at = 0, time.perf_counter()
    while True:
        asked_at = time.perf_counter()
        try:
            count = server.count_spans()
        except httpx2.HTTPError:
            # Too busy to answer; what it has answered before still holds.
            count = spans
        now = time.perf_counter()
        if count != spans:
            spans, changed_at = count, now
        if spans >= acknowledged or now - changed_at > patience_s(_STALLED_S):
            return spans, changed_at
        # Questions take at most half of the time; after a longer pause, the answer would come late.
        time.sleep(max(_POLL_S, now - asked_at))


def _wait_until_idle(pid: int) -> None:
    """Wait until a server has finished what it does after its start or after the last span."""
    deadline = time.monotonic() + _IDLE_LIMIT_S
    demand, end = 0.0, time.monotonic()
    while time.monotonic() < deadline:
        before, start = demand, end
        demand, end = demand_s(pid), time.monotonic()
        if demand - before < _IDLE_CORES * (end - start):
            return
        time.sleep(1)


def _stored_mb(home: Path) -> float:
    return sum(file.stat().st_size for file in home.rglob("*") if file.is_file()) / _MB


def _print_progress(number: int, measured: Measurement) -> None:
    print(
        f"block {number + 1}: {measured.name}: {measured.spans:,} spans in {measured.seconds:.1f} s "
        f"(acknowledged after {measured.ack_s:.1f} s), "
        f"{measured.cpu_us:,.0f} µs of CPU per span, load {measured.load:.1f}",
        file=sys.stderr,
        flush=True,
    )
