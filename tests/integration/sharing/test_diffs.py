"""Diffs over REST, from stored runs."""

import json
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import jsonschema_rs
import pytest
from django.core.cache import cache
from django.db import DatabaseError, connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext
from pytest_django import DjangoCaptureOnCommitCallbacks

from diffing import compute, queries, services, tasks
from diffing.content import embeddings
from diffing.models import DiffReport
from diffing.schemas.report import CURRENT_FIELDS, DiffList, DiffOptions, DiffPending, DiffStatus
from diffing.schemas.report import DiffReport as Report
from tests.support.comparing import agent, failing_refund, fixed_refund, output, tool
from tests.support.queues import capture_tasks
from tests.support.stored_diffs import share_diff, store_run
from traces.core.ids import new_id
from traces.core.vocabulary import EdgeKind, Label, Reason, RunStatus, StepStatus, StepType
from traces.errors import RunInUse
from traces.models import Edge, Run
from traces.origins import stored_provenance
from traces.provenance.edge_facts import EdgeFact
from traces.runs import services as traces
from traces.sharing import links

pytestmark = [pytest.mark.django_db, pytest.mark.divided]
LEXICAL = DiffOptions(similarity="lexical")


@pytest.fixture(autouse=True)
def _fresh_windows() -> None:
    cache.clear()


def reusing_fork(source: Run, steps: int) -> Run:
    """A replay that reuses every step."""
    run = traces.open_run(name="fork", app=source.app, source_run=source, fork_sequence_no=1)
    traces.copy_steps(
        source_run_id=source.id,
        run_id=run.id,
        first=1,
        last=steps,
        label=Label.EXACT,
        reason=Reason.SOURCE_OUTPUT_REUSED,
    )
    traces.seal_run(run.id, RunStatus.COMPLETED)
    return Run.objects.get(id=run.id)


def test_links_between_two_steps_have_the_strongest_first() -> None:
    run = traces.open_run(name="desk", app="desk")
    kinds = [EdgeKind.TOOL_CALL_ID, EdgeKind.LINK, EdgeKind.TEXT]
    for order in (kinds, kinds[::-1]):
        Edge.objects.all().delete()
        stored_provenance.insert_edges((run.id, EdgeFact(producer=1, consumer=2, kind=kind)) for kind in order)
        assert [link.kind for link in queries.side(run, links=True).links([2])] == kinds


def post_diff(base: Run, candidate: Run, similarity: str = "lexical") -> Any:
    body = {"base": str(base.id), "candidate": str(candidate.id), "options": {"similarity": similarity}}
    return Client().post("/api/v1/diffs", body, content_type="application/json")


@pytest.fixture
def diff() -> DiffReport:
    base, candidate = store_run(failing_refund()), store_run(fixed_refund())
    return services.diff(base_id=base.id, candidate_id=candidate.id, options=LEXICAL)


def test_loaded_steps_have_typed_fields() -> None:
    """Proofs compare them by identity."""
    steps = queries.side(store_run(failing_refund()), links=False).steps
    assert all(isinstance(step.type, StepType) and isinstance(step.status, StepStatus) for step in steps)
    assert {step.status for step in steps} == {StepStatus.OK, StepStatus.ERROR}


def test_comparison_has_a_verdict_sentence() -> None:
    answer = post_diff(store_run(failing_refund(), "before"), store_run(fixed_refund(), "after"))
    assert answer.status_code == 200
    report = Report.model_validate_json(answer.content)
    assert (report.base.name, report.candidate.name) == ("before", "after")
    assert "changed issue_refund's amount from 4200 to 42, so issue_refund succeeded" in report.attribution.sentence
    assert report.sections.output.items[0].text is not None
    assert report.scores.tools.total_original == 2


def test_repeated_request_returns_the_same_report() -> None:
    base, candidate = store_run(failing_refund()), store_run(fixed_refund())
    assert post_diff(base, candidate).content == post_diff(base, candidate).content
    assert DiffReport.objects.count() == 1
    assert post_diff(candidate, base).json()["id"] != post_diff(base, candidate).json()["id"]


def test_report_states_each_field_once(diff: DiffReport) -> None:
    """The fields that follow the state of the runs are added to the stored report."""
    pairs: list[tuple[str, Any]] = json.loads(queries.body(diff.id), object_pairs_hook=lambda pairs: pairs)
    names = [name for name, _ in pairs]
    assert len(names) == len(set(names))
    assert set(names) >= CURRENT_FIELDS


def test_ready_report_is_not_recomputed(diff: DiffReport, monkeypatch: pytest.MonkeyPatch) -> None:
    before = queries.body(diff.id)
    monkeypatch.setattr(compute, "build_report", None)
    compute.compute(diff.id)
    compute.give_up(diff.id, "too late")
    assert queries.body(diff.id) == before
    assert queries.find(diff.id).status == DiffStatus.READY


