"""Runs that others cite: refused, or deleted so that the citing objects remain without their contents."""

from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
from django.test import Client

from cockpit.http import auth
from diffing.models import DiffReport
from replay.models import ReplaySession
from tests.integration.retention.test_deletion import delete, pass_grace, post, used_digests
from tests.support.proofs import fork_and_diff, no_queue
from tests.support.recordings import order_run
from traces.core.vocabulary import StepType
from traces.models import Artifact, Run, ShareLink, Step
from traces.retention import purge
from traces.runs import services

__all__ = ["no_queue"]
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.divided]
SECRET = "northwind"


@pytest.fixture
def forked(client: Client, no_queue: list[tuple[str, str]]) -> tuple[UUID, UUID, str]:
    """A run, its fork, and their report."""
    steps = [replace(step, type=StepType.TURN) if step.key == "agent" else step for step in order_run().steps]
    run_id = services.record(order_run(steps=tuple(steps))).run_id
    override = {"match": {"step": 3}, "tool": {"output": "unknown order"}}
    diff = fork_and_diff(client, no_queue, run_id, 3, override)
    return run_id, Run.objects.get(source_run=run_id).id, diff


def get(client: Client, path: str) -> Any:
    return client.get(f"/api/v1{path}")


def test_cited_run_is_refused_by_name(client: Client, forked: tuple[UUID, UUID, str]) -> None:
    run_id, fork_id, diff = forked
    refusal = delete(client, run_id)
    assert refusal.status_code == 409
    assert f"fork {fork_id}" in refusal.json()["detail"]
    assert f"diff report {diff}" in refusal.json()["detail"]
    sources = get(client, f"/runs/{run_id}/citations").json()["citations"]
    assert {(item["kind"], item["id"]) for item in sources} == {("fork", str(fork_id)), ("diff report", diff)}
    assert get(client, f"/runs/{run_id}").status_code == 200
    both = post(client, "/runs/delete", {"runs": [str(run_id), str(fork_id)]}).json()
    assert ({item["id"] for item in both["deletions"]}, both["refusals"]) == ({str(run_id), str(fork_id)}, [])


def test_deleted_source_leaves_fork_without_its_contents(client: Client, forked: tuple[UUID, UUID, str]) -> None:
    run_id, fork_id, diff = forked
    source_digests, source_texts = used_digests(run_id), {step.summary for step in Step.objects.filter(run=run_id)}
    share = post(client, f"/diffs/{diff}/shares").json()
    assert ReplaySession.objects.get(run=fork_id).change
    assert delete(client, run_id, cited="true").status_code == 200
    pass_grace()
    assert purge.remove_due().runs == 1
    assert not source_digests & set(Artifact.objects.values_list("sha256", flat=True))
    assert not Step.objects.filter(run=run_id).exists()
    # What a fork changed may quote its source.
    assert ReplaySession.objects.get(run=fork_id).change is None
    fork = get(client, f"/runs/{fork_id}").json()
    assert fork["source_run"] == str(run_id)
    assert fork["source_deleted_at"]
    assert SECRET not in Run.objects.get(id=fork_id).search
    copies = Step.objects.filter(run=fork_id, label="exact")
    assert not {step.summary for step in copies} & (source_texts - {""})
    # The turn was named after the question.
    assert Step.objects.get(run=fork_id, type=StepType.TURN).name == "turn"
    for step in Step.objects.filter(run=fork_id):
        answer = get(client, f"/runs/{fork_id}/steps/{step.sequence_no}")
        assert answer.status_code == 200
        if step.label == "exact" and step.output_ref:
            assert "output" in answer.json()["unavailable"]
    for path in (f"/diffs/{diff}", f"/diffs/{diff}/prove/preview"):
        answer = get(client, path)
        assert answer.status_code in {405, 410}, path
    assert get(client, f"/share/{share['url'].rpartition('/')[2]}").status_code == 404
    assert not ShareLink.objects.exists()
    assert f"run {run_id}" in get(client, f"/diffs/{diff}").json()["detail"]
    refusal = post(client, "/replays", {"run": str(run_id), "fork_step": 1, "overrides": {"overrides": []}})
    assert (refusal.status_code, "was deleted" in refusal.json()["detail"]) == (404, True)


def test_screens_survive_a_deleted_source(client: Client, forked: tuple[UUID, UUID, str]) -> None:
    run_id, fork_id, diff = forked
    session = ReplaySession.objects.get(run=fork_id).id
    delete(client, run_id, cited="true", at_once="true")
    paths = [f"/replays/{session}", "/replays", "/diffs", "/runs", f"/runs/{fork_id}/usage", f"/runs/{fork_id}/edges"]
    paths += [f"/runs/{fork_id}/tree", f"/runs/{fork_id}/full-steps", f"/runs/{fork_id}/places", "/runs/facets"]
    paths += [f"/runs/{fork_id}/judgements", f"/runs/{fork_id}/steps?q=refund", f"/diffs/{diff}/shares", "/experiments"]
    paths += [f"/diffs/{diff}/proofs", f"/diffs/{diff}/unchanged", f"/runs/{run_id}/steps", f"/runs/{run_id}/tree"]
    for path in paths:
        answer = get(client, path)
        assert answer.status_code < 500, (path, answer.content)
    replay = post(client, "/replays/preview", {"run": str(fork_id), "fork_step": 2, "overrides": {"overrides": []}})
    assert replay.status_code < 500, replay.content
    again = post(client, "/diffs", {"base": str(fork_id), "candidate": str(fork_id)})
    assert again.status_code < 500
    other = services.record(order_run("order-2")).run_id
    report = post(client, "/diffs", {"base": str(other), "candidate": str(fork_id)})
    assert report.status_code == 200, report.content


