"""Which pages of the runs list read many rows: every filter alone and every pair, in every order, on two pages."""

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from itertools import combinations, product
from pathlib import Path
from typing import Any, Final

from django.db import connection
from rich.console import Console
from rich.progress import track
from rich.table import Table

from tests.support.query_plans import rows_read
from traces.models import Run
from traces.run_lists import run_list
from traces.run_lists.run_filter import parse_filter
from traces.run_lists.sort_orders import Sort

_MOST: Final = 30
_LIMITS: Final = (5, 10, 15, 30)
Parameters = dict[str, str]


@dataclass(frozen=True, kw_only=True, slots=True)
class Effort:
    """CPU time of a page in milliseconds, here and in the database server, and the rows that the database read."""

    parameters: Parameters
    milliseconds: float
    rows: int


def measure_combinations(every: int) -> None:
    """Print the pages that take longest; measure each `every`th pair of filters."""
    requests = list(_requests(every))
    efforts = sorted(map(_effort, track(requests)), key=lambda effort: -effort.milliseconds)
    table = Table("page", "CPU ms", "rows read", title=f"{connection.vendor}: {len(efforts)} pages of the runs list")
    for effort in efforts[:_MOST]:
        words = " ".join(f"{name}={value}" for name, value in effort.parameters.items())
        table.add_row(words, f"{effort.milliseconds:.1f}", f"{effort.rows:,}")
    Console(width=150).print(table)
    for limit in _LIMITS:
        print(f"more than {limit} ms: {sum(effort.milliseconds > limit for effort in efforts)}")


def _requests(every: int) -> Iterator[Parameters]:
    values = _values()
    singles = [{name: value} for name, choices in values.items() for value in choices]
    pairs = [
        {first: value, second: other}
        for first, second in combinations(values, 2)
        for value, other in product(values[first], values[second])
    ]
    for parameters in [{}, *singles, *pairs[::every]]:
        for sort in Sort:
            first_page = {**parameters, "sort": sort.value}
            yield first_page
            if cursor := run_list.page(parse_filter(first_page)).next:
                yield {**first_page, "cursor": cursor}


def _values() -> Mapping[str, tuple[str, ...]]:
    """Return values of each filter: frequent ones, rare ones, and one without matches."""
    times = Run.objects.order_by("id").values_list("created_at", flat=True)
    count = times.count()
    first, middle, last = times[0], times[count // 2], times[count - 100]
    return {
        "app": ("support-desk", "inventory", "support-desk,refund-agent", "none"),
        "environment": ("production", "dev", "none"),
        "status": ("completed", "failed", "partial", "running"),
        "source": ("live", "replay", "bundle", "probe"),
        "tag": ("team-3", "team-3,tier-1", "none"),
        "label": ("live", "exact", "cached,simulated"),
        "since": (middle.isoformat(), last.isoformat()),
        "until": (middle.isoformat(), (first + timedelta(days=1)).isoformat()),
        "min_cost": ("0", "0.05", "5"),
        "max_cost": ("0.0001", "0.01", "5"),
        "judgement": ("quality", "none"),
        "judgement_kind": ("score", "fail"),
        "min_score": ("0", "0.5", "0.995"),
        "outcome": ("passed", "failed", "unknown", "unverified", "failed,unknown"),
        "forks": ("nested",),
    }


def _effort(parameters: Parameters) -> Effort:
    run_filter = parse_filter(parameters)
    rows = rows_read(lambda: run_list.page(run_filter))
    start = _cpu_time()
    run_list.page(run_filter)
    return Effort(parameters=parameters, milliseconds=1_000 * (_cpu_time() - start), rows=rows)


def _cpu_time() -> float:
    """Return the seconds that this process and PostgreSQL's process for it have computed."""
    seconds = time.process_time()
    if connection.vendor == "postgresql":
        process: Any = connection.connection.info.backend_pid
        seconds += int(Path(f"/proc/{process}/schedstat").read_text().split()[0]) / 1e9
    return seconds