def test_lineage_spans_forks_of_forks() -> None:
    source = store_run(failing_refund())
    fork = reusing_fork(source, 7)
    twice = reusing_fork(fork, 7)
    for base, candidate in (
        (source, fork),
        (source, twice),
        (fork, twice),
        (twice, source),
        (fork, reusing_fork(source, 7)),
    ):
        report = queries.report(services.diff(base_id=base.id, candidate_id=candidate.id, options=LEXICAL).id)
        assert {pair.found_by for pair in report.pairs} == {"lineage"}
        assert report.attribution.verdict == "no_difference"


def test_running_run_is_rejected() -> None:
    base = store_run(failing_refund())
    answer = post_diff(base, traces.open_run(name="now", app="desk"))
    assert (answer.status_code, answer.json()["code"], answer.json()["where"]) == (
        409,
        "source_not_sealed",
        "/candidate",
    )


def test_unknown_run_is_not_found() -> None:
    base = store_run(failing_refund())
    body = {"base": str(base.id), "candidate": str(new_id())}
    answer = Client().post("/api/v1/diffs", body, content_type="application/json")
    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")


@pytest.mark.parametrize("body", [{}, {"base": "x"}, {"base": "x", "candidate": "y", "more": 1}])
def test_malformed_request_is_rejected(body: dict[str, Any]) -> None:
    assert Client().post("/api/v1/diffs", body, content_type="application/json").status_code == 422


def test_report_formats_are_json_markdown_and_html(diff: DiffReport) -> None:
    path = f"/api/v1/diffs/{diff.id}"
    as_json, as_md, as_html = (Client().get(path, {"format": form}) for form in ("json", "md", "html"))
    assert Report.model_validate_json(as_json.content).id == diff.id
    assert as_md["Content-Type"] == "text/markdown; charset=utf-8"
    assert as_html.content.startswith(b"<!doctype html>")
    assert "default-src 'none'" in as_html["Content-Security-Policy"]
    assert Client().get(path, {"format": "pdf"}).status_code == 400


def test_list_is_newest_first_and_filters_by_run(diff: DiffReport) -> None:
    second = services.diff(base_id=store_run(failing_refund()).id, candidate_id=diff.candidate_id, options=LEXICAL)
    entries = DiffList.model_validate_json(Client().get("/api/v1/diffs").content).diffs
    assert [first.id for first in entries] == [second.id, diff.id]
    assert entries[0].sentence.startswith("Suspected, not proved: adding")
    of_one = DiffList.model_validate_json(Client().get("/api/v1/diffs", {"run": str(diff.base_id)}).content).diffs
    assert [first.id for first in of_one] == [diff.id]


