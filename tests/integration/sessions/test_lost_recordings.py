"""Lost or missing recordings: never labelled exact, and never a server error."""

import io
import json
import zipfile
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver

from diffing import services as diffing
from replay.execution import runner, task_names
from replay.langfuse import run_reader as langfuse_reading
from replay.sessions import prepare, queries, services
from replay.sessions.schemas import SessionView
from tests.support.lost_artifacts import LOSSES, lose
from tests.support.queues import capture_tasks
from tests.support.replay_runs import CONVERSATION, Reply, ToolCall, order_desk
from traces.core.recorded_run import RecordedRun
from traces.models import Artifact, Run, Step
from traces.payloads.lost_payloads import Loss
from traces.payloads.splitter import Splitter
from traces.runs import services as services_of_traces
from traces.runs.services import record
from traces.storage import artifacts as artifact_store
from traces.storage import integrity

pytestmark = pytest.mark.django_db(transaction=True)
GOODBYE = {"match": {"step": 9}, "output": "Goodbye."}


@pytest.fixture(autouse=True)
def _no_queue(monkeypatch: pytest.MonkeyPatch) -> None:
    """Disable the queue: the tests run sessions themselves."""
    capture_tasks(monkeypatch, task_names.EXECUTE, task_names.COMPARE)


def large_desk() -> RecordedRun:
    """An order desk whose search returns a text that is stored as an artifact."""
    # Hardly compresses, and is another one in each test: damaged files stay.
    large = " ".join(uuid4().hex for _ in range(10_000))
    turns = (ToolCall("search_policy", {"query": "all"}, large), Reply("There are many policies."))
    return order_desk((("Which policies are there?", turns), *CONVERSATION), external_id="large")


def asked(run: object, fork: int = 1, entries: Any = (), **policy: Any) -> Any:
    body: Any = {"run": str(run), "fork_step": fork, "overrides": {"overrides": [*entries]}, "policy": policy}
    return prepare.parse(body)


def replayed(run: object, fork: int = 1, entries: Any = (), **policy: Any) -> SessionView:
    session = services.launch(asked(run, fork, entries, **policy))
    if session.status == "pending":
        runner.execute(session.id)
    return queries.session_view(session.id)


def step_of(view: SessionView, number: int) -> Step:
    assert view.run is not None
    return Step.objects.get(run_id=view.run, sequence_no=number)


def labels(view: SessionView) -> dict[int, tuple[str, str]]:
    """Return the steps that are not exact, with their reasons."""
    assert view.run is not None
    steps = Step.objects.filter(run_id=view.run).values_list("sequence_no", "label", "detail")
    return {no: (label, detail.get("why", "")) for no, label, detail in steps if label != "exact"}


def tool_step(run: UUID, tool: str) -> Step:
    return Step.objects.filter(run_id=run, tool_name=tool).order_by("sequence_no")[0]


@pytest.mark.parametrize("how", LOSSES)
@pytest.mark.parametrize("large", [False, True])
def test_lost_outputs_are_never_exact(how: str, large: bool) -> None:
    run = record(large_desk() if large else order_desk()).run_id
    step = tool_step(run, "search_policy")
    digest = Artifact.objects.get(data__isnull=True).sha256 if large else step.output_ref
    lose(digest, how)
    view = replayed(run)
    assert view.status == "completed_mixed"
    assert labels(view)[step.sequence_no] == ("simulated", "artifact_missing")
    made = step_of(view, step.sequence_no)
    assert made.detail["unavailable"][0]["digest"] == digest
    assert "No answer for this tool step" in json.dumps(artifact_store.payload(made.output_ref))
    for policy, where in (({"strict": True}, "/policy/strict"), ({"fallback": "fail"}, "/policy/fallback")):
        failed = replayed(run, **policy)
        first = failed.error_sequence_no
        assert (failed.status, failed.error_code) == ("failed_validation", "artifact_missing")
        assert (first, digest in failed.error) == (step.sequence_no, True)
        (refusal,) = services.preview(asked(run, **policy), list_untouched=False).refusals
        assert (refusal.code, refusal.where, refusal.step) == ("artifact_missing", where, first)


def test_lost_inputs_are_never_exact() -> None:
    """The recorded answer remains, but nothing proves any more that it answers this call."""
    run = record(order_desk()).run_id
    step = tool_step(run, "get_order")
    lose(step.input_ref, "flipped")
    view = replayed(run)
    assert labels(view)[step.sequence_no] == ("simulated", "artifact_missing")
    assert step_of(view, step.sequence_no).output_ref == step.output_ref


def test_lost_steps_before_fork_count() -> None:
    run = record(order_desk()).run_id
    step = tool_step(run, "get_order")
    lose(step.output_ref, "deleted")
    view = replayed(run, 9, [GOODBYE], allow=[])
    assert labels(view)[step.sequence_no] == ("simulated", "artifact_missing")
    plan = services.preview(asked(run, 9, [GOODBYE], allow=[]))
    assert plan.counts == view.counts
    assert f"Step {step.sequence_no} before the fork cannot be verified" in plan.warnings[-1]
    strict = replayed(run, 9, strict=True)
    assert (strict.status, strict.error_sequence_no) == ("failed_validation", step.sequence_no)


