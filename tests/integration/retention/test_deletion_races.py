"""Work on a run that is deleted meanwhile: nothing brings the run back, cites it, or goes on reading it."""

import io
from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest
from django.db import transaction

from diffing import api
from diffing import services as diffing
from diffing.errors import ReportDeleted
from diffing.schemas.report import DiffOptions
from replay.calibration import services as calibration
from replay.core.errors import SessionConflict
from replay.langfuse import export_worker
from replay.models import ReplaySession
from replay.reruns import answers
from replay.reruns import services as reruns
from replay.sessions import create, prepare
from replay.sessions.schemas import ReplayRequest
from tests.support.agent_requests import first_request
from tests.support.recordings import order_run
from traces.core.vocabulary import Label, RunStatus, ShareKind
from traces.errors import NotFound
from traces.imports import portable_runs
from traces.models import AuditEntry, Deletion, Edge, RetentionPolicy, Run, RunMark, ShareLink, Step
from traces.retention import deletions, marks, purge, removal
from traces.runs import queries, services
from traces.runs.deleted_runs import RunDeleted
from traces.sharing import links
from traces.sharing.links import Subject
from traces.sharing.schemas import ShareRequest

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.divided]


@pytest.fixture
def run() -> Run:
    return Run.objects.get(id=services.record(order_run()).run_id)


def delete(run: Run, *, at_once: bool = False) -> None:
    (result,) = deletions.delete([run.id], by="ann", at_once=at_once)
    assert isinstance(result, Deletion)


def start_replay(run: Run) -> Callable[[], object]:
    preparation = prepare.prepare(ReplayRequest(run=str(run.id), fork_step=2))

    def launch() -> None:
        with transaction.atomic():
            create.create(preparation)

    return launch


def references(run: Run, other: Run) -> list[Callable[[], object]]:
    """What a request does with a run that it has found."""
    return [
        start_replay(run),
        lambda: diffing.diff(base_id=run.id, candidate_id=other.id, options=DiffOptions()),
        lambda: calibration.compare(run, other, by="ann"),
        lambda: export_worker.enqueue(run.id, "langfuse"),
        lambda: marks.mark(run.id, is_pinned=True, is_held=None, by="ann"),
        lambda: links.create_link(Subject(ShareKind.RUN, run.id, run.id), ShareRequest()),
    ]


@pytest.mark.parametrize("at_once", [False, True])
def test_nothing_refers_to_a_deleted_run(run: Run, *, at_once: bool) -> None:
    other = Run.objects.get(id=services.record(order_run("order-2")).run_id)
    actions = references(run, other)
    delete(run, at_once=at_once)
    if at_once:
        purge.remove_due()
    for act in actions:
        with pytest.raises(NotFound):
            act()
    for model in (ReplaySession, ShareLink, RunMark):
        assert not model.objects.exists(), model


def test_second_of_two_deletions_is_refused(run: Run) -> None:
    delete(run, at_once=True)
    purge.remove_due()
    (result,) = deletions.delete([run.id], by="ben")
    assert isinstance(result, deletions.Refusal)
    assert "was deleted" in result.problem.detail


def test_rerun_ends_with_its_run(run: Run) -> None:
    request = first_request(run)
    rerun = reruns.start(str(run.id), is_comparison=True, tools_to_run=["get_order"], caller="ann")
    assert answers.resolve(rerun.id, request).response
    delete(run)
    with pytest.raises(SessionConflict, match="has ended"):
        answers.resolve(rerun.id, request)
    assert reruns.end(rerun, 0, writes_run=True).run is None
    with pytest.raises(RunDeleted):
        reruns.resume(rerun)
    assert not Run.objects.exclude(id=run.id).exists()


def test_report_of_a_run_that_was_deleted_meanwhile_is_gone(run: Run) -> None:
    other = Run.objects.get(id=services.record(order_run("order-2")).run_id)
    row = diffing.diff(base_id=run.id, candidate_id=other.id)
    deletions.delete([run.id], by="ann", includes_citations=True, at_once=True)
    purge.remove_due()
    row.refresh_from_db()
    with pytest.raises(ReportDeleted):
        api._row_response(row, "json")


def repeat(run: Run) -> Run:
    fork = services.open_run(name="fork", app=run.app, source_run=run, fork_sequence_no=3, external_id="fork")
    copy: dict[str, Any] = {"first": 1, "last": 5, "label": Label.EXACT, "reason": "source_output_reused"}
    services.copy_steps(source_run_id=run.id, run_id=fork.id, **copy)
    services.seal_run(fork.id, RunStatus.COMPLETED)
    return fork


def test_fork_gets_no_edges_of_a_source_in_removal(run: Run) -> None:
    fork = repeat(run)
    deletions.delete([run.id], by="ann", includes_citations=True, at_once=True)
    assert removal._remove_steps(run.id, [fork.id])
    assert Edge.objects.filter(run=run).exists()
    assert queries.edges(fork.id) == []


def test_bundle_of_a_fork_does_not_cite_its_deleted_source(run: Run) -> None:
    fork = repeat(run)
    bundle = io.BytesIO()
    portable_runs.export(Run.objects.get(id=fork.id), bundle)
    delete(fork)
    delete(run)
    imported = Run.objects.get(id=portable_runs.import_bundle(bundle).run_id)
    assert (imported.source_run_id, imported.step_count) == (None, 5)


@pytest.fixture
def removed_in_part(run: Run, monkeypatch: pytest.MonkeyPatch) -> UUID:
    """A deleted run whose removal was killed after two of its steps."""
    monkeypatch.setattr(removal, "_BATCH", 2)
    delete(run, at_once=True)
    assert removal._remove_steps(run.id, [])
    assert Step.objects.filter(run=run).count() == run.step_count - 2
    return run.id


def test_half_of_a_run_cannot_be_restored(removed_in_part: UUID) -> None:
    with pytest.raises(NotFound, match="no longer be restored"):
        deletions.restore(removed_in_part, by="ann")


def test_hold_brings_no_half_of_a_run_back(removed_in_part: UUID) -> None:
    RetentionPolicy.objects.create(app="", tag="", legal_hold=True)
    assert purge.remove_due().runs == 1
    assert not Run.objects.exists()
    assert not AuditEntry.objects.filter(action="deletion_refused").exists()


def test_restored_run_keeps_its_steps(run: Run) -> None:
    """A removal that found the deletion before the run was restored."""
    delete(run)
    deletions.restore(run.id, by="ann")
    assert not removal._remove_steps(run.id, [])
    assert Step.objects.filter(run=run).count() == run.step_count
