"""A page of the runs list reads each run at most once, from an index alone, whatever its filters and its order."""

from collections.abc import Mapping
from datetime import timedelta
from itertools import combinations, cycle
from typing import Any, Final

import pytest
from django.db import connection

from tests.support.query_plans import plans, rows_read
from tests.support.recordings import NOON
from traces.core.ids import new_id
from traces.core.vocabulary import JudgementKind, JudgementSource, Outcome, RunSource, RunStatus
from traces.models import Judgement, Run, RunOutcome, RunTag
from traces.run_lists import run_list
from traces.run_lists.run_filter import parse_filter
from traces.run_lists.sort_orders import Sort
from traces.storage import bulk

pytestmark = pytest.mark.django_db
RUNS: Final = 2_000
LISTING: Final = "traces_runlisting"
OUTCOMES: Final = (Outcome.PASSED, Outcome.PASSED, Outcome.FAILED, Outcome.UNKNOWN)
# Rows of the page itself and of the sets that conditions name; on PostgreSQL also those that leave a page by outcome.
ALLOWANCE: Final = 1_100
FILTERS: Final[Mapping[str, str]] = {
    "app": "app-3",
    "environment": "none",
    "status": "failed",
    "source": "probe",
    "tag": "rare",
    "label": "cached",
    "since": (NOON + timedelta(seconds=RUNS - 5)).isoformat(),
    "until": (NOON + timedelta(seconds=5)).isoformat(),
    "min_cost": "1.9",
    "max_cost": "0.1",
    "min_score": "0.9",
    "outcome": "failed,unknown",
    "forks": "nested",
}
SINGLE: Final = [{}, *({name: value} for name, value in FILTERS.items())]
PAIRS: Final = [{name: FILTERS[name], other: FILTERS[other]} for name, other in combinations(FILTERS, 2)]
# Orders by another column are made alike. Each pair has one of these, and each condition all of them.
PAIRED_SORTS: Final = (Sort.NEWEST, Sort.OUTCOME, Sort.COST_LAST)
QUERIES: Final = [
    *({**query, "sort": sort} for sort in Sort for query in SINGLE),
    *({**query, "sort": sort} for query, sort in zip(PAIRS, cycle(PAIRED_SORTS), strict=False)),
]


def _insert_runs() -> None:
    runs: list[dict[str, Any]] = []
    outcomes, tags, judgements = [], [], []
    for number in range(RUNS):
        run: dict[str, Any] = {
            "id": new_id(),
            "external_id": f"run-{number}",
            "content_digest": "",
            "name": "run",
            "app": f"app-{number % 7}",
            "environment": "test",
            "source": RunSource.PROBE if number % 40 == 0 else RunSource.LIVE,
            "format": "otlp",
            "status": RunStatus.FAILED if number % 10 == 0 else RunStatus.COMPLETED,
            "created_at": NOON,
            "source_run": runs[number // 50 * 50]["id"] if number % 10 == 1 else None,
            "started_at": NOON + timedelta(seconds=number),
            "tags": [],
            "metadata": {},
            "search": "",
            "revision": 1,
            "step_count": 3,
            "error_count": 0,
            "tokens_in": number % 3 * number,
            "tokens_out": 0,
            "cost_usd": number / 1_000,
            "duration_ms": number % 100 or None,
            "exact_count": 0,
            "cached_count": int(number % 500 == 7),
            "simulated_count": 0,
        }
        runs.append(run)
        outcomes.append((run["id"], OUTCOMES[number % 4], "", ""))
        if number % 400 == 9:
            tags.append((run["id"], "rare"))
        if number % 20 == 3:
            score = ("quality", JudgementKind.SCORE, JudgementSource.IMPORT, number / RUNS, "", "")
            judgements.append((new_id(), run["id"], str(number), NOON, *score))
    bulk.insert(Run, tuple(runs[0]), (tuple(run.values()) for run in runs))
    bulk.insert(RunOutcome, ("run", "outcome", "basis", "reason"), outcomes)
    bulk.insert(RunTag, ("run", "tag"), tags)
    bulk.insert(
        Judgement, ("id", "run", "key", "created_at", "name", "kind", "source", "value", "text", "by"), judgements
    )
    with connection.cursor() as cursor:
        # PostgreSQL plans by statistics, and reads a table of a few pages from beginning to end. SQLite has none.
        if connection.vendor == "postgresql":
            cursor.execute("ANALYZE")
            cursor.execute("SET LOCAL enable_seqscan = off")


def test_pages_read_each_run_at_most_once() -> None:
    _insert_runs()
    excesses: dict[str, Any] = {}
    for query in QUERIES:
        run_filter = parse_filter({**query, "limit": "20"})
        rows = rows_read(lambda run_filter=run_filter: run_list.page(run_filter), table=LISTING)  # type: ignore[misc]
        # Runs with and without a value are two lists, for which PostgreSQL reads a small table twice.
        is_twice = connection.vendor == "postgresql" and {"duration", "tokens"} & {query["sort"].removeprefix("-")}
        if rows > (2 * RUNS if is_twice else RUNS) + ALLOWANCE:
            excesses[str(query)] = rows
    assert not excesses


def test_second_pages_read_what_remains() -> None:
    _insert_runs()
    for sort in Sort:
        first_page = run_list.page(parse_filter({"sort": sort, "limit": "20"}))
        run_filter = parse_filter({"sort": sort, "limit": "20", "cursor": first_page.next or ""})
        assert rows_read(lambda run_filter=run_filter: run_list.page(run_filter), table=LISTING) < ALLOWANCE  # type: ignore[misc]
        assert first_page.total == 1_000
        assert run_list.page(run_filter).total is None


def test_lists_read_the_indexes_of_the_listing() -> None:
    if connection.vendor != "sqlite":
        pytest.skip("PostgreSQL chooses by statistics")
    for query in QUERIES:
        run_filter = parse_filter(query)
        for plan in plans(lambda run_filter=run_filter: run_list.page(run_filter)):  # type: ignore[misc]
            assert "SCAN traces_run\n" not in f"{plan}\n"
            assert "SCAN traces_runlisting\n" not in f"{plan}\n", (query, plan)
            if not {"tag", "min_score"} & set(query):
                assert "TEMP B-TREE" not in plan, (query, plan)