def test_operator_replaces_lost_output() -> None:
    run = record(order_desk()).run_id
    step = tool_step(run, "get_order")
    lose(step.output_ref, "truncated")
    given = {"match": {"step": step.sequence_no}, "tool": {"output": {"id": "A-1", "status": "found"}}}
    view = replayed(run, 1, [given], allow=[])
    made = step_of(view, step.sequence_no)
    assert (made.label, made.reason) == ("simulated", "simulation_operator_override")


def test_unrecorded_output_is_never_exact() -> None:
    whole = order_desk()
    steps = tuple(replace(step, output=None) if step.tool_name == "get_order" else step for step in whole.steps)
    run = record(replace(whole, steps=steps)).run_id
    step = tool_step(run, "get_order")
    view = replayed(run)
    assert (view.status, labels(view)[step.sequence_no]) == ("completed_mixed", ("simulated", "artifact_missing"))
    assert replayed(run, strict=True).status == "failed_validation"


def test_null_output_is_exact() -> None:
    whole = order_desk()
    steps = tuple(
        replace(step, output=None, null_output=True) if step.tool_name == "get_order" else step for step in whole.steps
    )
    run = record(replace(whole, steps=steps)).run_id
    assert replayed(run, strict=True).status == "completed_exact"


def test_execution_finds_damage_in_long_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """A plan does not verify all of a long run, but its execution does."""
    monkeypatch.setattr("replay.store.graph_loader._FULL_CHECK_STEPS", 1)
    run = record(order_desk()).run_id
    step = tool_step(run, "get_order")
    lose(step.output_ref, "flipped")
    assert services.preview(asked(run, strict=True)).refusals == []
    view = replayed(run, strict=True)
    assert (view.status, view.error_code) == ("failed_validation", "artifact_missing")
    assert view.error_sequence_no == step.sequence_no
    assert labels(replayed(run)) == {step.sequence_no: ("simulated", "artifact_missing")}


def test_store_names_lost_payloads() -> None:
    run = record(large_desk()).run_id
    other = record(order_desk(external_id="other", model="m2", parameters={"temperature": 1})).run_id
    whole = integrity.check_store()
    assert (whole.artifacts, whole.lost_artifacts) == (Artifact.objects.count(), ())
    large = Artifact.objects.get(data__isnull=True).sha256
    asks = Step.objects.filter(run_id=other, type="model").order_by("sequence_no")[0].input_ref
    lose(large, "flipped")
    lose(asks, "deleted")
    lost = {each.digest: (each.loss, each.runs) for each in integrity.check_store().lost_artifacts}
    assert lost == {large: (Loss.CORRUPT, (run,)), asks: (Loss.MISSING, (other,))}


def _paths(patterns: Any, before: str = "") -> Iterator[str]:
    for pattern in patterns:
        path = before + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from _paths(pattern.url_patterns, path)
        elif isinstance(pattern, URLPattern) and path.startswith("api/v1/"):
            yield path


@pytest.mark.parametrize("how", LOSSES)
def test_endpoints_survive_lost_artifacts(how: str) -> None:
    run = record(large_desk()).run_id
    other = record(order_desk(external_id="other", model="m2")).run_id
    view = replayed(run, 9, [GOODBYE], allow=[])
    step = Step.objects.filter(run_id=run, type="model").order_by("sequence_no")[0]
    lost = {step.input_ref, Artifact.objects.get(data__isnull=True).sha256}
    lost |= set(Step.objects.filter(run_id=run, type="tool").values_list("output_ref", flat=True))
    for name in lost:
        lose(name, how)
    diff = diffing.diff(base_id=run, candidate_id=other)
    ids = {"runs": run, "steps": step.id, "diffs": diff.id, "replays": view.id, "artifacts": step.input_ref}
    client, statuses = Client(), {}
    for path in _paths(get_resolver().url_patterns):
        parts = path.split("/")
        filled = "/".join(
            str(step.sequence_no) if part == "<str:step>" else str(ids.get(parts[at - 1], run)) if "<" in part else part
            for at, part in enumerate(parts)
        )
        response = client.get(f"/{filled}")
        statuses[path.removeprefix("api/v1/")] = response.status_code
        assert response.status_code < 500, (path, response.content[:300])
    assert statuses["runs/<str:id>/full-steps"] == statuses["diffs/<uuid:id>"] == 200
    shown = client.get(f"/api/v1/runs/{run}/steps/{step.sequence_no}").json()
    loss = "missing" if how == "deleted" else "damaged"
    assert shown["lost"] == [{"field": "input", "loss": loss, "digest": step.input_ref}]
    assert (shown["unavailable"], shown["input"], shown["output"] is None) == (["input"], None, False)
    for format in ("md", "html"):
        assert client.get(f"/api/v1/diffs/{diff.id}", {"format": format}).status_code == 200
    assert _bundle_of(run)