def test_query_count_does_not_grow_with_steps() -> None:
    def long(count: int, changed: int) -> Run:
        calls = [tool("get", "c1", {"id": n}, {"n": -1 if n == changed else n}) for n in range(count)]
        return store_run([agent(), *calls, output(f"done with {changed}")])

    def cost(count: int) -> int:
        base, candidate = long(count, -1), long(count, count // 2)
        for run in (base, candidate):
            # Otherwise the first diff computes it, with queries of its own.
            stored_provenance.ensure(run.id)
        with CaptureQueriesContext(connection) as captured_queries:
            services.diff(base_id=base.id, candidate_id=candidate.id, options=LEXICAL)
        return len(captured_queries)

    assert cost(20) == cost(400) < 27


def _refuse_texts(texts: Sequence[str]) -> dict[str, list[float]]:
    assert not texts, "these texts were embedded before"
    return {}


class TestWithEmbeddings:
    """The model is too large for a web process, so a worker computes the report."""

    @pytest.fixture(autouse=True)
    def _extra(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(embeddings, "is_installed", lambda: True)
        monkeypatch.setattr(embeddings, "encode", lambda texts: {text: [1.0, len(text) / 100] for text in texts})
        self.pending_ids = capture_tasks(monkeypatch, "diffing.tasks.compute")

    def ask(self, on_commit: DjangoCaptureOnCommitCallbacks, base: Run, candidate: Run) -> Any:
        with on_commit(execute=True):
            return post_diff(base, candidate, similarity="auto")

    def test_report_is_pending_until_worker_finishes(
        self, django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks
    ) -> None:
        base, candidate = store_run(failing_refund()), store_run(fixed_refund())
        answer = self.ask(django_capture_on_commit_callbacks, base, candidate)
        assert answer.status_code == 202
        pending = DiffPending.model_validate_json(answer.content)
        assert (pending.status, self.pending_ids) == ("pending", [str(pending.id)])
        assert Client().get(f"/api/v1/diffs/{pending.id}").status_code == 202

        tasks.compute(str(pending.id))
        ready = Client().get(f"/api/v1/diffs/{pending.id}")
        assert Report.model_validate_json(ready.content).scores.similarity_method == "embeddings"
        assert self.ask(django_capture_on_commit_callbacks, base, candidate).status_code == 200
        assert len(self.pending_ids) == 1

    def test_swapped_report_reuses_embeddings(
        self, django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        base, candidate = store_run(failing_refund()), store_run(fixed_refund())
        first, swapped_id = (
            self.ask(django_capture_on_commit_callbacks, *sides).json()["id"]
            for sides in ((base, candidate), (candidate, base))
        )
        tasks.compute(first)
        monkeypatch.setattr(embeddings, "encode", _refuse_texts)
        tasks.compute(swapped_id)
        scores = [Client().get(f"/api/v1/diffs/{diff}").json()["scores"] for diff in (first, swapped_id)]
        assert scores[0]["output_similarity"] == scores[1]["output_similarity"]
        assert {score["similarity_method"] for score in scores} == {"embeddings"}

    def test_failed_report_is_retried_on_request(
        self, django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        base, candidate = store_run(failing_refund()), store_run(fixed_refund())
        pending = self.ask(django_capture_on_commit_callbacks, base, candidate).json()["id"]
        with monkeypatch.context() as broken:
            broken.setattr(embeddings, "encode", lambda texts: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                tasks.compute(pending)
        failed = Client().get(f"/api/v1/diffs/{pending}")
        assert failed.status_code == 500
        assert "division by zero" in failed.json()["detail"]
        assert self.ask(django_capture_on_commit_callbacks, base, candidate).json() == {
            "id": pending,
            "status": "pending",
            "error": "",
        }
        tasks.compute(pending)
        assert Client().get(f"/api/v1/diffs/{pending}").status_code == 200

    def test_abandoned_report_is_requeued_once(
        self, django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks
    ) -> None:
        base, candidate = store_run(failing_refund()), store_run(fixed_refund())
        pending = self.ask(django_capture_on_commit_callbacks, base, candidate).json()["id"]
        assert services.requeue_unfinished() == 0  # it may still be at work
        DiffReport.objects.update(created_at="2020-01-01T00:00:00Z")
        with django_capture_on_commit_callbacks(execute=True):
            assert [services.requeue_unfinished() for _ in range(2)] == [1, 0]
        assert self.pending_ids == [pending, pending]
        tasks.compute(pending)
        assert services.requeue_unfinished(waiting_for=timedelta(0)) == 0

    def test_lexical_report_needs_no_worker(self) -> None:
        assert post_diff(store_run(failing_refund()), store_run(fixed_refund())).status_code == 200
        assert self.pending_ids == []


class TestNothingChanges:
    """The database keeps reports immutable, even against plain SQL."""

    @pytest.mark.parametrize(
        ("statement", "message"),
        [
            ("UPDATE diffing_diffreport SET sentence = 'x'", "report that is made cannot be changed"),
            ("UPDATE diffing_diffreport SET status = 'pending'", "report that is made cannot be changed"),
            ("DELETE FROM diffing_diffreport", "report cannot be deleted"),
            ("UPDATE traces_sharelink SET kind = 'run'", "a share link opens one subject"),
            ("UPDATE traces_sharelink SET token_hash = 'x'", "a share link opens one subject"),
            ("UPDATE traces_sharelink SET revoked_at = NULL", "a share link opens one subject"),
        ],
    )
    def test_plain_sql_is_rejected(self, diff: DiffReport, statement: str, message: str) -> None:
        _, link = share_diff(diff.id)
        links.revoke_link(link, by="")
        with pytest.raises(DatabaseError, match=message), transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(statement)

    def test_report_pins_its_runs(self, diff: DiffReport) -> None:
        with pytest.raises(RunInUse, match=f"referenced by diff report {diff.id}"), traces.retention():
            Run.objects.filter(id__in=[diff.base_id, diff.candidate_id]).delete()
        assert Run.objects.filter(id__in=[diff.base_id, diff.candidate_id]).count() == 2

    def test_deleted_report_releases_its_runs(self, diff: DiffReport) -> None:
        with traces.retention():
            DiffReport.objects.filter(id=diff.id).delete()
            Run.objects.filter(id__in=[diff.base_id, diff.candidate_id]).delete()
        assert not Run.objects.exists()

    def test_scores_are_stored_as_columns(self, diff: DiffReport) -> None:
        diff.refresh_from_db()
        scores = queries.report(diff.id).scores
        assert (diff.output_similarity, diff.tool_accuracy) == (scores.output_similarity, scores.tool_accuracy)

    def test_report_fits_its_published_schema(self, diff: DiffReport) -> None:
        schema = Client().get("/api/v1/schemas/diff-report.json")
        assert schema.status_code == 200
        report = Client().get(f"/api/v1/diffs/{diff.id}").json()
        jsonschema_rs.validate(schema.json(), report)
        with pytest.raises(jsonschema_rs.ValidationError):
            jsonschema_rs.validate(schema.json(), {**report, "scores": {}})