def test_automatic_report_goes_with_its_fork(client: Client, forked: tuple[UUID, UUID, str]) -> None:
    run_id, fork_id, diff = forked
    assert get(client, f"/runs/{fork_id}/citations").json()["citations"] == []
    assert delete(client, fork_id).status_code == 200
    assert (get(client, "/diffs").json()["diffs"], get(client, "/replays").json()["sessions"]) == ([], [])
    assert [run["id"] for run in get(client, f"/runs/{run_id}/tree").json()["runs"]] == [str(run_id)]
    assert get(client, f"/diffs/{diff}").json()["deletions"]["candidate"]
    post(client, f"/runs/{fork_id}/restore")
    assert [item["id"] for item in get(client, "/diffs").json()["diffs"]] == [diff]
    assert get(client, "/replays").json()["sessions"][0]["outcome"]
    delete(client, fork_id)
    pass_grace()
    purge.remove_due()
    assert not DiffReport.objects.exists()
    assert not Run.objects.filter(id=fork_id).exists()
    assert get(client, f"/diffs/{diff}").status_code == 404
    assert delete(client, run_id).status_code == 200


@pytest.mark.parametrize("author", ["share", "compare"])
def test_report_that_somebody_asked_for_cites_its_fork(
    client: Client, forked: tuple[UUID, UUID, str], author: str
) -> None:
    _, fork_id, diff = forked
    if author == "share":
        post(client, f"/diffs/{diff}/shares")
    else:
        other = services.record(order_run("order-2")).run_id
        diff = post(client, "/diffs", {"base": str(other), "candidate": str(fork_id)}).json()["id"]
    refusal = delete(client, fork_id)
    assert (refusal.status_code, f"diff report {diff}" in refusal.json()["detail"]) == (409, True)
    assert delete(client, fork_id, cited="true", at_once="true").status_code == 200
    answer = get(client, f"/diffs/{diff}")
    assert (answer.status_code, "was deleted on 20" in answer.json()["detail"]) == (410, True)


def test_deletion_is_described_until_the_row_is_gone(client: Client, forked: tuple[UUID, UUID, str]) -> None:
    run_id, fork_id, _ = forked
    assert get(client, f"/runs/{fork_id}/deletion").status_code == 404
    delete(client, run_id, cited="true")
    hidden = get(client, f"/runs/{run_id}/deletion").json()
    assert (hidden["by"], hidden["name"] != "", hidden["removed_at"]) == ("local", True, None)
    fork = get(client, f"/runs/{fork_id}").json()
    assert (fork["source_deleted_at"], fork["source_removed_at"]) == (hidden["at"], None)
    pass_grace()
    purge.remove_due()
    cited = get(client, f"/runs/{run_id}/deletion").json()
    assert (cited["at"], cited["name"], cited["removed_at"] is None) == (hidden["at"], "", False)
    assert get(client, f"/runs/{fork_id}").json()["source_removed_at"] == cited["removed_at"]
    delete(client, fork_id, at_once="true")
    logged = get(client, f"/runs/{fork_id}/deletion").json()
    assert (logged["by"], logged["name"], logged["due_at"]) == ("local", "", None)
    assert logged["removed_at"]


def test_fork_is_deleted_with_its_session(client: Client, forked: tuple[UUID, UUID, str]) -> None:
    run_id, fork_id, _ = forked
    assert delete(client, fork_id, cited="true", at_once="true").status_code == 200
    assert not ReplaySession.objects.exists()
    steps = get(client, f"/runs/{run_id}/steps").json()["steps"]
    details = [get(client, f"/steps/{step['id']}").json() for step in steps]
    assert not any(detail["unavailable"] for detail in details)
    # What is left of their report is empty.
    assert delete(client, run_id).status_code == 200


def test_only_admins_delete_cited_runs(
    client: Client, forked: tuple[UUID, UUID, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(auth, "LOCAL", auth.Caller(name="deb", role="debugger"))
    run_id, _, _ = forked
    for query in ({"cited": "true"}, {"at_once": "true"}):
        refusal = delete(client, run_id, **query)
        assert (refusal.status_code, refusal.json()["code"]) == (403, "auth_forbidden")
    other = services.record(order_run("order-2")).run_id
    assert delete(client, other).status_code == 200
