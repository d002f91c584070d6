"""Revisions: recordings that grew, and recordings that contradict each other."""

import io
import threading
from dataclasses import replace

import orjson
import pytest
from django.db import connection
from django.test import Client

from diffing import services as diffing
from diffing.models import DiffReport
from diffing.schemas.report import DiffOptions
from tests.support import importing_fixtures as fixtures
from tests.support.recordings import order_run
from traces.core.recorded_run import RecordedRun
from traces.core.vocabulary import ShareKind
from traces.errors import NotFound
from traces.imports import import_files
from traces.models import Artifact, Run
from traces.reading.progress import NamedFile
from traces.runs import queries, services
from traces.runs.services import RecordResult
from traces.schemas import ImportedRun
from traces.sharing.links import Subject, create_link
from traces.sharing.schemas import ShareRequest

pytestmark = [pytest.mark.django_db, pytest.mark.divided]


def _first_steps(count: int) -> RecordedRun:
    return replace(order_run(), steps=order_run().steps[:count])


def _other_answer() -> RecordedRun:
    steps = list(order_run().steps)
    steps[1] = replace(steps[1], output={"message": {"role": "assistant", "content": "No."}})
    return replace(order_run(), steps=tuple(steps))


def _get(path: str) -> dict[str, object]:
    response = Client().get(f"/api/v1/{path}")
    assert response.status_code == 200, response.content
    content: dict[str, object] = orjson.loads(response.content)
    return content


def test_longer_recording_becomes_next_revision() -> None:
    first = services.record(_first_steps(3))
    second = services.record(order_run())
    assert (second.is_new, second.revision, second.supersedes) == (True, 2, first.run_id)
    assert [run.step_count for run in Run.objects.order_by("revision")] == [3, 5]


def test_revision_stores_only_new_parts() -> None:
    services.record(_first_steps(3))
    parts = set(Artifact.objects.values_list("sha256", flat=True))
    services.record(order_run())
    added = Artifact.objects.exclude(sha256__in=parts).count()
    assert parts <= set(Artifact.objects.values_list("sha256", flat=True))
    assert added < len(parts)


def test_older_state_is_the_stored_run() -> None:
    stored = services.record(order_run())
    again = services.record(_first_steps(3))
    assert (again.run_id, again.is_new) == (stored.run_id, False)
    assert Run.objects.count() == 1


def test_equal_content_of_an_older_revision_is_stored_once() -> None:
    first = services.record(_first_steps(3))
    services.record(order_run())
    assert services.record(_first_steps(3)).run_id == first.run_id


def test_growing_recordings_of_one_batch_are_revisions() -> None:
    results = services.record_all([_first_steps(2), _first_steps(3), order_run()])
    assert [result.revision for result in results if isinstance(result, RecordResult)] == [1, 2, 3]


def test_conflict_can_grow_as_well() -> None:
    services.record(_first_steps(3))
    conflict = services.record(replace(_other_answer(), steps=_other_answer().steps[:3]))
    grown = services.record(_other_answer())
    assert (conflict.revision, conflict.supersedes) == (2, None)
    assert (grown.revision, grown.supersedes) == (3, conflict.run_id)


def test_list_and_facets_show_newest_revision() -> None:
    services.record(_first_steps(3))
    services.record(order_run())
    page, facets = _get("runs"), _get("runs/facets")
    assert [(run["revision"], run["steps"]) for run in page["runs"]] == [(2, 5)]  # type: ignore[attr-defined]
    assert page["total"] == 1
    assert facets["apps"] == [{"value": "desk", "count": 1}]
    assert facets["outcomes"] == [{"value": "unknown", "count": 1}]


def test_external_id_finds_newest_revision() -> None:
    services.record(_first_steps(3))
    second = services.record(order_run())
    assert queries.find_run("order-1").id == second.run_id
    assert queries.run_by_trace("order-1").id == second.run_id
    with pytest.raises(NotFound):
        queries.find_run("order-2")


def test_run_names_its_revisions_and_the_latest() -> None:
    first = services.record(_first_steps(2))
    assert _get(f"runs/{first.run_id}")["revisions"] == []
    services.record(_first_steps(3))
    third = services.record(order_run())
    detail = _get(f"runs/{first.run_id}")
    assert detail["latest"] == str(third.run_id)
    assert [revision["revision"] for revision in detail["revisions"]] == [3, 2, 1]  # type: ignore[attr-defined]
    assert _get(f"runs/{third.run_id}")["latest"] is None


def test_stored_recording_names_its_revision() -> None:
    services.record(_first_steps(3))
    assert services.record(order_run()).revision == 2
    assert services.record(order_run()).revision == 2
    assert services.record(_first_steps(3)).revision == 1
    assert services.record(_first_steps(2)).revision == 2


def test_report_names_newer_revisions_of_its_runs() -> None:
    base, candidate = services.record(_first_steps(3)), services.record(replace(order_run(), external_id="order-2"))
    report = diffing.diff(base_id=base.run_id, candidate_id=candidate.run_id, options=DiffOptions(similarity="lexical"))
    stored = DiffReport.objects.values_list("body", flat=True).get(id=report.id)
    assert _get(f"diffs/{report.id}")["newer_revisions"] == {"base": None, "candidate": None}
    services.record(_first_steps(4))
    newest = services.record(order_run())
    expected = {"base": {"id": str(newest.run_id), "revision": 3, "added_steps": 2}, "candidate": None}
    assert _get(f"diffs/{report.id}")["newer_revisions"] == expected
    _, token = create_link(Subject(ShareKind.DIFF, report.id, report.candidate_id), ShareRequest())
    assert _get(f"share/{token}")["newer_revisions"] == expected
    assert DiffReport.objects.values_list("body", flat=True).get(id=report.id) == stored


def test_fork_keeps_its_revision() -> None:
    first = services.record(_first_steps(3))
    fork = services.open_run(name="fork", app="desk", source_run=Run.objects.get(id=first.run_id), fork_sequence_no=2)
    services.record(order_run())
    assert Run.objects.get(id=fork.id).source_run_id == first.run_id


@pytest.mark.parametrize("name", ["claude_code.jsonl", "codex.jsonl", "gemini_cli.jsonl"])
def test_session_file_that_grew_is_imported_as_revision(name: str) -> None:
    lines = (fixtures.FOLDER / name).read_bytes().splitlines(keepends=True)

    def import_lines(count: int) -> list[ImportedRun]:
        file = NamedFile(name=name, file=io.BytesIO(b"".join(lines[:count])))
        return import_files.import_files([file]).runs

    earlier = {run.external_id: run for run in import_lines(len(lines) // 2)}
    grown = [run for run in import_lines(len(lines)) if run.external_id in earlier and run.created]
    assert grown
    for run in grown:
        assert (run.revision, run.supersedes) == (2, earlier[run.external_id].id)
        assert run.conflicts_with is None


@pytest.mark.django_db(transaction=True)
def test_concurrent_writers_make_one_revision_each() -> None:
    services.record(_first_steps(2))
    recordings = [_first_steps(3), order_run(), _first_steps(3), order_run()]
    results: list[RecordResult] = []

    def store(recording: RecordedRun) -> None:
        try:
            results.append(services.record(recording))
        finally:
            connection.close()

    threads = [threading.Thread(target=store, args=(recording,)) for recording in recordings]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    revisions = list(Run.objects.order_by("revision").values_list("revision", "step_count"))
    assert len(results) == len(recordings)
    assert [revision for revision, _ in revisions] == list(range(1, len(revisions) + 1))
    assert {steps for _, steps in revisions} <= {2, 3, 5}
    assert max(steps for _, steps in revisions) == 5
