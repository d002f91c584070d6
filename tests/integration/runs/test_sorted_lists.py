"""Orders of the runs list, with pages and unknown values, and forks below their first run."""

import base64
import json
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import pairwise
from typing import Any, Final
from uuid import UUID

import pytest
from django.test import Client

from tests.support.recordings import NOON
from traces.core.ids import new_id
from traces.core.vocabulary import Outcome, RunSource, RunStatus
from traces.models import Deletion, Run, RunOutcome
from traces.run_lists.sort_orders import Sort

pytestmark = pytest.mark.django_db
UNKNOWN: Final = {"started_at": None, "duration_ms": None, "cost_usd": None}
# The sort key of a run as the API returns it.
KEYS: Final[dict[str, Any]] = {
    "outcome": lambda run: run["outcome"],
    "started": lambda run: run["started_at"],
    "duration": lambda run: run["duration_ms"],
    "tokens": lambda run: run["tokens_in"] + run["tokens_out"] or None,
    "cost": lambda run: run["cost_usd"],
    "steps": lambda run: run["steps"],
    "name": lambda run: (run["title"] or run["name"]).lower(),
}


def _run(name: str, outcome: Outcome = Outcome.UNKNOWN, **columns: Any) -> Run:
    id = new_id()
    facts = {"external_id": str(id), "app": "desk", "source": RunSource.IMPORT, "format": "chat", "search": ""}
    run = Run.objects.create(id=id, name=name, **{**facts, "status": RunStatus.COMPLETED, **columns})
    RunOutcome.objects.create(run=run, outcome=outcome)
    return run


def _fork(source: Run, name: str = "", outcome: Outcome = Outcome.UNKNOWN) -> Run:
    search = source.search
    columns = {"source_run": source, "source": RunSource.REPLAY, "fork_sequence_no": 2}
    return _run(name or source.name, outcome, search=search, **columns)


def _get(**query: Any) -> dict[str, Any]:
    answer = Client().get("/api/v1/runs", query)
    assert answer.status_code == 200, answer.content
    return dict(answer.json())


def _all_pages(**query: Any) -> list[dict[str, Any]]:
    runs, cursor = [], ""
    while cursor is not None:
        page = _get(limit=2, cursor=cursor, **query)
        runs += page["runs"]
        cursor = page["next"]
    return runs


def _names(runs: list[dict[str, Any]]) -> list[str]:
    return [run["name"] for run in runs]


def _some_runs() -> None:
    for number in range(9):
        columns = (
            UNKNOWN
            if number % 4 == 3
            else {
                "started_at": NOON + timedelta(hours=number * 7 % 5),
                "duration_ms": number * 7 % 4 + 0.25,
                "cost_usd": Decimal(number * 5 % 3) / 100,
                "tokens_in": number * 5 % 4,
            }
        )
        outcome = list(Outcome)[number % 4]
        _run(f"{'aBc'[number % 3]} {number % 2}", outcome, step_count=number * 4 % 3, **columns)


@pytest.mark.parametrize("sort", [sort for sort in Sort if sort is not Sort.NEWEST])
def test_pages_are_in_order_with_unknown_values_last(sort: Sort) -> None:
    _some_runs()
    runs = _all_pages(sort=sort)
    assert len({run["id"] for run in runs}) == len(runs) == 9
    keys = [KEYS[sort.removeprefix("-")](run) for run in runs]
    known = [key for key in keys if key is not None]
    assert keys == known + [None] * (9 - len(known))
    assert known == sorted(known, reverse=sort.is_descending)


def test_search_in_another_order_has_the_same_pages() -> None:
    for number in range(5):
        _run(f"lamp {number}", search="lamp", duration_ms=number % 2 or None)
    orders = [[run["id"] for run in _all_pages(sort="-duration", **query)] for query in ({}, {"q": "lamp"})]
    assert orders[0] == orders[1]


def test_cursor_belongs_to_its_order() -> None:
    _some_runs()
    cursor = _get(sort="cost", limit=2)["next"]
    for sort in ("-cost", "name", "newest"):
        answer = Client().get("/api/v1/runs", {"sort": sort, "cursor": cursor})
        assert (answer.status_code, answer.json()["where"]) == (400, "/cursor")


@pytest.mark.parametrize(
    ("sort", "key"),
    [
        ("started", "0001-01-01T00:00:00+14:00"),
        ("cost", "NaN"),
        ("cost", "sNaN"),
        ("duration", "inf"),
        ("steps", 2**63),
    ],
)
def test_key_that_no_run_can_have_is_no_cursor(sort: str, key: object) -> None:
    _some_runs()
    id, _, _ = _get(sort=sort, limit=2)["next"].partition(".")
    position = base64.urlsafe_b64encode(json.dumps([sort, key]).encode()).decode()
    answer = Client().get("/api/v1/runs", {"sort": sort, "cursor": f"{id}.{position}"})
    assert (answer.status_code, answer.json()["where"]) == (400, "/cursor")


