"""The outcome rules of apps: what decides, and the stored outcomes that follow from it."""

from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from tests.support.recordings import order_run
from traces.core.recorded_run import RecordedJudgement
from traces.core.vocabulary import JudgementKind, RunSource, RunStatus
from traces.judgements import rule_changes
from traces.models import OutcomeRule, Run, RunOutcome
from traces.runs import services

pytestmark = [pytest.mark.django_db, pytest.mark.divided]
JSON = "application/json"


def _record(external_id: str, *scores: tuple[str, float], **columns: Any) -> Run:
    judgements = tuple(RecordedJudgement(name=name, kind=JudgementKind.SCORE, value=value) for name, value in scores)
    return Run.objects.get(id=services.record(order_run(external_id, judgements=judgements, **columns)).run_id)


def _set_rule(app: str = "desk", **rule: Any) -> Any:
    response = Client().put(f"/api/v1/outcome-rules/{app}", rule, content_type=JSON)
    assert response.status_code == 200, response.content
    return response.json()


def _judge(run: Run, **body: Any) -> None:
    response = Client().post(f"/api/v1/runs/{run.id}/judgements", body, content_type=JSON)
    assert response.status_code == 201, response.content


def _outcome(run: Run) -> tuple[str, str, str]:
    row = RunOutcome.objects.get(run=run)
    return row.outcome, row.basis, row.reason


def test_tags_decide_by_the_rule() -> None:
    earlier = _record("order-1", tags=("outcome:failed", "eu"))
    assert _outcome(earlier) == ("unknown", "", "")
    rule = _set_rule(tags={"outcome:failed": "failed", "outcome:passed": "passed"})
    assert (rule["tags"]["outcome:failed"], rule["is_applied"]) == ("failed", True)
    assert _outcome(earlier) == ("failed", "tag", "tag outcome:failed")
    assert _outcome(_record("order-2", tags=("outcome:passed",)))[0] == "passed"
    _judge(earlier, kind="pass")
    assert _outcome(earlier)[:2] == ("passed", "person")
    _set_rule(deciders=[{"source": "import"}])
    assert _outcome(earlier) == ("unknown", "", "")


def test_fork_has_no_tag_outcome() -> None:
    source = _record("order-1", tags=("outcome:failed",))
    fork = services.open_run(name="fork", app="desk", source_run=source)
    services.seal_run(fork.id, RunStatus.COMPLETED)
    _set_rule(tags={"outcome:failed": "failed"})
    assert (_outcome(source)[0], _outcome(fork)[0]) == ("failed", "unknown")


def test_rule_names_the_deciding_judgement() -> None:
    run = _record("order-1", ("reward", 1.0), ("helpful", 0.2))
    assert _outcome(run)[0] == "passed"
    _set_rule(
        thresholds={"helpful": {"at_least": 0.5}},
        deciders=[{"source": "person"}, {"source": "import", "name": "helpful"}],
    )
    assert _outcome(run) == ("failed", "import", "helpful 0.2")
    _judge(run, kind="pass", text="good enough")
    assert _outcome(run)[:2] == ("passed", "person")


def test_late_judgement_follows_the_rule() -> None:
    _set_rule(deciders=[{"source": "person", "name": "review"}])
    run = _record("order-1", ("reward", 0.0))
    assert _outcome(run)[0] == "unknown"
    _judge(run, kind="fail", name="impression")
    assert _outcome(run)[0] == "unknown"
    _judge(run, kind="pass", name="review")
    assert _outcome(run) == ("passed", "person", "review")


def test_omitted_parts_return_to_default() -> None:
    _set_rule(thresholds={"helpful": {"at_most": 1}}, tags={"bad": "failed"}, deciders=[{"source": "check"}])
    rule = _set_rule()
    assert (rule["thresholds"], rule["tags"]) == ({}, {})
    assert rule["deciders"] == rule["default_deciders"]
    assert OutcomeRule.objects.filter(app="desk").count() == 2


@pytest.mark.parametrize(
    ("rule", "where"),
    [
        ({"deciders": []}, "/deciders"),
        ({"deciders": [{"source": "stars"}]}, "/deciders/0/source"),
        ({"tags": {"bad": "unknown"}}, "/tags/bad"),
        ({"tags": {"": "failed"}}, "/tags/"),
    ],
)
def test_malformed_rules_are_rejected(rule: Any, where: str) -> None:
    response = Client().put("/api/v1/outcome-rules/desk", rule, content_type=JSON)
    assert response.status_code == 422
    assert response.json()["where"].startswith(where)


def test_large_apps_are_updated_by_a_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rule_changes, "_AT_ONCE", 0)
    run = _record("order-1", ("helpful", 0.8))
    rule = _set_rule(thresholds={"helpful": {"at_least": 0.5}})
    assert (rule["is_applied"], _outcome(run)[0]) == (False, "unknown")
    assert rule_changes.requeue_unfinished() == 1
    rule_changes.apply(OutcomeRule.objects.get().pk)
    assert _outcome(run)[0] == "passed"
    assert Client().get("/api/v1/outcome-rules/desk").json()["is_applied"]
    assert rule_changes.requeue_unfinished() == 0


def test_unchanged_outcomes_are_not_written() -> None:
    _record("order-1", ("reward", 1.0))
    _record("order-2", ("helpful", 0.1))
    with CaptureQueriesContext(connection) as queries:
        _set_rule(thresholds={"reward": {"at_least": 0.5}})
    writes = [query["sql"] for query in queries if "runoutcome" in query["sql"] and query["sql"].startswith("INSERT")]
    assert writes == []


def test_names_list_scores_and_verdicts() -> None:
    _record("order-1", ("helpful", 0.2))
    _record("order-2", ("helpful", 0.9), app="other")
    _judge(_record("order-3"), kind="fail")
    names = Client().get("/api/v1/judgement-names").json()["names"]
    assert [(entry["name"], entry["source"], entry["kinds"], entry["count"]) for entry in names] == [
        ("helpful", "import", ["score"], 2),
        ("verdict", "person", ["fail"], 1),
    ]
    assert (names[0]["lowest"], names[0]["highest"]) == (0.2, 0.9)
    assert names[0]["agreement"] is None
    _judge(_record("order-4", ("reward", 1.0)), kind="fail")
    agreement = Client().get("/api/v1/judgement-names", {"app": "desk"}).json()["names"][-1]["agreement"]
    assert (agreement["runs"], agreement["equal_verdicts"], agreement["kappa"]) == (1, 0, 0.0)
    own_names = Client().get("/api/v1/judgement-names", {"app": "other"}).json()["names"]
    assert [(entry["name"], entry["count"]) for entry in own_names] == [("helpful", 1)]


def test_list_filters_by_the_source_of_a_judgement() -> None:
    _record("scored", ("reward", 0.0))
    _judge(_record("reviewed"), kind="fail")
    runs = Client().get("/api/v1/runs", {"judgement_source": "person"}).json()["runs"]
    assert [run["external_id"] for run in runs] == ["reviewed"]
    assert Client().get("/api/v1/runs", {"judgement_source": "stars"}).status_code == 400


def test_probe_outcomes_stay_probes() -> None:
    run = _record("order-1", ("helpful", 0.2), source=RunSource.PROBE)
    _set_rule(thresholds={"helpful": {"at_least": 0.5}})
    assert _outcome(run)[0] == "failed"
