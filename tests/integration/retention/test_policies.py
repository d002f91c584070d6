"""Retention policies: which runs a purge deletes, and what keeps the others."""

from dataclasses import replace
from datetime import datetime, timedelta, tzinfo
from typing import Any
from uuid import UUID

import pytest
from django.test import Client

from cockpit.http import auth
from cockpit.process import purging
from tests.integration.retention.test_deletion import delete, post
from tests.support.recordings import order_run
from traces.models import Artifact, AuditEntry, Run
from traces.retention import policies
from traces.retention.policies import PolicyTerms, deciding
from traces.runs import services

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.divided]


class Later(datetime):
    """A clock that is 40 days ahead."""

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> datetime:  # type: ignore[override]
        return datetime.now(tz) + timedelta(days=40)


@pytest.fixture
def _later(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policies, "datetime", Later)


def record(number: int, app: str = "desk", *tags: str) -> UUID:
    return services.record(replace(order_run(f"order-{number}"), app=app, tags=tags)).run_id


def put(client: Client, path: str, body: Any) -> Any:
    return client.put(f"/api/v1{path}", body, content_type="application/json")


def set_policy(client: Client, **terms: Any) -> None:
    assert put(client, "/retention/policies", terms).status_code == 200


def run_ids() -> set[UUID]:
    return set(Run.objects.values_list("id", flat=True))


@pytest.mark.usefixtures("_later")
def test_purge_deletes_what_the_policies_no_longer_keep(client: Client) -> None:
    old, other = record(1), record(2, "shop")
    set_policy(client, app="desk", days=30)
    plan = post(client, "/retention/plan").json()
    assert (plan["runs"], plan["effects"][0]["app"]) == (1, "desk")
    assert run_ids() == {old, other}
    result = post(client, "/retention/purge").json()
    assert result["runs"] == 1
    assert run_ids() == {other}
    entry = AuditEntry.objects.get(action="run_deleted", subject=str(old))
    assert entry.detail["reason"] == "retention of app desk: 30 days"


@pytest.mark.usefixtures("_later")
def test_plan_counts_the_bytes_that_a_purge_frees(client: Client) -> None:
    record(1)
    record(2, "shop")
    set_policy(client, days=30)
    plan = post(client, "/retention/plan").json()
    sizes = sum(Artifact.objects.values_list("size", flat=True))
    assert plan["size"] == sizes
    assert post(client, "/retention/purge").json()["size"] == sizes


def test_young_runs_stay(client: Client) -> None:
    record(1)
    set_policy(client, days=1)
    plan = post(client, "/retention/plan").json()
    assert (plan["runs"], plan["size"], plan["effects"], plan["deletable_runs"]) == (0, 0, [], [])
    assert post(client, "/retention/purge").json()["runs"] == 0


@pytest.mark.usefixtures("_later")
def test_pinned_held_and_cited_runs_stay(client: Client) -> None:
    pinned, held, cited, _ = (record(number) for number in range(4))
    put(client, f"/runs/{pinned}/mark", {"is_pinned": True})
    put(client, f"/runs/{held}/mark", {"is_held": True})
    assert post(client, "/diffs", {"base": str(cited), "candidate": str(held)}).status_code == 200
    set_policy(client, days=30)
    plan = post(client, "/retention/plan").json()
    (effect,) = plan["effects"]
    protections = {item["id"]: item["protection"] for item in plan["protected_runs"]}
    assert protections == {str(pinned): "pinned", str(held): "held", str(cited): "cited"}
    (citation,) = next(item for item in plan["protected_runs"] if item["id"] == str(cited))["citations"]
    assert citation["kind"] == "diff report"
    assert [(item["app"], item["days"]) for item in plan["deletable_runs"]] == [("desk", 30)]
    assert {name: effect[name] for name in ("runs", "pinned_runs", "held_runs", "cited_runs")} == {
        "runs": 1,
        "pinned_runs": 1,
        "held_runs": 1,
        "cited_runs": 1,
    }
    post(client, "/retention/purge")
    assert run_ids() == {pinned, held, cited}
    set_policy(client, days=30, keep_pinned=False)
    post(client, "/retention/purge")
    assert run_ids() == {held, cited}


@pytest.mark.usefixtures("_later")
def test_plan_names_what_a_purge_deletes(client: Client) -> None:
    """A report between two runs protects neither if both are due, and one of them if the other stays."""
    first, second, third = (record(number) for number in range(3))
    put(client, f"/runs/{third}/mark", {"is_pinned": True})
    for base, candidate in ((first, second), (second, third)):
        post(client, "/diffs", {"base": str(base), "candidate": str(candidate)})
    set_policy(client, days=30)
    plan = post(client, "/retention/plan").json()
    stored = run_ids()
    post(client, "/retention/purge")
    assert {item["id"] for item in plan["deletable_runs"]} == {str(id) for id in stored - run_ids()}
    assert AuditEntry.objects.get(action="purge").by == "local"


