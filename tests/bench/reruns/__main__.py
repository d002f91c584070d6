"""What recording costs per call, how quickly an agent runs again, and what is stored, beside timefork and tracefork.

`python -m tests.bench.reruns [--calls N] [--blocks N]`. The peers are installed into `.make/peers`; tracefork needs
Python 3.12. In every block each tool starts with an empty home, alone, and records the same agent against the same
model server, then runs it again without a call of that server; the order rotates from block to block.
"""

import argparse
import os
import statistics
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx2
from rich.console import Console
from rich.table import Table

from tests.bench.reruns.tools import TOOLS, Tool, call_directly
from tests.services.processes import CannotStart, scratch_folder


@dataclass(frozen=True, kw_only=True, slots=True)
class Measurement:
    """One tool in one block. `overhead_ms` is what recording adds to the median call."""

    overhead_ms: float
    steps_per_s: float
    stored_bytes: int
    upstream_calls: int


def main(calls: int, blocks: int) -> None:
    scratch = scratch_folder("fp-reruns-")
    results: dict[str, list[Measurement]] = defaultdict(list)
    with model_server() as upstream:
        for block in range(blocks):
            rotation = block % len(TOOLS)
            for tool in (*TOOLS[rotation:], *TOOLS[:rotation]):
                try:
                    measurement = _measure(tool, scratch / f"{tool.name}-{block}", upstream, calls)
                except CannotStart as error:
                    print(error, file=sys.stderr)
                else:
                    results[tool.name].append(measurement)
    _show(results, calls)


def _measure(tool: type[Tool], home: Path, upstream: str, calls: int) -> Measurement:
    direct = statistics.median(call_directly(upstream, calls))
    subject = tool(home, upstream)
    recording = subject.record(calls)
    before = calls_of(upstream)
    replay = subject.replay(calls)
    return Measurement(
        overhead_ms=statistics.median(recording) - direct,
        steps_per_s=1000 * calls / sum(replay),
        stored_bytes=subject.stored_bytes(),
        upstream_calls=calls_of(upstream) - before,
    )


def _show(results: dict[str, list[Measurement]], calls: int) -> None:
    title = (
        f"{calls} calls whose requests repeat the conversation, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"
    )
    table = Table("tool", "recording adds", "run again", "stored", "upstream calls of the rerun", title=title)
    for name, items in results.items():
        table.add_row(
            name,
            f"{statistics.median(item.overhead_ms for item in items):.2f} ms a call",
            f"{statistics.median(item.steps_per_s for item in items):,.0f} steps/s",
            f"{statistics.median(item.stored_bytes for item in items) / 1000:,.0f} kB",
            str(max(item.upstream_calls for item in items)),
        )
    Console(width=110).print(table)


def calls_of(upstream: str) -> int:
    return int(httpx2.get(f"{upstream}/calls", trust_env=False).json())


@contextmanager
def model_server() -> Iterator[str]:
    with subprocess.Popen(
        [sys.executable, "-m", "tests.bench.reruns.model"], stdout=subprocess.PIPE, text=True
    ) as models:
        assert models.stdout is not None
        try:
            yield models.stdout.readline().strip()
        finally:
            models.terminate()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench.reruns", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--calls", type=int, default=200, help="calls of the agent")
    parser.add_argument("--blocks", type=int, default=3, help="repetitions of the whole comparison")
    arguments = parser.parse_args()
    main(arguments.calls, arguments.blocks)
