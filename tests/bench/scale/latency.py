"""Measure the REST API on a loaded database, in this process: views, serialization and database."""

import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlencode

from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from rich.console import Console
from rich.table import Table

from traces.models import Run, SearchDocument, Step, UnindexedRun, UsageTotal
from traces.search import indexer
from traces.totals import usage_totals

LIST: Final = 15.0
PAGE: Final = 200.0
_WARM_UP: Final = 3
Parameters = dict[str, str]


@dataclass(frozen=True, kw_only=True, slots=True)
class Query:
    """A request of the API, and its bar in milliseconds."""

    name: str
    path: str
    bar: float
    parameters: Parameters


@dataclass(frozen=True, kw_only=True, slots=True)
class Latency:
    p50: float
    p95: float
    cpu: float


def measure_all(samples: int, name_part: str) -> None:
    """Index what is not indexed yet, then print the latency of every query with its bar."""
    _index()
    client = Client(HTTP_HOST="localhost")
    runs, steps = Run.objects.count(), Step.objects.count()
    title = f"{connection.vendor}, {runs:,} runs, {steps:,} steps, {SearchDocument.objects.count():,} documents"
    table = Table("query", "p50 ms", "p95 ms", "CPU ms", "bar ms", "ratio", "scans", title=title)
    for query in _queries(client):
        if name_part not in query.name:
            continue
        latency = _latency(lambda query=query: _get(client, query), samples)  # type: ignore[misc]
        scans = ", ".join(sorted(_scans(client, query)))
        color = "green" if latency.p95 <= query.bar else "bold red"
        figures = (f"{value:.1f}" for value in (latency.p50, latency.p95, latency.cpu))
        table.add_row(query.name, *figures, f"{query.bar:g}", f"[{color}]{query.bar / latency.p95:.2f}[/]", scans)
        print(query.name, file=sys.stderr, flush=True)
    Console(width=120).print(table)


def _index() -> None:
    waiting = UnindexedRun.objects.count()
    start = time.process_time()
    while indexer.work():
        pass
    while usage_totals.merge():
        pass
    if waiting:
        seconds = time.process_time() - start
        print(f"indexed {waiting} runs: {seconds:.0f} s of CPU; {UsageTotal.objects.count()} totals", file=sys.stderr)


