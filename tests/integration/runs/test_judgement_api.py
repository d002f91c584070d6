"""Judging runs over REST, and the outcomes in the list of runs."""

from dataclasses import replace
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from cockpit.http import tokens
from cockpit.http.schemas import Role
from tests.support.recordings import order_run
from traces.core.recorded_run import RecordedJudgement
from traces.core.vocabulary import JudgementKind, RunSource, RunStatus
from traces.models import Judgement, Run
from traces.runs import services

pytestmark = [pytest.mark.django_db, pytest.mark.divided]
JSON = "application/json"


def _record(external_id: str, *scores: tuple[str, float], **columns: Any) -> Run:
    judged = tuple(RecordedJudgement(name=name, kind=JudgementKind.SCORE, value=value) for name, value in scores)
    return Run.objects.get(id=services.record(order_run(external_id, judgements=judged, **columns)).run_id)


def _judge(run: Run, **body: Any) -> Any:
    response = Client().post(f"/api/v1/runs/{run.id}/judgements", body, content_type=JSON)
    assert response.status_code == 201, response.content
    return response.json()


def _judgements(run: Run, **query: Any) -> Any:
    response = Client().get(f"/api/v1/runs/{run.id}/judgements", query)
    assert response.status_code == 200, response.content
    return response.json()


def _outcome(run: Run) -> tuple[str, str | None, str]:
    row = Client().get(f"/api/v1/runs/{run.id}").json()
    return row["outcome"], row["outcome_basis"], row["outcome_reason"]


def _list_runs(**query: Any) -> list[str]:
    response = Client().get("/api/v1/runs", query)
    assert response.status_code == 200, response.content
    return [run["external_id"] for run in response.json()["runs"]]


def test_person_overrules_import() -> None:
    run = _record("order-1", ("reward", 0.0))
    assert _outcome(run) == ("failed", "import", "reward 0")
    response = _judge(run, kind="pass", text="the grader was wrong")
    assert (response["source"], response["by"], response["mine"], response["name"]) == (
        "person",
        "local",
        True,
        "verdict",
    )
    assert _outcome(run) == ("passed", "person", "verdict: the grader was wrong")


def test_second_verdict_replaces_own_first() -> None:
    run = _record("order-1")
    _judge(run, kind="pass")
    _judge(run, kind="note", text="looked twice")
    _judge(run, kind="fail")
    assert [judgement["kind"] for judgement in _judgements(run)["judgements"]] == ["note", "fail"]
    trail = _judgements(run, withdrawn="true")["judgements"]
    assert [(judgement["kind"], judgement["withdrawn_at"] is None) for judgement in trail] == [
        ("pass", False),
        ("note", True),
        ("fail", True),
    ]
    assert _outcome(run)[0] == "failed"


def test_step_judgement_keeps_run_outcome() -> None:
    run = _record("order-1")
    _judge(run, kind="fail", step=3, text="wrong order")
    assert [(judgement["step"], judgement["text"]) for judgement in _judgements(run)["judgements"]] == [
        (3, "wrong order")
    ]
    assert _outcome(run) == ("unknown", None, "")


def test_withdrawn_judgement_does_not_count() -> None:
    run = _record("order-1", ("reward", 0.0))
    response = _judge(run, kind="pass")
    assert Client().delete(f"/api/v1/runs/{run.id}/judgements/{response['id']}").status_code == 204
    assert Judgement.objects.get(id=response["id"]).withdrawn_at is not None
    assert _outcome(run)[0] == "failed"
    assert Client().delete(f"/api/v1/runs/{run.id}/judgements/{response['id']}").status_code == 404


def test_only_authors_withdraw(settings: Settings) -> None:
    run = _record("order-1", ("reward", 0.0))
    judgement = _judge(run, kind="pass")
    settings.LOGIN_REQUIRED = True
    imported_judgement = Judgement.objects.get(run=run, name="reward")
    admin = _bearer("admin")
    for judgement_id in (judgement["id"], imported_judgement.id):
        response = Client().delete(f"/api/v1/runs/{run.id}/judgements/{judgement_id}", headers=admin)
        assert (response.status_code, response.json()["code"]) == (403, "auth_forbidden")
    assert Judgement.objects.filter(run=run, withdrawn_at__isnull=True).count() == 2