def test_list_shows_marks(client: Client) -> None:
    run_id = record(1)
    for mark in ({"is_pinned": True, "is_held": True}, {"is_pinned": False, "is_held": False}):
        put(client, f"/runs/{run_id}/mark", mark)
        (row,) = client.get("/api/v1/runs").json()["runs"]
        assert {name: row[name] for name in mark} == mark
        assert client.get(f"/api/v1/runs/{run_id}").json()["is_held"] is mark["is_held"]


def test_held_run_is_never_deleted(client: Client) -> None:
    by_mark, by_policy = record(1), record(2, "desk", "lawsuit")
    put(client, f"/runs/{by_mark}/mark", {"is_held": True})
    set_policy(client, tag="lawsuit", legal_hold=True)
    for run_id in (by_mark, by_policy):
        refusal = delete(client, run_id, cited="true", at_once="true")
        assert (refusal.status_code, "legal hold" in refusal.json()["detail"]) == (409, True)
        assert client.get(f"/api/v1/runs/{run_id}/citations").json()["is_held"]
    put(client, f"/runs/{by_mark}/mark", {"is_held": False})
    assert delete(client, by_mark).status_code == 200


def test_most_specific_policy_decides() -> None:
    everything = PolicyTerms(days=10)
    app = PolicyTerms(app="desk", days=20)
    tag = PolicyTerms(tag="keep", days=5)
    both = PolicyTerms(app="desk", tag="keep", days=1)
    longer = PolicyTerms(app="desk", tag="long", days=None)
    terms = [everything, app, tag, both, longer]
    assert deciding(terms, "shop", []) is everything
    assert deciding(terms, "shop", ["keep"]) is tag
    assert deciding(terms, "desk", []) is app
    assert deciding(terms, "desk", ["keep"]) is both
    assert deciding(terms, "desk", ["keep", "long"]) is longer
    assert deciding([app], "shop", []) is None


def test_plan_may_try_other_policies(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policies, "datetime", Later)
    record(1)
    assert post(client, "/retention/plan", {"policies": [{"days": 30}]}).json()["runs"] == 1
    assert post(client, "/retention/plan", {"policies": [{"days": 60}]}).json()["runs"] == 0
    assert client.get("/api/v1/retention/policies").json()["policies"] == []


def test_policies_are_listed_changed_and_removed(client: Client) -> None:
    set_policy(client, app="desk", tag="t", days=30)
    set_policy(client, app="desk", tag="t", days=60, keep_pinned=False)
    (policy,) = client.get("/api/v1/retention/policies").json()["policies"]
    assert (policy["days"], policy["keep_pinned"], policy["by"]) == (60, False, "local")
    path = "/api/v1/retention/policies?app=desk&tag=t"
    assert (client.delete(path).status_code, client.delete(path).status_code) == (204, 404)
    actions = [entry["action"] for entry in client.get("/api/v1/audit").json()["entries"]]
    assert actions == ["retention_policy_removed", "retention_policy_set", "retention_policy_set"]


def test_only_admins_set_policies_and_holds(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    run_id = record(1)
    monkeypatch.setattr(auth, "LOCAL", auth.Caller(name="deb", role="debugger"))
    assert put(client, f"/runs/{run_id}/mark", {"is_pinned": True}).status_code == 200
    for path, body in ((f"/runs/{run_id}/mark", {"is_held": True}), ("/retention/policies", {"days": 1})):
        assert put(client, path, body).status_code == 403
    assert post(client, "/retention/purge").status_code == 403
    monkeypatch.setattr(auth, "LOCAL", auth.Caller(name="eve", role="viewer"))
    for path in ("/retention/policies", "/audit"):
        assert client.get(f"/api/v1{path}").status_code == 200
    assert post(client, "/retention/plan").status_code == 200
    assert put(client, f"/runs/{run_id}/mark", {"is_pinned": True}).status_code == 403


@pytest.mark.usefixtures("_later")
def test_thread_applies_policies_once_a_day(client: Client) -> None:
    first = record(1)
    purging.purge_due()
    assert run_ids() == {first}
    set_policy(client, days=30)
    purging.purge_due()
    assert run_ids() == set()
    second = record(2)
    purging.purge_due()
    assert run_ids() == {second}
    delete(client, second, at_once="true")
    purging.purge_due()
    assert run_ids() == set()
