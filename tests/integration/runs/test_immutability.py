"""Recordings never change: the database itself rejects changes."""

from datetime import UTC, datetime

import pytest
from django.db import DatabaseError, connection, transaction
from django.db.models import F

from tests.support.recordings import order_run
from traces.core.ids import new_id
from traces.core.vocabulary import EdgeKind, Label, RunStatus, StepStatus, StepType
from traces.errors import RunSealed
from traces.ingest.step_rows import StepRow
from traces.models import Artifact, AuditEntry, Edge, RetentionPass, Run, Step
from traces.origins import stored_provenance
from traces.runs import services

pytestmark = pytest.mark.django_db


@pytest.fixture
def run() -> Run:
    run = Run.objects.get(id=services.record(order_run()).run_id)
    stored_provenance.ensure(run.id)
    return run


def _row(number: int) -> StepRow:
    return StepRow(sequence_no=number, type=StepType.TOOL, name="late", status=StepStatus.OK, label=Label.LIVE)


def _expect_refusal(statement: str, message: str) -> None:
    with pytest.raises(DatabaseError, match=message), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(statement)


def _delete_and_fail(run: Run) -> None:
    Run.objects.filter(id=run.id).delete()
    Run.objects.get(id=run.id)


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("UPDATE traces_run SET name = 'x'", "a sealed run cannot be changed"),
        ("UPDATE traces_run SET sealed_at = NULL", "a sealed run cannot be changed"),
        ("DELETE FROM traces_run", "a sealed run cannot be deleted"),
        ("UPDATE traces_step SET error = 'x'", "steps of a sealed run cannot be changed"),
        ("DELETE FROM traces_step", "steps of a sealed run cannot be deleted"),
        ("UPDATE traces_edge SET evidence = 'x'", "edges of a sealed run cannot be changed"),
        ("DELETE FROM traces_edge", "edges of a sealed run cannot be deleted"),
        ("UPDATE traces_artifact SET size = 0", "an artifact cannot be changed"),
        ("UPDATE traces_artifact SET pack_id = 0", "an artifact cannot be changed"),
        ("DELETE FROM traces_artifact", "an artifact cannot be deleted"),
        ("UPDATE traces_pack SET data = NULL", "a pack cannot be changed"),
        ("DELETE FROM traces_pack", "a pack cannot be deleted"),
    ],
)
@pytest.mark.usefixtures("run")
def test_sql_cannot_change_recordings(statement: str, message: str) -> None:
    _expect_refusal(statement, message)


def test_sealed_run_rejects_additions(run: Run) -> None:
    with pytest.raises(DatabaseError, match="steps of a sealed run cannot be added"), transaction.atomic():
        Step.objects.create(run=run, sequence_no=99, type="tool", name="late", status="ok", label="live")
    with pytest.raises(DatabaseError, match="edges of a sealed run cannot be added"), transaction.atomic():
        Edge.objects.create(run=run, producer_no=1, consumer_no=5, kind=EdgeKind.LINK)
    with pytest.raises(RunSealed, match=str(run.id)), transaction.atomic():
        services.append_steps(run.id, [_row(99)])
    with pytest.raises(RunSealed), transaction.atomic():
        services.truncate_steps(run.id, after=0)


def test_step_cannot_move_into_sealed_run(run: Run) -> None:
    open_run = services.open_run(name="open", app="desk")
    services.append_steps(open_run.id, [_row(50)])
    with pytest.raises(DatabaseError, match="steps of a sealed run cannot be changed"), transaction.atomic():
        Step.objects.filter(run=open_run).update(run=run)


def test_open_run_can_be_truncated() -> None:
    run = services.open_run(name="open", app="desk")
    services.append_steps(run.id, [_row(1), _row(2)])
    Step.objects.filter(run=run).update(error="tried")
    assert services.truncate_steps(run.id, after=1) == 1
    services.seal_run(run.id, RunStatus.COMPLETED)
    _expect_refusal("UPDATE traces_step SET error = 'y'", "cannot be changed")


def test_sealing_twice_changes_nothing(run: Run) -> None:
    services.seal_run(run.id, RunStatus.FAILED)
    assert Run.objects.get(id=run.id).status == RunStatus.COMPLETED


def test_only_retention_may_delete(run: Run) -> None:
    with services.retention():
        run.delete()
        Artifact.objects.all().delete()
    assert not Run.objects.exists()
    assert not Step.objects.exists()
    assert not Artifact.objects.exists()
    assert not RetentionPass.objects.exists()


def test_retention_cannot_change_runs(run: Run) -> None:
    message = "a sealed run cannot be changed"
    with services.retention(), pytest.raises(DatabaseError, match=message), transaction.atomic():
        Run.objects.filter(id=run.id).update(name="x")


def test_retention_may_only_blank_texts(run: Run) -> None:
    with services.retention():
        Run.objects.filter(id=run.id).update(search="", name="fork of a deleted run")
        Step.objects.filter(run=run).update(summary="", error="", unexplained=None)
    for change in ({"step_count": 0}, {"sealed_at": None}, {"content_digest": "0"}, {"search": "other"}):
        with services.retention(), pytest.raises(DatabaseError, match="cannot be changed"), transaction.atomic():
            Run.objects.filter(id=run.id).update(**{"search": "", **change})
    for column in ({"summary": "other"}, {"output_ref": ""}, {"label": Label.CACHED}, {"sequence_no": 9}):
        with services.retention(), pytest.raises(DatabaseError, match="cannot be changed"), transaction.atomic():
            Step.objects.filter(run=run, sequence_no=3).update(**{"summary": "", "error": "", **column})


def test_audit_entries_cannot_be_changed() -> None:
    AuditEntry.objects.create(action="run_deleted", subject="1")
    _expect_refusal("UPDATE traces_auditentry SET subject = '2'", "an audit entry cannot be changed")
    _expect_refusal("DELETE FROM traces_auditentry", "an audit entry cannot be deleted")


@pytest.mark.usefixtures("run")
def test_retention_pass_ends_with_transaction() -> None:
    with services.retention():
        pass
    _expect_refusal("DELETE FROM traces_step", "cannot be deleted")


def test_failed_retention_deletes_nothing(run: Run) -> None:
    with pytest.raises(Run.DoesNotExist), services.retention():
        _delete_and_fail(run)
    assert Step.objects.count() == 5


@pytest.mark.django_db(transaction=True)
def test_retention_pass_cannot_be_committed() -> None:
    """So a pass cannot outlive its transaction."""
    with pytest.raises(DatabaseError), transaction.atomic():
        RetentionPass.objects.create(run_id=new_id())
    assert not RetentionPass.objects.exists()


def test_open_run_counters_can_change() -> None:
    run = services.open_run(name="open", app="desk")
    Run.objects.filter(id=run.id).update(step_count=F("step_count") + 1, ended_at=datetime.now(UTC))
    assert Run.objects.get(id=run.id).step_count == 1