def test_times_outside_the_calendar_are_refused() -> None:
    for name, time in (("since", "0001-01-01T00:00:00+14:00"), ("until", "9999-12-31T23:59:59-14:00")):
        answer = Client().get("/api/v1/runs", {name: time})
        assert (answer.status_code, answer.json()["where"]) == (400, f"/{name}")


def test_names_of_users_come_first_in_the_order_of_names() -> None:
    zebra, _ = _run("Zebra"), _run("monkey")
    assert _names(_get(sort="name")["runs"]) == ["monkey", "Zebra"]
    Client().patch(f"/api/v1/runs/{zebra.id}", {"title": "Ant"}, content_type="application/json")
    assert _names(_get(sort="name")["runs"]) == ["Zebra", "monkey"]
    Client().patch(f"/api/v1/runs/{zebra.id}", {"title": ""}, content_type="application/json")
    assert _names(_get(sort="name")["runs"]) == ["monkey", "Zebra"]


def test_forks_are_below_the_first_run_of_their_line() -> None:
    source, other = _run("source"), _run("other")
    fork = _fork(source)
    second_fork = _fork(fork, "of the fork")
    page = _get(forks="nested")
    assert _names(page["runs"]) == ["other", "source"]
    assert page["total"] == 2
    [family] = page["families"]
    assert (family["root"], family["forks"], family["matches"], family["is_match"]) == (str(source.id), 2, 2, True)
    assert [run["id"] for run in family["runs"]] == [str(second_fork.id), str(fork.id)]
    assert [run["id"] for run in _get(family=source.id)["runs"]] == [str(second_fork.id), str(fork.id)]
    assert len(_get()["runs"]) == 4
    assert str(other.id) not in {item["root"] for item in page["families"]}


def test_run_is_listed_for_a_fork_that_matches() -> None:
    source = _run("source", Outcome.FAILED)
    _fork(source, "failed again", outcome=Outcome.FAILED)
    fork = _fork(source, "passes", outcome=Outcome.PASSED)
    _run("other", Outcome.FAILED)
    for sort in ("newest", "outcome", "-duration"):
        page = _get(forks="nested", outcome="passed", sort=sort)
        assert _names(page["runs"]) == ["source"]
        [family] = page["families"]
        assert (family["forks"], family["matches"], family["is_match"]) == (2, 1, False)
        assert [run["id"] for run in family["runs"]] == [str(fork.id)]
    assert _names(_get(family=source.id, outcome="failed")["runs"]) == ["failed again"]


def test_many_forks_are_counted_only() -> None:
    source = _run("source")
    for _ in range(4):
        _fork(source)
    [family] = _get(forks="nested")["families"]
    assert (family["forks"], family["runs"]) == (4, [])


def test_fork_of_a_hidden_run_is_in_the_list_itself() -> None:
    deleted, earlier = _run("deleted"), _run("earlier")
    for run in (deleted, earlier):
        _fork(run, f"fork of {run.name}")
    now = datetime.now(UTC)
    Deletion.objects.create(run=deleted, at=now, due_at=now + timedelta(days=1))
    _run("later", external_id=earlier.external_id, revision=2, supersedes=earlier)
    page = _get(forks="nested")
    assert _names(page["runs"]) == ["later", "fork of earlier", "fork of deleted"]
    assert page["families"] == []


def test_probes_are_not_counted_as_forks() -> None:
    source = _run("source")
    _run("probe", source=RunSource.PROBE, source_run=source)
    assert _get(forks="nested")["families"] == []
    page = _get(forks="nested", source="probe")
    assert (_names(page["runs"]), page["families"][0]["matches"]) == (["source"], 1)


@pytest.mark.parametrize(("name", "value"), [("sort", "size"), ("forks", "hidden"), ("family", "x")])
def test_unknown_values_are_refused(name: str, value: str) -> None:
    answer = Client().get("/api/v1/runs", {name: value})
    assert (answer.status_code, answer.json()["where"]) == (400, f"/{name}")


def test_search_lists_forks_on_their_own() -> None:
    source = _run("lamp", search="lamp")
    _fork(source)
    page = _get(forks="nested", q="lamp")
    assert (len(page["runs"]), page["families"]) == (2, [])


def test_ids_of_equal_keys_are_in_one_direction() -> None:
    for _ in range(5):
        _run("same")
    for sort, is_rising in (("name", True), ("-name", False)):
        ids = [UUID(run["id"]) for run in _all_pages(sort=sort)]
        assert all((first < second) is is_rising for first, second in pairwise(ids))
