"""Print the comparison as tables."""

import os
from collections.abc import Callable, Sequence
from importlib.metadata import version
from statistics import median
from typing import Final

from rich.console import Console
from rich.table import Table

from tests.bench.ingest.workloads import Workload
from tests.bench.peers.results import FLOOR, FORKPOINT, Bar, Block, Measurement, bars, cpu_ratios
from tests.bench.peers.servers import PEERS
from tests.bench.peers.traffic import CLIENTS, ExportRequest

_LEGEND: Final = """\
acked s, queryable s: from the first request until the last span was acknowledged, and could be queried
CPU µs: of all processes of the server, per span. p50, p99: of the time until a request was acknowledged
stored: of the size of the requests. lost: spans that were refused or are missing. load: of the machine, at the start"""


def show(name: str, load: Workload, batch: Sequence[ExportRequest], blocks: Sequence[Block]) -> None:
    """Print the figures of each server, then the ratios and bars."""
    size, spans = sum(request.size for request in batch) / 1e6, sum(request.spans for request in batch)
    console = Console(width=150)
    console.print(
        f"{name}: {load.runs:,} runs, {spans:,} spans, {size:,.0f} MB in {len(batch)} requests of {CLIENTS} clients; "
        f"{os.cpu_count()} cores; medians of n = {len(blocks)}"
    )
    console.print(_figures(blocks))
    console.print(_LEGEND)
    console.print(_bars(name, blocks))
    for text, values in cpu_ratios(blocks).items():
        if values:
            console.print(f"{text}: {_spread(values)}")


def _figures(blocks: Sequence[Block]) -> Table:
    table = Table(
        "server",
        "spans/s",
        "acked s",
        "queryable s",
        "CPU µs",
        "p50 ms",
        "p99 ms",
        "peak MB",
        "stored",
        "lost",
        "load",
    )
    for name in dict.fromkeys(name for block in blocks for name in block):
        table.add_row(_label(name), *_row(name, blocks))
    return table


def _row(name: str, blocks: Sequence[Block]) -> tuple[str, ...]:
    def figure(measure: Callable[[Measurement], float]) -> float:
        return median(measure(block[name]) for block in blocks if name in block)

    stored, load = figure(lambda one: one.stored_share), figure(lambda one: one.load)
    speeds = tuple(block[name].spans_per_s for block in blocks if name in block)
    seconds, cpu_us = figure(lambda one: one.seconds), figure(lambda one: one.cpu_us)
    # The floor has no server.
    if name == FLOOR:
        served: tuple[str, ...] = ("", f"{seconds:,.1f}", f"{cpu_us:,.0f}", "", "", "")
    else:
        served = (
            f"{figure(lambda one: one.ack_s):,.1f}",
            f"{seconds:,.1f}",
            f"{cpu_us:,.0f}",
            f"{figure(lambda one: one.ack_p50_ms):,.0f}",
            f"{figure(lambda one: one.ack_p99_ms):,.0f}",
            f"{figure(lambda one: one.peak_mb):,.0f}",
        )
    return (_spread(speeds), *served, f"{stored:.1%}", f"{figure(lambda one: one.lost):,.0f}", f"{load:.1f}")


def _bars(name: str, blocks: Sequence[Block]) -> Table:
    table = Table("Forkpoint", "measured", "bar", "verdict")
    for bar in bars(name, blocks):
        sign = "≤" if bar.is_maximum else "≥"
        table.add_row(bar.text, _spread(bar.values), f"{sign} {bar.limit:,g}", _verdict(bar))
    return table


def _verdict(bar: Bar) -> str:
    if bar.is_met is None:
        return "not measured"
    return "[green]reached[/]" if bar.is_met else "[bold red]missed[/]"


def _spread(values: tuple[float, ...]) -> str:
    """Return the median, with the extremes if there are several values."""
    if not values:
        return ""
    digits = ",.3g" if min(values) < 100 else ",.0f"
    if len(values) == 1:
        return f"{values[0]:{digits}}"
    return f"{median(values):{digits}} ({min(values):{digits}} to {max(values):{digits}})"


def _label(name: str) -> str:
    if name == FORKPOINT:
        return f"{name} {version('forkpoint')}"
    return next((peer.requirement.replace("==", " ") for peer in PEERS if peer.name == name), name)
