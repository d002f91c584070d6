"""The listing of runs, which triggers write: it equals the runs, whatever happened to them."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from uuid import UUID

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from tests.support.recordings import order_run
from traces.captions import services as captions
from traces.core.recorded_run import PROBLEM
from traces.core.vocabulary import Label, Outcome, RunSource, RunStatus
from traces.models import Deletion, Run, RunCaption, RunListing, RunOutcome
from traces.runs import services

pytestmark = pytest.mark.django_db
COLUMNS: Final = ("app", "environment", "source", "status", "started_at", "cost_usd", "duration_ms")


def _record(external_id: str, **changes: Any) -> Run:
    return Run.objects.get(id=services.record(replace(order_run(external_id), **changes)).run_id)


def _check_listing() -> None:
    """Compare every listing with its run."""
    runs = Run.objects.select_related("verdict", "deletion", "superseded_by", "listing")
    for run in runs:
        listing = run.listing
        assert {name: getattr(listing, name) for name in COLUMNS} == {name: getattr(run, name) for name in COLUMNS}
        assert listing.outcome == run.verdict.outcome
        assert listing.is_deleted == Deletion.objects.filter(run=run).exists()
        assert listing.is_superseded == Run.objects.filter(supersedes=run).exists()
        replay_count = run.exact_count + run.cached_count + run.simulated_count
        assert (listing.has_errors, listing.has_exact) == (run.error_count > 0, run.exact_count > 0)
        assert (listing.has_cached, listing.has_simulated) == (run.cached_count > 0, run.simulated_count > 0)
        assert listing.has_live == (run.step_count > replay_count)
        assert (listing.root, listing.steps) == (_root(run), run.step_count)
        assert listing.tokens == (run.tokens_in + run.tokens_out or None)
        caption = RunCaption.objects.filter(run=run).first()
        name = caption.title if caption and caption.title else run.name
        # Of ASCII alone: SQLite knows no other lower case.
        assert listing.sort_name == name.encode().lower().decode()[:60]
    assert RunListing.objects.count() == runs.count()


def _root(run: Run) -> UUID | None:
    source = run.source_run
    return None if source is None else _root(source) or source.id


def test_recorded_runs_are_listed() -> None:
    _record("a", app="shop", environment="prod", status=RunStatus.FAILED)
    _record("b", source=RunSource.PROBE)
    fork = services.open_run(name="fork", app="desk", source_run=_record("c"), fork_sequence_no=3)
    services.open_run(name="fork", app="desk", source_run=fork, fork_sequence_no=4)
    _check_listing()


def test_listing_has_the_name_that_users_gave_a_run() -> None:
    run = _record("a", name="Where is my order, which should have been here a week ago, and the lamp?")
    _check_listing()
    for title in ("Late order", "ÉTÉ Late", ""):
        captions.rename(run.id, title=title)
        _check_listing()
    captions.rename(run.id, title="Late order")
    RunCaption.objects.all().delete()
    _check_listing()
    open_run = services.open_run(name="first name", app="desk")
    captions.rename(open_run.id, title="")
    Run.objects.filter(id=open_run.id).update(name="second name")
    _check_listing()


def test_open_run_is_listed_anew_when_it_is_sealed() -> None:
    source = _record("a")
    fork = services.open_run(name="fork", app="desk", source_run=source, fork_sequence_no=3)
    before = RunListing.objects.get(run=fork)
    services.copy_steps(source_run_id=source.id, run_id=fork.id, first=1, last=5, label=Label.EXACT, reason="")
    services.seal_run(fork.id, RunStatus.FAILED)
    _check_listing()
    after = RunListing.objects.get(run=fork)
    assert (before.status, before.has_exact, after.status, after.has_exact) == ("running", False, "failed", True)


def test_judgements_change_the_outcome_in_the_list() -> None:
    run = _record("a")
    Client().post(f"/api/v1/runs/{run.id}/judgements", {"kind": "fail"}, content_type="application/json")
    _check_listing()
    assert RunListing.objects.get(run=run).outcome == Outcome.FAILED


def test_later_revisions_hide_earlier_ones() -> None:
    earlier = _record("a")
    columns = {field.attname: getattr(earlier, field.attname) for field in Run._meta.concrete_fields}
    columns |= {"id": None, "revision": 2, "supersedes_id": earlier.id, "sealed_at": None}
    later = Run(**{name: value for name, value in columns.items() if name != "id"})
    later.save()
    RunOutcome.objects.create(run=later, outcome=Outcome.UNKNOWN)
    _check_listing()
    assert RunListing.objects.get(run=earlier).is_superseded
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM traces_runoutcome WHERE run_id = %s", [_key(later)])
        cursor.execute("DELETE FROM traces_run WHERE id = %s", [_key(later)])
    _check_listing()
    assert not RunListing.objects.get(run=earlier).is_superseded


def test_deletions_hide_runs_until_they_are_restored() -> None:
    run = _record("a")
    now = datetime.now(UTC)
    deletion = Deletion.objects.create(run=run, at=now, due_at=now + timedelta(days=1))
    _check_listing()
    deletion.delete()
    _check_listing()
    assert not RunListing.objects.get(run=run).is_deleted


def _key(run: Run) -> Any:
    return run.id.hex if connection.vendor == "sqlite" else run.id


def test_list_reads_the_problem_of_a_run_without_its_metadata(client: Client) -> None:
    run_id = services.record(order_run(metadata={PROBLEM: "a call has no end", "header": "x" * 100_000})).run_id
    with CaptureQueriesContext(connection) as queries:
        (listed_run,) = client.get("/api/v1/runs").json()["runs"]
    assert listed_run["problem"] == "a call has no end"
    assert not [query for query in queries.captured_queries if ', "traces_run"."metadata"' in query["sql"]]
    assert client.get(f"/api/v1/runs/{run_id}").json()["problem"] == "a call has no end"
