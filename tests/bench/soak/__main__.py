"""`python -m tests.bench.soak --minutes 60`: exits with 1 if the server grew, slowed down or failed a request."""

import argparse
import os
import sys
import time
from pathlib import Path

from rich.console import Console
from rich.table import Table

from tests.bench.soak.load import Load
from tests.bench.soak.verdict import Finding, Sample, judge, warm_up_of
from tests.services.processes import scratch_folder
from tests.services.server import Server

SAMPLE_EVERY_S = 5.0
_PAGE_MB = os.sysconf("SC_PAGE_SIZE") / 1_000_000


def main(minutes: float) -> int:
    server = Server(scratch_folder("fp-soak-") / "home", "--no-demo")
    server.start()
    try:
        load = Load(server.url)
        samples = _samples(load, server.pid, 60 * minutes)
    finally:
        server.stop()
    warm_up_s = warm_up_of(60 * minutes)
    findings = judge(samples, warm_up_s)
    _show(findings, load, minutes, warm_up_s)
    return 0 if all(finding.is_within_limit for finding in findings) and not load.problems else 1


def _samples(load: Load, pid: int, seconds: float) -> list[Sample]:
    samples: list[Sample] = []
    load.start()
    start = time.monotonic()
    try:
        while (elapsed_s := time.monotonic() - start) < seconds:
            sample = _sample(load, pid, elapsed_s)
            samples.append(sample)
            if len(samples) % 6 == 0:
                print(
                    f"{elapsed_s:6.0f} s  {sample.memory_mb:7.1f} MB  {sample.descriptors:5} descriptors",
                    file=sys.stderr,
                )
            time.sleep(SAMPLE_EVERY_S)
    finally:
        load.stop()
    return samples


def _sample(load: Load, pid: int, at_s: float) -> Sample:
    """Read memory and open files of the server from `/proc`."""
    process = Path("/proc") / str(pid)
    resident = int((process / "statm").read_text().split()[1])
    return Sample(
        at_s=at_s,
        memory_mb=resident * _PAGE_MB,
        descriptors=len(list((process / "fd").iterdir())),
        latencies_ms=load.take_latencies(),
    )


def _show(findings: list[Finding], load: Load, minutes: float, warm_up_s: float) -> None:
    title = f"{minutes:g} minutes, of which {warm_up_s / 60:.1f} warm-up"
    table = Table("measure", "start", "end", "at most", "verdict", title=title)
    for finding in findings:
        figures = (f"{value:,.1f}" for value in (finding.start, finding.end, finding.limit))
        table.add_row(finding.measure, *figures, "[green]flat[/]" if finding.is_within_limit else "[bold red]grew[/]")
    console = Console(width=110)
    console.print(table)
    for name, count in sorted(load.completed_actions.items()):
        console.print(f"{name}: {count:,}")
    for problem, count in load.problems.most_common(20):
        console.print(f"[red]{count:,} times[/] {problem}", highlight=False)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tests.bench.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=60.0)
    sys.exit(main(parser.parse_args().minutes))
