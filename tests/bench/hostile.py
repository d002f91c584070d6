"""Hostile uploads against a real server: `python -m tests.bench.hostile [part of a name]`.

Each file is under 2 MB. The bar: at most 512 MB of additional memory and 20 s, while 95 % of other requests are
answered within a second.
"""

import os
import statistics
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import httpx2
from rich.console import Console
from rich.table import Table

from tests.bench.hostile_files import FILES
from tests.services.processes import scratch_folder
from tests.services.server import Server

MOST_MB: Final = 512
MOST_S: Final = 20
MOST_P95_S: Final = 1
_PAUSE_S: Final = 0.05
_PROC: Final = Path("/proc")


@dataclass(kw_only=True)
class Samples:
    """Samples taken in threads during an upload."""

    memory: list[int] = field(default_factory=list)
    answers: list[float] = field(default_factory=list)
    stop_event: threading.Event = field(default_factory=threading.Event)

    @property
    def p95(self) -> float:
        return statistics.quantiles(self.answers, n=20)[-1] if len(self.answers) > 1 else 0.0


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """Cost and response of an upload."""

    size: int
    memory: int
    seconds: float
    processor_s: float
    p95: float
    answer: str

    @property
    def passes(self) -> bool:
        return self.memory <= MOST_MB and self.seconds <= MOST_S and self.p95 <= MOST_P95_S


def main(name_part: str) -> int:
    folder = scratch_folder("fp-hostile-")
    outcomes = {name: measure(folder, name, make()) for name, make in FILES.items() if name_part in name}
    Console(width=150).print(table(outcomes))
    return int(not all(outcome.passes for outcome in outcomes.values()))


def measure(folder: Path, name: str, data: bytes) -> Outcome:
    """Upload a file to a new server."""
    server = Server(folder / f"home-{len(list(folder.iterdir()))}")
    server.start()
    try:
        httpx2.get(f"{server.url}/api/v1/runs")
        before = memory_mb(server.pid)
        start_processor_s = processor_s(server.pid)
        samples = Samples()
        start = time.monotonic()
        with sample_server(samples, server):
            answer = upload(server.url, data)
        seconds = time.monotonic() - start
        outcome = Outcome(
            processor_s=processor_s(server.pid) - start_processor_s,
            size=len(data),
            memory=max(samples.memory, default=0) - before,
            seconds=seconds,
            p95=samples.p95,
            answer=answer,
        )
    finally:
        server.kill()
    print(f"{name}: {outcome}", file=sys.stderr)
    return outcome


def upload(url: str, data: bytes) -> str:
    """Upload a file and summarise the response."""
    report = httpx2.post(f"{url}/api/v1/runs/import", files={"file": ("upload", data)}, timeout=300).json()
    if "runs" not in report:
        return str(report.get("detail"))[:80]
    reason = f", {report['skipped'][-1]['reason']}" if report["skipped"] else ""
    return f"{len(report['runs'])} runs, {len(report['skipped'])} notes{reason}"[:110]


@contextmanager
def sample_server(samples: Samples, server: Server) -> Iterator[None]:
    samplers = [
        threading.Thread(target=repeat, args=(samples, lambda: samples.memory.append(memory_mb(server.pid)))),
        threading.Thread(target=repeat, args=(samples, lambda: samples.answers.append(response_s(server.url)))),
    ]
    for sampler in samplers:
        sampler.start()
    try:
        yield
    finally:
        samples.stop_event.set()
        for sampler in samplers:
            sampler.join()


def repeat(samples: Samples, sample: Callable[[], None]) -> None:
    while not samples.stop_event.wait(_PAUSE_S):
        sample()


def response_s(url: str) -> float:
    start = time.monotonic()
    httpx2.get(f"{url}/api/v1/runs", timeout=60).raise_for_status()
    return time.monotonic() - start


def memory_mb(pid: int) -> int:
    """Return the memory of a process and its children in MB."""
    total = resident(pid)
    for task in (_PROC / str(pid) / "task").iterdir():
        try:
            children = (task / "children").read_text().split()
        # The thread has ended.
        except OSError:
            continue
        total += sum(memory_mb(int(child)) for child in children if (_PROC / child).exists())
    return total


def resident(pid: int) -> int:
    try:
        lines = (_PROC / str(pid) / "status").read_text().splitlines()
    # The process has ended.
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 // 10**6 for line in lines if line.startswith("VmRSS:")), 0)


def processor_s(pid: int) -> float:
    """Return the processor seconds of a process and its finished children."""
    fields = (_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    return sum(int(ticks) for ticks in fields[11:15]) / os.sysconf("SC_CLK_TCK")


def table(outcomes: dict[str, Outcome]) -> Table:
    rows = Table(
        "file",
        "bytes",
        "MB",
        "s",
        "processor, s",
        "p95 of reads, s",
        "verdict",
        "answer",
        title="Hostile files",
    )
    for name, outcome in outcomes.items():
        verdict = "passes" if outcome.passes else "[bold red]misses[/]"
        rows.add_row(
            name,
            f"{outcome.size:,}",
            f"{outcome.memory}",
            f"{outcome.seconds:.1f}",
            f"{outcome.processor_s:.1f}",
            f"{outcome.p95:.2f}",
            verdict,
            outcome.answer,
        )
    return rows


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else ""))
