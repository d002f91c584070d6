"""Diffs over REST, from stored runs."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import jsonschema_rs
import pytest
from django.core.cache import cache, caches
from django.db import DatabaseError, connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext
from pytest_django import DjangoCaptureOnCommitCallbacks, Settings

from cockpit import tokens
from diffing import embeddings, queries, runner, services, tasks
from diffing.models import DiffReport, DiffStatus, ShareLink
from diffing.schemas import DiffList, DiffOptions, DiffPending
from diffing.schemas import DiffReport as Report
from tests.comparing import ACCEPTED, Given, agent, failing_refund, fixed_refund, output, tool
from traces import services as traces
from traces.ids import new_id
from traces.models import Run
from traces.problems import Pinned
from traces.recording import RecordedRun, RecordedStep
from traces.vocabulary import Label, Reason, RunStatus, StepStatus

pytestmark = pytest.mark.django_db
LEXICAL = DiffOptions(similarity="lexical")


@pytest.fixture(autouse=True)
def _fresh_windows() -> None:
    cache.clear()


def recorded(given: Sequence[Given], name: str = "run") -> Run:
    """A run as an importer would have stored it."""
    steps = tuple(
        RecordedStep(
            key=str(number), type=step.type, name=step.name, parent=str(step.parent) if step.parent else None,
            status=StepStatus(step.status), input=step.input, output=step.output, model=step.model,
            call_id=step.call_id, tool_name=step.name if step.type == "tool" else "",
        )
        for number, step in enumerate(given, 1)
    )  # fmt: skip
    run = RecordedRun(external_id=str(uuid4()), name=name, app="desk", format="test", steps=steps)
    return Run.objects.get(id=traces.record(run).run_id)


def forked(source: Run, steps: int) -> Run:
    """A replay that reused every step."""
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


def posted(base: Run, candidate: Run, similarity: str = "lexical") -> Any:
    body = {"base": str(base.id), "candidate": str(candidate.id), "options": {"similarity": similarity}}
    return Client().post("/api/v1/diffs", body, content_type="application/json")


def shared(diff_id: UUID, **body: Any) -> tuple[str, UUID]:
    """The token and the id of a new link."""
    answer = Client().post(f"/api/v1/diffs/{diff_id}/shares", body, content_type="application/json")
    assert answer.status_code == 201, answer.content
    return answer.json()["url"].rpartition("/share/")[2], UUID(answer.json()["id"])


@pytest.fixture
def diff() -> DiffReport:
    base, candidate = recorded(failing_refund()), recorded(fixed_refund())
    return services.diff(base_id=base.id, candidate_id=candidate.id, options=LEXICAL)


def test_two_runs_are_compared_and_the_verdict_is_a_sentence() -> None:
    answer = posted(recorded(failing_refund(), "before"), recorded(fixed_refund(), "after"))
    assert answer.status_code == 200
    report = Report.model_validate_json(answer.content)
    assert (report.base.name, report.candidate.name) == ("before", "after")
    assert "changed issue_refund's amount from 4200 to 42, so issue_refund succeeded" in report.attribution.sentence
    assert report.sections.output.items[0].text is not None
    assert report.scores.tools.total_original == 2


def test_asking_twice_gives_the_same_report() -> None:
    base, candidate = recorded(failing_refund()), recorded(fixed_refund())
    assert posted(base, candidate).content == posted(base, candidate).content
    assert DiffReport.objects.count() == 1
    assert posted(candidate, base).json()["id"] != posted(base, candidate).json()["id"]


def test_a_ready_report_is_never_computed_again(diff: DiffReport, monkeypatch: pytest.MonkeyPatch) -> None:
    before = queries.body(diff.id)
    monkeypatch.setattr(runner, "report", None)
    runner.compute(diff.id)
    runner.give_up(diff.id, "too late")
    assert queries.body(diff.id) == before
    assert queries.find(diff.id).status == DiffStatus.READY


def test_a_replay_is_aligned_by_lineage_over_forks_of_forks() -> None:
    source = recorded(failing_refund())
    once = forked(source, 7)
    twice = forked(once, 7)
    for base, candidate in ((source, once), (source, twice), (once, twice), (twice, source), (once, forked(source, 7))):
        report = queries.report(services.diff(base_id=base.id, candidate_id=candidate.id, options=LEXICAL).id)
        assert {pair.found_by for pair in report.pairs} == {"lineage"}
        assert report.attribution.verdict == "no_difference"


def test_a_run_that_is_still_recorded_is_refused() -> None:
    base = recorded(failing_refund())
    answer = posted(base, traces.open_run(name="now", app="desk"))
    assert (answer.status_code, answer.json()["code"], answer.json()["where"]) == (
        409,
        "source_not_sealed",
        "/candidate",
    )


def test_an_unknown_run_is_not_found() -> None:
    base = recorded(failing_refund())
    body = {"base": str(base.id), "candidate": str(new_id())}
    answer = Client().post("/api/v1/diffs", body, content_type="application/json")
    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")


@pytest.mark.parametrize("body", [{}, {"base": "x"}, {"base": "x", "candidate": "y", "more": 1}])
def test_a_request_that_is_no_request_is_named(body: dict[str, Any]) -> None:
    assert Client().post("/api/v1/diffs", body, content_type="application/json").status_code == 422


def test_reports_come_as_json_markdown_and_html(diff: DiffReport) -> None:
    path = f"/api/v1/diffs/{diff.id}"
    as_json, as_md, as_html = (Client().get(path, {"format": form}) for form in ("json", "md", "html"))
    assert Report.model_validate_json(as_json.content).id == diff.id
    assert as_md["Content-Type"] == "text/markdown; charset=utf-8"
    assert as_html.content.startswith(b"<!doctype html>")
    assert "default-src 'none'" in as_html["Content-Security-Policy"]
    assert Client().get(path, {"format": "pdf"}).status_code == 400


def test_the_list_shows_the_newest_and_those_of_one_run(diff: DiffReport) -> None:
    other = services.diff(base_id=recorded(failing_refund()).id, candidate_id=diff.candidate_id, options=LEXICAL)
    listed = DiffList.model_validate_json(Client().get("/api/v1/diffs").content).diffs
    assert [one.id for one in listed] == [other.id, diff.id]
    assert listed[0].sentence.startswith("Most likely, adding")
    of_one = DiffList.model_validate_json(Client().get("/api/v1/diffs", {"run": str(diff.base_id)}).content).diffs
    assert [one.id for one in of_one] == [diff.id]


def test_the_number_of_queries_does_not_grow_with_the_runs() -> None:
    def long(count: int, changed: int) -> Run:
        calls = [tool("get", "c1", {"id": n}, {"n": -1 if n == changed else n}) for n in range(count)]
        return recorded([agent(), *calls, output(f"done with {changed}")])

    def cost(count: int) -> int:
        base, candidate = long(count, -1), long(count, count // 2)
        with CaptureQueriesContext(connection) as captured:
            services.diff(base_id=base.id, candidate_id=candidate.id, options=LEXICAL)
        return len(captured)

    assert cost(20) == cost(400) < 25


def _refuse_texts(texts: Sequence[str]) -> dict[str, list[float]]:
    assert not texts, "these texts were embedded before"
    return {}


class TestWithEmbeddings:
    """The model is too large for a web process: a worker makes the report."""

    @pytest.fixture(autouse=True)
    def _extra(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(embeddings, "installed", lambda: True)
        monkeypatch.setattr(embeddings, "encode", lambda texts: {text: [1.0, len(text) / 100] for text in texts})
        self.queued: list[str] = []
        monkeypatch.setattr(tasks.compute, "delay", self.queued.append)

    def ask(self, on_commit: DjangoCaptureOnCommitCallbacks, base: Run, candidate: Run) -> Any:
        with on_commit(execute=True):
            return posted(base, candidate, similarity="auto")

    def test_the_answer_is_a_promise_until_the_worker_is_done(
        self, django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks
    ) -> None:
        base, candidate = recorded(failing_refund()), recorded(fixed_refund())
        answer = self.ask(django_capture_on_commit_callbacks, base, candidate)
        assert answer.status_code == 202
        promised = DiffPending.model_validate_json(answer.content)
        assert (promised.status, self.queued) == ("pending", [str(promised.id)])
        assert Client().get(f"/api/v1/diffs/{promised.id}").status_code == 202

        tasks.compute(str(promised.id))
        ready = Client().get(f"/api/v1/diffs/{promised.id}")
        assert Report.model_validate_json(ready.content).scores.similarity_method == "embeddings"
        assert self.ask(django_capture_on_commit_callbacks, base, candidate).status_code == 200
        assert len(self.queued) == 1

    def test_the_swapped_report_needs_no_embedding(
        self, django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        base, candidate = recorded(failing_refund()), recorded(fixed_refund())
        first, swapped = (
            self.ask(django_capture_on_commit_callbacks, *sides).json()["id"]
            for sides in ((base, candidate), (candidate, base))
        )
        tasks.compute(first)
        monkeypatch.setattr(embeddings, "encode", _refuse_texts)
        tasks.compute(swapped)
        scores = [Client().get(f"/api/v1/diffs/{diff}").json()["scores"] for diff in (first, swapped)]
        assert scores[0]["output_similarity"] == scores[1]["output_similarity"]
        assert {score["similarity_method"] for score in scores} == {"embeddings"}

    def test_a_failure_is_told_and_asking_again_tries_again(
        self, django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        base, candidate = recorded(failing_refund()), recorded(fixed_refund())
        promised = self.ask(django_capture_on_commit_callbacks, base, candidate).json()["id"]
        with monkeypatch.context() as broken:
            broken.setattr(embeddings, "encode", lambda texts: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                tasks.compute(promised)
        failed = Client().get(f"/api/v1/diffs/{promised}")
        assert failed.status_code == 500
        assert "ZeroDivisionError" in failed.json()["detail"]
        assert self.ask(django_capture_on_commit_callbacks, base, candidate).json() == {
            "id": promised, "status": "pending", "error": "",
        }  # fmt: skip
        tasks.compute(promised)
        assert Client().get(f"/api/v1/diffs/{promised}").status_code == 200

    def test_a_report_whose_worker_is_gone_is_given_to_another_one_once(
        self, django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks
    ) -> None:
        base, candidate = recorded(failing_refund()), recorded(fixed_refund())
        promised = self.ask(django_capture_on_commit_callbacks, base, candidate).json()["id"]
        assert services.requeue_unfinished() == 0  # it may still be at work
        DiffReport.objects.update(created_at="2020-01-01T00:00:00Z")
        with django_capture_on_commit_callbacks(execute=True):
            assert [services.requeue_unfinished() for _ in range(2)] == [1, 0]
        assert self.queued == [promised, promised]
        tasks.compute(promised)
        assert services.requeue_unfinished(waiting_for=timedelta(0)) == 0

    def test_declining_them_needs_no_worker(self) -> None:
        assert posted(recorded(failing_refund()), recorded(fixed_refund())).status_code == 200
        assert self.queued == []


class TestNothingChanges:
    """What is reported stays as it was, whoever asks the database."""

    @pytest.mark.parametrize(
        ("statement", "message"),
        [
            ("UPDATE diffing_diffreport SET sentence = 'x'", "report that is made cannot be changed"),
            ("UPDATE diffing_diffreport SET status = 'pending'", "report that is made cannot be changed"),
            ("DELETE FROM diffing_diffreport", "report cannot be deleted"),
            ("UPDATE diffing_sharelink SET token_hash = 'x'", "a share link opens one report"),
            ("UPDATE diffing_sharelink SET revoked_at = NULL", "a share link opens one report"),
        ],
    )
    def test_plain_sql_is_refused(self, diff: DiffReport, statement: str, message: str) -> None:
        _, link = shared(diff.id)
        services.revoke(link)
        with pytest.raises(DatabaseError, match=message), transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(statement)

    def test_a_report_pins_its_runs_and_is_named_when_they_should_go(self, diff: DiffReport) -> None:
        with pytest.raises(Pinned, match=f"pinned by diff report {diff.id}"), traces.retention():
            Run.objects.filter(id__in=[diff.base_id, diff.candidate_id]).delete()
        assert Run.objects.filter(id__in=[diff.base_id, diff.candidate_id]).count() == 2

    def test_with_the_report_its_runs_may_go(self, diff: DiffReport) -> None:
        with traces.retention():
            DiffReport.objects.filter(id=diff.id).delete()
            Run.objects.filter(id__in=[diff.base_id, diff.candidate_id]).delete()
        assert not Run.objects.exists()

    def test_its_scores_are_columns_too(self, diff: DiffReport) -> None:
        diff.refresh_from_db()
        scores = queries.report(diff.id).scores
        assert (diff.output_similarity, diff.tool_accuracy) == (scores.output_similarity, scores.tool_accuracy)

    def test_it_fits_its_published_schema(self, diff: DiffReport) -> None:
        schema = Client().get("/api/v1/schemas/diff-report.json")
        assert schema.status_code == 200
        report = Client().get(f"/api/v1/diffs/{diff.id}").json()
        jsonschema_rs.validate(schema.json(), report)
        with pytest.raises(jsonschema_rs.ValidationError):
            jsonschema_rs.validate(schema.json(), {**report, "scores": {}})


class TestShareLinks:
    def test_the_token_opens_the_report_and_counts_the_view(self, diff: DiffReport) -> None:
        token, link = shared(diff.id)
        answer = Client().get(f"/api/v1/share/{token}")
        assert answer.content == queries.body(diff.id)
        assert answer["X-Robots-Tag"] == "noindex, nofollow"
        assert answer["Referrer-Policy"] == "no-referrer"
        listed = Client().get(f"/api/v1/diffs/{diff.id}/shares").json()["shares"]
        assert [(one["id"], one["views"], one["url"]) for one in listed] == [(str(link), 1, None)]

    def test_it_opens_as_one_html_file_too(self, diff: DiffReport) -> None:
        token, _ = shared(diff.id)
        assert ACCEPTED.encode() in Client().get(f"/api/v1/share/{token}", {"format": "html"}).content

    def test_tokens_are_unguessable_and_kept_as_hashes(self, diff: DiffReport) -> None:
        tokens = {shared(diff.id)[0] for _ in range(20)}
        assert len(tokens) == 20
        assert all(token.startswith("fps_") and (len(token) - 4) * 6 >= 190 for token in tokens)
        stored = "".join(str(value) for row in ShareLink.objects.values() for value in row.values())
        assert not any(token in stored or token[4:] in stored for token in tokens)

    def test_unknown_expired_and_revoked_links_are_one_answer(self, diff: DiffReport) -> None:
        revoked, link = shared(diff.id)
        assert Client().delete(f"/api/v1/shares/{link}").json()["revoked_at"]
        expired, old = shared(diff.id, expires_in_s=60)
        ShareLink.objects.filter(id=old).update(expires_at="2020-01-01T00:00:00Z")
        answers = [Client().get(f"/api/v1/share/{token}") for token in ("fps_nothing", revoked, expired)]
        assert [answer.status_code for answer in answers] == [404, 404, 404]
        bodies = [{key: value for key, value in answer.json().items() if key != "request_id"} for answer in answers]
        assert bodies[0] == bodies[1] == bodies[2]
        assert {tuple(sorted(answer.headers)) for answer in answers} == {tuple(sorted(answers[0].headers))}

    def test_used_up_switched_off_and_foreign_links_are_the_same_answer(
        self, diff: DiffReport, settings: Settings
    ) -> None:
        once, _ = shared(diff.id, max_views=1)
        signed_in, _ = shared(diff.id, audience="signed_in")
        named, _ = shared(diff.id, audience="people", people=["Ada"])
        anyone, _ = shared(diff.id)
        assert Client().get(f"/api/v1/share/{once}").status_code == 200
        settings.LOGIN_REQUIRED = True
        stranger = Client(headers={"Authorization": f"Bearer {tokens.create(name='Bob', role='viewer')}"})
        answers = [Client().get(f"/api/v1/share/{token}") for token in ("fps_nothing", once, signed_in, named)]
        settings.SHARING = False
        answers.append(Client().get(f"/api/v1/share/{anyone}"))
        settings.SHARING = True
        headers = {tuple(sorted(answer.headers)) for answer in answers}
        answers.append(stranger.get(f"/api/v1/share/{named}"))  # another request: it sends a token
        assert {answer.status_code for answer in answers} == {404}
        bodies = [{key: value for key, value in answer.json().items() if key != "request_id"} for answer in answers]
        assert all(body == bodies[0] for body in bodies)
        assert len(headers) == 1

    def test_every_closed_link_takes_the_same_statements(self, diff: DiffReport) -> None:
        """So that the time an answer takes tells nothing either."""
        revoked, link = shared(diff.id)
        Client().delete(f"/api/v1/shares/{link}")
        expired, _ = shared(diff.id, expires_in_s=60)
        ShareLink.objects.filter(expires_at__isnull=False).update(expires_at="2020-01-01T00:00:00Z")
        used, _ = shared(diff.id, max_views=1)
        Client().get(f"/api/v1/share/{used}")
        made = []
        for token in ("fps_nothing", revoked, expired, used):
            with CaptureQueriesContext(connection) as queries_made:
                assert Client().get(f"/api/v1/share/{token}").status_code == 404
            made.append([query["sql"].split()[0] for query in queries_made])
        assert made == [["SELECT", "UPDATE"]] * 4

    def test_a_link_for_named_people_opens_for_them(self, diff: DiffReport, settings: Settings) -> None:
        token, _ = shared(diff.id, audience="people", people=["Ada", "Eve"])
        settings.LOGIN_REQUIRED = True
        ada = Client(headers={"Authorization": f"Bearer {tokens.create(name='Ada', role='viewer')}"})
        assert ada.get(f"/api/v1/share/{token}").status_code == 200
        [listed] = ada.get(f"/api/v1/diffs/{diff.id}/shares").json()["shares"]
        assert (listed["audience"], listed["people"], listed["views"]) == ("people", ["Ada", "Eve"], 1)

    def test_the_last_view_is_given_once(self, diff: DiffReport) -> None:
        token, link = shared(diff.id, max_views=3)
        statuses = [Client().get(f"/api/v1/share/{token}").status_code for _ in range(5)]
        assert statuses == [200, 200, 200, 404, 404]
        assert ShareLink.objects.get(id=link).views == 3

    @pytest.mark.parametrize(
        "body", [{"audience": "people"}, {"people": ["Ada"]}, {"max_views": 0}, {"audience": "all"}]
    )
    def test_a_link_that_makes_no_sense_is_refused(self, diff: DiffReport, body: dict[str, Any]) -> None:
        path = f"/api/v1/diffs/{diff.id}/shares"
        assert Client().post(path, body, content_type="application/json").status_code == 422

    def test_a_server_that_shares_nothing_makes_no_links_and_says_so(
        self, diff: DiffReport, settings: Settings
    ) -> None:
        settings.SHARING = False
        path = f"/api/v1/diffs/{diff.id}/shares"
        refused = Client().post(path, {}, content_type="application/json")
        assert (refused.status_code, refused.json()["code"]) == (409, "conflict")
        assert Client().get(path).json() == {"enabled": False, "shares": []}

    def test_a_link_with_time_left_opens(self, diff: DiffReport) -> None:
        token, _ = shared(diff.id, expires_in_s=60)
        assert Client().get(f"/api/v1/share/{token}").status_code == 200

    def test_it_needs_no_login_and_opens_nothing_else(self, diff: DiffReport, settings: Settings) -> None:
        token, _ = shared(diff.id)
        settings.LOGIN_REQUIRED = True
        stranger = Client(headers={"Authorization": f"Bearer {token}"})
        assert stranger.get(f"/api/v1/share/{token}").status_code == 200
        closed = ("diffs", f"diffs/{diff.id}", f"diffs/{diff.id}/shares", f"runs/{diff.base_id}", "runs")
        assert {stranger.get(f"/api/v1/{path}").status_code for path in closed} == {401}

    def test_revoking_twice_keeps_the_first_time(self, diff: DiffReport) -> None:
        _, link = shared(diff.id)
        first = Client().delete(f"/api/v1/shares/{link}").json()["revoked_at"]
        assert Client().delete(f"/api/v1/shares/{link}").json()["revoked_at"] == first
        assert Client().delete(f"/api/v1/shares/{new_id()}").status_code == 404

    def test_openings_are_counted_by_all_processes_together(self, diff: DiffReport, settings: Settings) -> None:
        """On Redis another process finds the same window; a single process needs no Redis."""
        Client().get("/api/v1/share/fps_nothing")
        elsewhere = caches.create_connection("default")
        assert elsewhere.get("share-window:127.0.0.1") == 1
        assert ("redis" in settings.CACHES["default"]["BACKEND"]) is not settings.EMBEDDED

    def test_guessing_is_slowed_down(self, diff: DiffReport) -> None:
        token, _ = shared(diff.id)
        statuses = [Client().get(f"/api/v1/share/fps_{n}").status_code for n in range(121)]
        assert statuses[-1] == 429
        assert Client().get(f"/api/v1/share/{token}").status_code == 429

    def test_there_is_no_link_to_a_report_that_is_not_there(self) -> None:
        answer = Client().post(f"/api/v1/diffs/{new_id()}/shares", {}, content_type="application/json")
        assert answer.status_code == 404

    @pytest.mark.parametrize("seconds", [0, -5, "soon"])
    def test_an_expiry_must_lie_ahead(self, diff: DiffReport, seconds: Any) -> None:
        body = {"expires_in_s": seconds}
        assert (
            Client().post(f"/api/v1/diffs/{diff.id}/shares", body, content_type="application/json").status_code == 422
        )