def _bundle_of(run: UUID) -> bytes:
    response: Any = Client().post("/api/v1/bundles/export", {"run": str(run)}, content_type="application/json")
    assert response.status_code == 200
    with closing(response):
        return b"".join(response.streaming_content)


def _lose_message(run: UUID, index: int, how: str = "flipped") -> tuple[Step, str]:
    """Lose one message of a run's last request; all requests that contain it become partly readable."""
    step = Step.objects.filter(run_id=run, type="model").order_by("-sequence_no")[0]
    message: Any = artifact_store.payload(step.input_ref)["messages"][index]  # type: ignore[call-overload,index]
    digest = Splitter().part_digest(message)
    lose(digest, how)
    return step, digest


@pytest.mark.parametrize("how", LOSSES)
def test_only_the_lost_message_is_unavailable(how: str) -> None:
    run = record(order_desk()).run_id
    whole = Client().get(f"/api/v1/runs/{run}/full-steps").json()["steps"]
    step, digest = _lose_message(run, 3, how)
    shown = Client().get(f"/api/v1/runs/{run}/steps/{step.sequence_no}").json()
    messages = shown["input"]["messages"]
    assert (messages[3]["$unavailable"], messages[3]["role"]) == (digest, "unavailable")
    assert digest in messages[3]["content"]
    before = whole[step.sequence_no - 1]["input"]["messages"]
    assert [*messages[:3], *messages[4:]] == [*before[:3], *before[4:]]
    loss = "missing" if how == "deleted" else "damaged"
    assert shown["lost"] == [{"field": "input", "loss": loss, "digest": digest}]
    again = Client().get(f"/api/v1/runs/{run}/full-steps").json()["steps"]
    assert again[step.sequence_no - 1]["input"] == shown["input"]
    exported = [json.dumps(event.envelope) for event in langfuse_reading.events(Run.objects.get(id=run))]
    assert any("unavailable: artifact" in event and "Where is my order" in event for event in exported)
    assert labels(replayed(run))[step.sequence_no] == ("simulated", "artifact_missing")


def test_diff_compares_readable_parts() -> None:
    run = record(order_desk()).run_id
    talk = (("Where is my order A-2?", CONVERSATION[0][1]), *CONVERSATION[1:])
    other = record(order_desk(talk, external_id="other")).run_id
    _, digest = _lose_message(other, 1)
    shown = Client().get(f"/api/v1/diffs/{diffing.diff(base_id=run, candidate_id=other).id}").json()
    gaps = [gap for section in shown["sections"].values() for gap in section["unavailable"]]
    assert any(digest in gap["reason"] for gap in gaps)
    told = json.dumps([section["items"] for section in shown["sections"].values()])
    assert "unavailable: artifact" not in told


def test_damaged_run_exports_readable_parts() -> None:
    run = record(order_desk()).run_id
    step, digest = _lose_message(run, 3)
    answer = tool_step(run, "get_order").output_ref
    lose(answer, "deleted")
    lost = sorted({digest, answer})
    before = Client().get(f"/api/v1/runs/{run}/full-steps").json()["steps"]
    bundle = _bundle_of(run)
    with services_of_traces.retention():
        Run.objects.all().delete()
        Artifact.objects.all().delete()
    file = SimpleUploadedFile("run.forkpoint.zip", bundle)
    (imported,) = Client().post("/api/v1/bundles/import", {"file": file}).json()["runs"]
    assert (imported["created"], imported["lost"]) == (True, lost)
    after = Client().get(f"/api/v1/runs/{imported['id']}/full-steps").json()["steps"]
    for one, other in zip(before, after, strict=True):
        assert (one["input"], one["output"], one["unavailable"]) == (
            other["input"],
            other["output"],
            other["unavailable"],
        )
    shown = next(entry for entry in after if entry["sequence_no"] == step.sequence_no)
    assert {entry["loss"] for entry in shown["lost"]} == {"missing"}
    assert shown["signature"] == ""


def test_bundle_with_hidden_losses_is_refused() -> None:
    run = record(order_desk()).run_id
    _lose_message(run, 3)
    changed = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(_bundle_of(run))) as old, zipfile.ZipFile(changed, "w") as new:
        for name in old.namelist():
            data = old.read(name)
            if name == "manifest.json":
                manifest = json.loads(data)
                assert manifest.pop("unavailable")
                data = json.dumps(manifest).encode()
            new.writestr(name, data)
    file = SimpleUploadedFile("run.forkpoint.zip", changed.getvalue())
    refused = Client().post("/api/v1/bundles/import", {"file": file})
    assert refused.status_code == 400
    assert "lacks artifact" in refused.json()["detail"]
