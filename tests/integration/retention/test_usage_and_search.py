"""Usage totals and the search index never contain a deleted run."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from django.test import Client

from tests.support.recordings import assistant, model_step, order_run, user
from traces.core.recorded_run import RecordedRun
from traces.core.vocabulary import Label, RunSource, RunStatus, StepStatus, StepType
from traces.ingest.step_rows import StepRow
from traces.models import Deletion, Run, RunMark, SearchDocument, UnindexedRun
from traces.retention import deletions, purge
from traces.runs import services
from traces.search import documents, indexer
from traces.storage import artifacts
from traces.totals import usage_totals

pytestmark = pytest.mark.django_db(transaction=True)


def _run(name: str, *answers: str) -> RecordedRun:
    """Build a run that gives one answer after the other."""
    steps = tuple(model_step(f"{name}-{at}", [user("Hello")], assistant(text)) for at, text in enumerate(answers))
    return replace(order_run(name), steps=steps)


def _record(name: str, *answers: str) -> UUID:
    run_id = services.record(_run(name, *answers)).run_id
    _index()
    return run_id


def _index() -> None:
    while indexer.work():
        pass


def _fork(source_id: UUID, *, answer: str) -> UUID:
    """Store a fork that repeats the first step of its source and then answers differently."""
    fork = services.open_run(name="fork", app="desk", source_run=Run.objects.get(id=source_id))
    services.copy_steps(source_run_id=source_id, run_id=fork.id, first=1, last=1, label=Label.CACHED, reason="")
    _answer(fork.id, 2, answer)
    return fork.id


def _probe(source_id: UUID, *, answer: str) -> UUID:
    source_run = Run.objects.get(id=source_id)
    probe = services.open_run(name="probe", app="desk", source_run=source_run, source=RunSource.PROBE)
    _answer(probe.id, 1, answer)
    return probe.id


def _answer(run_id: UUID, number: int, answer: str) -> None:
    """Add a live call to an open run, then seal and index it."""
    step = StepRow(
        sequence_no=number,
        type=StepType.MODEL,
        name="chat",
        provider="openai",
        model="gpt-4o",
        status=StepStatus.OK,
        label=Label.LIVE,
        output_ref=artifacts.save({"message": assistant(answer)}, run_id=run_id),
    )
    services.append_steps(run_id, [step])
    services.seal_run(run_id, RunStatus.COMPLETED)
    _index()


def _remove(*run_ids: UUID) -> None:
    deletions.delete(run_ids, by="ann", includes_citations=True)
    _pass_grace()
    purge.remove_due()


def _pass_grace() -> None:
    Deletion.objects.filter(removed_at=None).update(due_at=datetime.now(UTC) - timedelta(seconds=1))


def _calls() -> int:
    assert usage_totals.differences() == []
    report = Client().get("/api/v1/usage").json()
    return sum(row["totals"]["calls"] for row in report["models"])


def _matches(word: str) -> set[UUID]:
    """Return the runs in the index with a word, whether lists show them or not."""
    return {match.run_id for match in documents.newest_matches([word], before=None, limit=100)}


def test_deleted_run_is_neither_counted_nor_found() -> None:
    first, second = _record("a", "Lisbon", "Porto"), _record("b", "Lisbon")
    deletions.delete([first], by="ann")
    assert (_calls(), _matches("lisbon"), _matches("porto")) == (1, {second}, set())
    # Again: the later request decides when it is removed.
    deletions.delete([first], by="ann", at_once=True)
    assert _calls() == 1
    purge.remove_due()
    assert (_calls(), _matches("lisbon")) == (1, {second})


def test_deleted_run_is_not_indexed() -> None:
    run_id = services.record(_run("a", "Lisbon")).run_id
    deletions.delete([run_id], by="ann")
    assert not UnindexedRun.objects.exists()
    assert indexer.rebuild() == 0
    assert not SearchDocument.objects.exists()


def test_rebuilding_waits_for_runs_that_another_process_indexes(monkeypatch: pytest.MonkeyPatch) -> None:
    _record("a", "Lisbon")
    work = indexer.work

    def take() -> bool:
        """Lease the runs first, as another process may do."""
        monkeypatch.setattr(indexer, "work", work)
        UnindexedRun.objects.update(leased_until=datetime.now(UTC) + timedelta(minutes=1))
        return indexer.work()

    monkeypatch.setattr(indexer, "work", take)
    monkeypatch.setattr("traces.search.indexer.time.sleep", lambda _: indexer.release_leases())
    assert indexer.rebuild() == 1


def test_restored_run_is_counted_and_found_again() -> None:
    _record("a", "Lisbon")
    newest = _record("a", "Lisbon", "Porto")
    deletions.delete([newest], by="ann")
    assert (_calls(), _matches("lisbon")) == (0, set())
    deletions.restore(newest, by="ann")
    _index()
    assert (_calls(), _matches("lisbon")) == (2, {newest})


def test_refused_removal_restores_the_run() -> None:
    run_id = _record("a", "Lisbon")
    deletions.delete([run_id], by="ann", at_once=True)
    RunMark.objects.create(run_id=run_id, is_held=True)
    purge.remove_due()
    _index()
    assert (_calls(), _matches("lisbon")) == (1, {run_id})


def test_recording_of_a_deleted_run_replaces_nothing() -> None:
    first = _record("a", "Lisbon")
    deletions.delete([first], by="ann")
    newest = _record("a", "Lisbon", "Porto")
    assert (_calls(), _matches("lisbon")) == (2, {newest})
    deletions.restore(first, by="ann")
    _index()
    assert (_calls(), _matches("lisbon")) == (3, {first, newest})


def test_restored_revision_takes_the_place_of_a_removed_one() -> None:
    first = _record("a", "Lisbon")
    newest = _record("a", "Lisbon", "Porto")
    deletions.delete([newest], by="ann")
    deletions.restore(first, by="ann")
    assert _calls() == 0
    _pass_grace()
    purge.remove_due()
    _index()
    assert (_calls(), _matches("lisbon"), _matches("porto")) == (1, {first}, set())


def test_fork_forgets_the_words_of_its_removed_source() -> None:
    source = _record("a", "Lisbon")
    fork = _fork(source, answer="Porto")
    assert (_matches("lisbon"), _matches("porto")) == ({source, fork}, {fork})
    _remove(source)
    _index()
    assert (_matches("lisbon"), _matches("porto")) == (set(), {fork})
    assert _calls() == 1


def test_probes_are_not_indexed() -> None:
    source = _record("a", "Lisbon")
    _probe(source, answer="Faro")
    assert (_calls(), _matches("faro")) == (1, set())
    _remove(source)
    assert _calls() == 0