@pytest.mark.parametrize(("role", "status"), [("viewer", 403), ("debugger", 201)])
def test_judging_needs_the_debugger_role(settings: Settings, role: Role, status: int) -> None:
    run = _record("order-1")
    settings.LOGIN_REQUIRED = True
    response = Client().post(
        f"/api/v1/runs/{run.id}/judgements", {"kind": "pass"}, content_type=JSON, headers=_bearer(role)
    )
    assert response.status_code == status


@pytest.mark.parametrize(
    ("body", "where"),
    [
        ({"kind": "score"}, ""),
        ({"kind": "pass", "value": 1}, ""),
        ({"kind": "note"}, ""),
        ({"kind": "not_run"}, "/kind"),
        ({"kind": "pass", "name": " "}, "/name"),
        ({"kind": "pass", "step": 0}, "/step"),
        ({"kind": "note", "text": "\x00"}, "/text"),
    ],
)
def test_malformed_judgements_are_rejected(body: Any, where: str) -> None:
    response = Client().post(f"/api/v1/runs/{_record('order-1').id}/judgements", body, content_type=JSON)
    assert (response.status_code, response.json()["where"]) == (422, where)


def test_missing_steps_and_open_runs_are_rejected() -> None:
    run = _record("order-1")
    missing = Client().post(f"/api/v1/runs/{run.id}/judgements", {"kind": "pass", "step": 99}, content_type=JSON)
    assert missing.status_code == 404
    live = services.open_run(name="live", app="desk")
    early = Client().post(f"/api/v1/runs/{live.id}/judgements", {"kind": "pass"}, content_type=JSON)
    assert (early.status_code, early.json()["code"]) == (409, "source_not_sealed")


def test_runs_filter_and_sort_by_outcome() -> None:
    for name, scores in {"good": 1.0, "bad": 0.0, "good-2": 1.0, "bad-2": 0.0}.items():
        _record(name, ("reward", scores))
    _record("plain")
    _record("broken", status=RunStatus.FAILED)
    assert _list_runs(outcome="failed") == ["broken", "bad-2", "bad"]
    assert _list_runs(outcome="passed,unknown") == ["plain", "good-2", "good"]
    by_outcome = ["broken", "bad-2", "bad", "good-2", "good", "plain"]
    assert _list_runs(sort="outcome") == by_outcome
    assert _list_runs(sort="-outcome") == ["plain", "good-2", "good", "broken", "bad-2", "bad"]
    assert _pages("outcome") == by_outcome
    facets = Client().get("/api/v1/runs/facets").json()["outcomes"]
    assert {facet["value"]: facet["count"] for facet in facets} == {"failed": 3, "passed": 2, "unknown": 1}


def _pages(sort: str) -> list[str]:
    names: list[str] = []
    cursor = ""
    while True:
        query: dict[str, Any] = {"sort": sort, "limit": 2, "cursor": cursor}
        page = Client().get("/api/v1/runs", query).json()
        names += [run["external_id"] for run in page["runs"]]
        cursor = page["next"]
        if not cursor:
            return names


@pytest.mark.parametrize("query", [{"outcome": "green"}, {"sort": "size"}, {"sort": "outcome", "cursor": "x"}])
def test_unknown_orders_are_rejected(query: dict[str, str]) -> None:
    response = Client().get("/api/v1/runs", query)
    assert (response.status_code, response.json()["code"]) == (400, "validation_error")


def test_cursor_of_another_order_is_rejected() -> None:
    for number in range(3):
        _record(f"run-{number}")
    newest = Client().get("/api/v1/runs", {"limit": 1}).json()["next"]
    assert Client().get("/api/v1/runs", {"sort": "outcome", "cursor": newest}).status_code == 400


def test_thresholds_apply_to_their_app() -> None:
    score, elsewhere = _record("order-1", ("helpful", 0.8)), _record("order-2", ("helpful", 0.8), app="other")
    assert _outcome(score)[0] == "unknown"
    rule = {"thresholds": {"helpful": {"at_least": 0.9}}}
    response = Client().put("/api/v1/outcome-rules/desk", rule, content_type=JSON)
    assert response.json()["thresholds"] == {"helpful": {"at_least": 0.9, "at_most": None}}
    assert (_outcome(score)[0], _outcome(elsewhere)[0]) == ("failed", "unknown")
    assert _outcome(_record("order-3", ("helpful", 0.95)))[0] == "passed"
    Client().put("/api/v1/outcome-rules/desk", {"thresholds": {}}, content_type=JSON)
    assert _outcome(score)[0] == "unknown"
    stored_rule = Client().get("/api/v1/outcome-rules/desk").json()
    assert (stored_rule["by"], stored_rule["defaults"]["reward"]["at_least"]) == ("local", 1.0)