def _queries(client: Client) -> Iterator[Query]:
    middle = Run.objects.order_by("id")[Run.objects.count() // 2]
    cursor = client.get("/api/v1/runs", {"limit": "200"}).json()["next"] or ""
    for name, parameters in _filters(middle).items():
        yield Query(name=f"list {name}", path="runs", bar=LIST, parameters=parameters)
    yield Query(name="list, second page", path="runs", bar=LIST, parameters={"cursor": cursor})
    yield Query(name="facets", path="runs/facets", bar=PAGE, parameters={})
    for name, words in _searches(middle).items():
        yield Query(name=f"search {name}", path="runs", bar=PAGE, parameters={"q": words})
    yield Query(name="search in an app", path="runs", bar=PAGE, parameters={"q": _words(middle)[0], "app": "inventory"})
    yield Query(name="open a run", path=f"runs/{middle.id}", bar=PAGE, parameters={})
    yield Query(name="its steps", path=f"runs/{middle.id}/steps", bar=PAGE, parameters={})
    yield Query(name="its edges", path=f"runs/{middle.id}/edges", bar=PAGE, parameters={})
    yield Query(name="a step", path=f"runs/{middle.id}/steps/2", bar=PAGE, parameters={})
    yield Query(name="run by external id", path=f"runs/{middle.external_id}", bar=PAGE, parameters={})
    yield Query(name="usage by model and tool", path="usage", bar=PAGE, parameters={})
    yield Query(name="usage of an app", path="usage", bar=PAGE, parameters={"app": "research"})
    yield Query(name="tools", path="tools", bar=PAGE, parameters={})
    yield Query(name="failed steps", path="failed-steps", bar=PAGE, parameters={})
    yield Query(name="failed steps of an app", path="failed-steps", bar=PAGE, parameters={"app": "night-batch"})


def _filters(middle: Run) -> dict[str, Parameters]:
    since = middle.created_at.isoformat()
    return {
        "newest": {},
        "of an app": {"app": "inventory"},
        "of a frequent app": {"app": "support-desk"},
        "failed": {"status": "failed"},
        "failed of an app": {"status": "failed", "app": "research", "environment": "staging"},
        "of an environment": {"environment": "dev"},
        "by source": {"source": "import"},
        "without results": {"source": "bundle"},
        "by tag": {"tag": "team-3"},
        "by two tags and an app": {"tag": "team-3,tier-1", "app": "billing-bot"},
        "by label": {"label": "exact"},
        "by outcome": {"outcome": "failed"},
        "sorted by outcome": {"sort": "outcome"},
        "sorted by cost": {"sort": "-cost"},
        "sorted by name": {"sort": "name"},
        "forks nested": {"forks": "nested"},
        "forks nested, of an app": {"forks": "nested", "app": "research"},
        "failed forks nested, longest first": {"forks": "nested", "outcome": "failed", "sort": "-duration"},
        "since": {"since": since},
        "until": {"until": since},
        "by cost": {"min_cost": "0.05"},
        "by rare cost": {"min_cost": "5"},
        "by score": {"judgement": "quality", "min_score": "0.9"},
        "by rare score and app": {"judgement": "quality", "min_score": "0.99", "app": "translator"},
    }


def _searches(middle: Run) -> dict[str, str]:
    words = _words(middle)
    return {
        "a frequent word": words[0],
        "a rare word": words[-1],
        "two frequent words": f"{words[0]} {words[1]}",
        "a frequent and a rare word": f"{words[0]} {words[-1]}",
        "a reference": middle.search.partition("ref")[2][:7].join(("ref", "")),
        "the beginning of a word": words[0][:3],
        "without results": "nosuchword",
    }


def _words(run: Run) -> Sequence[str]:
    """Return words of a run's first input; short ones are frequent."""
    return sorted(
        run.search.rpartition("ref")[2].split()[1:],
        key=lambda word: Run.objects.filter(search__contains=word)[:2_000].count(),
        reverse=True,
    )


def _get(client: Client, query: Query) -> Any:
    response = client.get(f"/api/v1/{query.path}?{urlencode(query.parameters)}")
    if response.status_code != 200:
        raise RuntimeError(f"{query.name}: {response.status_code} {response.content[:200]!r}")
    return response


def _latency(call: Callable[[], Any], samples: int) -> Latency:
    for _ in range(_WARM_UP):
        call()
    times, cpu_times = [], []
    for _ in range(samples):
        start, cpu = time.perf_counter(), time.process_time()
        call()
        times.append(1_000 * (time.perf_counter() - start))
        cpu_times.append(1_000 * (time.process_time() - cpu))
    return Latency(p50=statistics.median(times), p95=_p95(times), cpu=statistics.median(cpu_times))


def _p95(times: Sequence[float]) -> float:
    return sorted(times)[max(0, int(len(times) * 0.95) - 1)] if len(times) > 1 else times[0]


def _scans(client: Client, query: Query) -> set[str]:
    """Return the large tables that the query's plans read from beginning to end."""
    with CaptureQueriesContext(connection) as queries:
        _get(client, query)
    return {name for item in queries for name in _scans_of(item["sql"])}


def _scans_of(statement: str) -> Iterator[str]:
    if not statement.startswith("SELECT"):
        return
    explain = "EXPLAIN QUERY PLAN" if connection.vendor == "sqlite" else "EXPLAIN"
    with connection.cursor() as cursor:
        cursor.execute(f"{explain} {statement}")
        plan = "\n".join(str(row[-1]) for row in cursor.fetchall())
    for table in ("traces_step", "traces_artifact", "traces_searchdocument", "traces_run"):
        marks = (f"SCAN {table}\n", f"Seq Scan on {table} ", f"Seq Scan on {table}\n")
        if any(mark in f"{plan}\n" for mark in marks):
            yield table.removeprefix("traces_")
