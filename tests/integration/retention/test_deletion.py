"""Deletion of runs: hidden at once, removed with everything that only they used, refused if something cites them."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from django.test import Client

from tests.support.arriving_events import Event, answer, beginning, lines
from tests.support.assembler_time import let_pass
from tests.support.lost_artifacts import large_artifacts
from tests.support.recordings import conversation, order_run
from traces.core.ids import new_id
from traces.models import (
    Artifact,
    ArtifactUse,
    AuditEntry,
    Deletion,
    Edge,
    Pack,
    RecordAddress,
    Recording,
    Run,
    Segment,
    Step,
)
from traces.recordings import addresses, arrivals
from traces.recordings.arrivals import NewSegment
from traces.retention import deletions, purge
from traces.runs import services
from traces.storage import artifact_files, artifacts

pytestmark = pytest.mark.django_db(transaction=True)


def delete(client: Client, run_id: object, **query: str) -> Any:
    return client.delete(f"/api/v1/runs/{run_id}", query_params=query)


def post(client: Client, path: str, body: Any = None) -> Any:
    return client.post(f"/api/v1{path}", body or {}, content_type="application/json")


def pass_grace() -> None:
    """Let the time to restore deleted runs end."""
    Deletion.objects.filter(removed_at=None).update(due_at=datetime.now(UTC) - timedelta(seconds=1))


def used_digests(run_id: UUID) -> set[str]:
    owned_packs = Pack.objects.filter(owner=run_id.bytes).values_list("id", flat=True)
    owned = set(Artifact.objects.filter(pack_id__in=list(owned_packs)).values_list("sha256", flat=True))
    return owned | set(ArtifactUse.objects.filter(run_id=run_id).values_list("sha256", flat=True))


def test_deleted_run_is_hidden_and_restored(client: Client) -> None:
    run_id = services.record(order_run()).run_id
    assert delete(client, run_id).json()["id"] == str(run_id)
    assert client.get("/api/v1/runs").json()["runs"] == []
    assert client.get("/api/v1/runs/facets").json()["apps"] == []
    for path in (f"/runs/{run_id}", f"/runs/{run_id}/steps", "/runs/last", "/runs/order-1"):
        assert client.get(f"/api/v1{path}").status_code == 404
    assert "can be restored until" in client.get(f"/api/v1/runs/{run_id}").json()["detail"]
    assert purge.remove_due().runs == 0
    assert post(client, f"/runs/{run_id}/restore").json() == {"id": str(run_id)}
    assert len(client.get(f"/api/v1/runs/{run_id}/steps").json()["steps"]) == 5


def test_removal_leaves_nothing_but_the_audit_log(client: Client) -> None:
    run_id = services.record(order_run()).run_id
    delete(client, run_id)
    pass_grace()
    report = purge.remove_due()
    assert report.runs == 1
    assert report.sweep_report.artifacts > 5
    for model in (Run, Step, Edge, Artifact, ArtifactUse, Pack, Deletion):
        assert not model.objects.exists(), model
    assert [entry.action for entry in AuditEntry.objects.order_by("id")] == ["run_deleted", "run_removed"]
    assert {entry.subject for entry in AuditEntry.objects.all()} == {str(run_id)}
    answer = client.get(f"/api/v1/runs/{run_id}")
    assert (answer.status_code, "was deleted" in answer.json()["detail"]) == (404, True)
    assert post(client, f"/runs/{run_id}/restore").status_code == 404


def test_shared_artifacts_outlive_one_of_their_runs() -> None:
    first, second = (services.record(order_run(f"order-{number}")).run_id for number in (1, 2))
    kept = used_digests(second)
    deletions.delete([first], by="ann", at_once=True)
    purge.remove_due()
    assert set(Artifact.objects.values_list("sha256", flat=True)) == kept
    steps = Step.objects.filter(run=second)
    refs = [ref for step in steps for ref in (step.input_ref, step.output_ref) if ref]
    assert len(artifacts.payloads(refs)) == len(set(refs))
    deletions.delete([second], by="ann", at_once=True)
    purge.remove_due()
    assert not Artifact.objects.exists()


def test_large_artifacts_lose_their_files() -> None:
    text = "".join(str(new_id()) for _ in range(20_000))
    steps = tuple(replace(step, attributes={"log": text}) for step in order_run().steps)
    run_id = services.record(replace(order_run(), steps=steps)).run_id
    (path,) = large_artifacts().values()
    assert artifact_files.read(path)
    deletions.delete([run_id], by="ann", at_once=True)
    purge.remove_due()
    assert artifact_files.read(path) is None


def test_revisions_are_deleted_with_the_newest(client: Client) -> None:
    first = services.record(conversation(2)).run_id
    second = services.record(conversation(3)).run_id
    refusal = delete(client, first)
    assert (refusal.status_code, str(second) in refusal.json()["detail"]) == (409, True)
    assert delete(client, second).status_code == 200
    assert client.get("/api/v1/runs").json()["runs"] == []
    third = services.record(conversation(3)).run_id
    assert third not in {first, second}
    pass_grace()
    assert purge.remove_due().runs == 2
    assert [run.id for run in Run.objects.all()] == [third]


def _send(events: Iterable[Event]) -> None:
    """Let events of a run arrive over the network, and assemble them."""
    segment = NewSegment(external_id="live-1", format="forkpoint", data=lines(events), has_ended=True)
    arrivals.accept([segment], project="desk")
    let_pass(10)


def test_segments_and_addresses_go_with_their_run(client: Client) -> None:
    _send(beginning("live-1"))
    addresses.note("observation", {"o-1": "live-1", "o-2": "other"}, project="desk")
    run_id = Run.objects.get().id
    delete(client, run_id)
    # Waits until the run is restored or removed, instead of making the deleted run visible again.
    _send(answer("live-1"))
    assert Run.objects.count() == 1
    pass_grace()
    purge.remove_due()
    for model in (Run, Recording, Segment, Artifact, Pack):
        assert not model.objects.exists(), model
    assert [row.external_id for row in RecordAddress.objects.all()] == ["other"]


def test_late_arrivals_are_assembled_after_a_restore(client: Client) -> None:
    _send(beginning("live-1"))
    run_id = Run.objects.get().id
    delete(client, run_id)
    _send(answer("live-1"))
    post(client, f"/runs/{run_id}/restore")
    let_pass(10)
    assert list(Run.objects.order_by("revision").values_list("revision", flat=True)) == [1, 2]


def test_recording_run_is_refused(client: Client) -> None:
    run = services.open_run(name="open", app="desk")
    refusal = delete(client, run.id)
    assert (refusal.status_code, refusal.json()["code"]) == (409, "source_not_sealed")