@pytest.mark.parametrize("bound", [{}, {"at_least": 1, "at_most": 2}, {"at_least": "much"}])
def test_malformed_thresholds_are_rejected(bound: Any) -> None:
    rule = {"thresholds": {"helpful": bound}}
    assert Client().put("/api/v1/outcome-rules/desk", rule, content_type=JSON).status_code == 422


def test_judgements_are_paged() -> None:
    run = _record("order-1", ("a", 1.0), ("b", 2.0), ("c", 3.0))
    first = _judgements(run, limit=2)
    rest = _judgements(run, limit=2, after=first["next"])
    assert [judgement["name"] for page in (first, rest) for judgement in page["judgements"]] == ["a", "b", "c"]
    assert rest["next"] is None


def test_list_uses_constant_queries() -> None:
    def cost() -> int:
        with CaptureQueriesContext(connection) as queries:
            _list_runs(sort="outcome")
        return len(queries)

    _record("order-1", ("reward", 0.0))
    small_count = cost()
    for number in range(2, 6):
        _record(f"order-{number}", ("reward", 1.0))
    assert cost() == small_count


def test_probes_are_excluded_from_outcomes() -> None:
    _record("order-1", ("reward", 0.0))
    probe = services.record(replace(order_run("probe"), source=RunSource.PROBE, status=RunStatus.FAILED))
    assert Run.objects.get(id=probe.run_id).verdict.outcome == "failed"
    assert _list_runs(sort="outcome") == ["order-1"]
    assert Client().get("/api/v1/runs/facets").json()["outcomes"] == [{"value": "failed", "count": 1}]


def _bearer(role: Role) -> dict[str, str]:
    return {"Authorization": f"Bearer {tokens.create(name=role, role=role)}"}


def test_diffs_show_current_outcomes() -> None:
    base, candidate = _record("base", ("reward", 0.0)), _record("candidate")
    body = {"base": str(base.id), "candidate": str(candidate.id)}
    report = Client().post("/api/v1/diffs", body, content_type=JSON).json()
    address = f"/api/v1/diffs/{report['id']}"
    assert report["outcomes"]["base"] == {"outcome": "failed", "basis": "import", "reason": "reward 0"}
    assert report["outcomes"]["candidate"] == {"outcome": "unknown", "basis": None, "reason": ""}
    _judge(candidate, kind="pass")
    assert Client().get(address).json()["outcomes"]["candidate"]["outcome"] == "passed"
    assert "failed → passed" in Client().get(address, {"format": "md"}).content.decode()


def _listed(**query: str) -> list[str]:
    response = Client().get("/api/v1/runs", query)
    assert response.status_code == 200, response.content
    return sorted(run["external_id"] for run in response.json()["runs"])


def test_list_filters_by_judgements() -> None:
    _record("low", ("helpful", 0.2))
    _record("high", ("helpful", 0.9), ("toxic", 0.1))
    _judge(_record("poor"), name="review", kind="fail")
    assert _listed(judgement="helpful") == ["high", "low"]
    assert _listed(judgement="helpful", max_score="0.5") == ["low"]
    assert _listed(judgement="helpful,toxic", min_score="0.05", max_score="0.3") == ["high", "low"]
    assert _listed(judgement_kind="fail") == ["poor"]
    assert _listed(judgement="helpful", judgement_kind="fail") == []


def test_withdrawn_judgements_are_not_found() -> None:
    run = _record("r")
    judgement = _judge(run, name="review", kind="pass")
    Client().delete(f"/api/v1/runs/{run.id}/judgements/{judgement['id']}")
    assert _listed(judgement="review") == []


@pytest.mark.parametrize("query", [{"min_score": "high"}, {"max_score": "nan"}, {"judgement_kind": "star"}])
def test_bad_judgement_filter_is_an_error(query: dict[str, str]) -> None:
    response = Client().get("/api/v1/runs", query)
    assert (response.status_code, response.json()["where"]) == (400, f"/{next(iter(query))}")


def test_filter_by_judgement_reads_an_index() -> None:
    _record("low", ("helpful", 0.2))
    with CaptureQueriesContext(
        connection,
    ) as queries:
        _listed(judgement="helpful", judgement_kind="score", max_score="0.5")
    statement = next(query["sql"] for query in queries if "judgement" in query["sql"])
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute(f"EXPLAIN QUERY PLAN {statement}")
            assert "judgement_named" in str(cursor.fetchall())
