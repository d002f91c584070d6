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
from django.db.models.functions import Now
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver
from pytest_django import Settings

from diffing import services as diffing
from replay.core.errors import ReplayRefusal
from replay.core.vocabulary import Engine
from replay.execution import runner, task_names
from replay.execution.derived_run import reused_steps
from replay.langfuse import run_reader as langfuse_reading
from replay.models import Runner, SessionMessage
from replay.sessions import prepare, queries, services
from replay.sessions.schemas import SessionView
from tests.support.lost_artifacts import LOSSES, large_artifacts, lose
from tests.support.queues import capture_tasks
from tests.support.replay_runs import CONVERSATION, Reply, ToolCall, order_desk
from traces.core.recorded_run import RecordedRun
from traces.models import Artifact, Run, Step
from traces.payloads.lost_payloads import Loss
from traces.payloads.splitter import Splitter
from traces.runs import copy as step_copies
from traces.runs import services as services_of_traces
from traces.runs.services import record
from traces.storage import artifacts as artifact_store
from traces.storage import integrity

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.divided]
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


def request(run: object, fork: int = 1, entries: Any = (), **policy: Any) -> Any:
    body: Any = {"run": str(run), "fork_step": fork, "overrides": {"overrides": [*entries]}, "policy": policy}
    return prepare.parse(body)


def replay(run: object, fork: int = 1, entries: Any = (), **policy: Any) -> SessionView:
    session = services.launch(request(run, fork, entries, **policy))
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


@pytest.mark.parametrize("damage", LOSSES)
@pytest.mark.parametrize("large", [False, True])
def test_lost_outputs_are_never_exact(damage: str, large: bool) -> None:
    run = record(large_desk() if large else order_desk()).run_id
    step = tool_step(run, "search_policy")
    digest = next(iter(large_artifacts())) if large else step.output_ref
    lose(digest, damage)
    view = replay(run)
    assert view.status == "completed_mixed"
    assert labels(view)[step.sequence_no] == ("simulated", "artifact_missing")
    derived_step = step_of(view, step.sequence_no)
    assert derived_step.detail["unavailable"][0]["digest"] == digest
    assert "No answer for this tool step" in json.dumps(artifact_store.payload(derived_step.output_ref))
    for policy, pointer in (({"strict": True}, "/policy/strict"), ({"fallback": "fail"}, "/policy/fallback")):
        failed = replay(run, **policy)
        first = failed.error_sequence_no
        assert (failed.status, failed.error_code) == ("failed_validation", "artifact_missing")
        assert (first, digest in failed.error) == (step.sequence_no, True)
        (refusal,) = services.preview(request(run, **policy), list_untouched=False).refusals
        assert (refusal.code, refusal.where, refusal.step) == ("artifact_missing", pointer, first)


def test_steps_of_later_batches_are_never_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reused_steps, "_FIRST_BATCH", 1)
    monkeypatch.setattr(reused_steps, "_BATCH", 2)
    run = record(order_desk()).run_id
    step = tool_step(run, "search_policy")
    assert step.sequence_no > 2
    exact = replay(run)
    assert exact.status == "completed_exact"
    bodies = (
        SessionMessage.objects.filter(session=exact.id, type="steps").order_by("seq").values_list("body", flat=True)
    )
    # The first step is committed at once.
    assert [(body["first"], body["last"]) for body in bodies][:3] == [(1, 1), (2, 3), (4, 5)]
    lose(step.output_ref, "flipped")
    view = replay(run)
    assert labels(view)[step.sequence_no] == ("simulated", "artifact_missing")
    assert view.counts.exact == Run.objects.get(id=run).step_count - 2  # the agent has no output of its own
    failed = replay(run, strict=True)
    assert (failed.error_code, failed.error_sequence_no) == ("artifact_missing", step.sequence_no)
    limited = replay(run, budget={"max_steps": step.sequence_no - 1})
    assert (limited.error_code, limited.error_sequence_no) == ("budget_steps", step.sequence_no)


def test_only_a_copy_without_losses_repeats_its_source(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its edges and totals are those of its source; those of other runs are computed."""
    compared_runs: list[UUID] = []

    def compare(derived_run: Run, source: Run) -> int:
        compared_runs.append(derived_run.id)
        return 0

    monkeypatch.setattr(step_copies, "unchanged_steps", compare)
    run = record(order_desk()).run_id
    exact = replay(run, fork=3)
    assert exact.status == "completed_exact"
    assert compared_runs == []
    step = tool_step(run, "search_policy")
    lose(step.output_ref, "flipped")
    views = [replay(run), replay(run, entries=[GOODBYE])]
    assert compared_runs == [view.run for view in views]


def test_lost_inputs_are_never_exact() -> None:
    """The recorded answer remains, but nothing proves any more that it answers this call."""
    step = tool_step(run := record(order_desk()).run_id, "get_order")
    lose(step.input_ref, "flipped")
    view = replay(run)
    assert labels(view) == dict.fromkeys((1, step.sequence_no), ("simulated", "artifact_missing"))
    assert (
        f"an artifact of the input of step {step.sequence_no} inside it is damaged" in step_of(view, 1).detail["note"]
    )
    assert services.preview(request(run), list_untouched=False).counts == view.counts
    assert step_of(view, step.sequence_no).output_ref == step.output_ref
    plan = services.preview(request(run, entries=[GOODBYE]))
    assert f"Step {step.sequence_no} keeps its recorded output, unverified" in plan.warnings[-1]
    again = step_of(replay(view.run), step.sequence_no)
    assert again.detail["recorded_as"] == step_of(view, step.sequence_no).reason == "source_output_unverified"


def test_lost_outputs_of_containers_around_a_fork_do_not_prevent_it() -> None:
    run = record(order_desk()).run_id
    turn = Step.objects.get(run_id=run, sequence_no=8)
    lose(turn.output_ref, "deleted")
    view = replay(run, 9, [GOODBYE], allow=[])
    assert labels(view)[turn.sequence_no] == ("simulated", "artifact_missing")
    assert services.preview(request(run, 9, [GOODBYE], allow=[])).counts == view.counts


def test_lost_steps_before_fork_count() -> None:
    run = record(order_desk()).run_id
    step = tool_step(run, "get_order")
    lose(step.output_ref, "deleted")
    view = replay(run, 9, [GOODBYE], allow=[])
    assert labels(view)[step.sequence_no] == ("simulated", "artifact_missing")
    plan = services.preview(request(run, 9, [GOODBYE], allow=[]))
    assert plan.counts == view.counts
    assert f"Step {step.sequence_no} before the fork cannot be verified" in plan.warnings[-1]
    strict = replay(run, 9, strict=True)
    assert (strict.status, strict.error_sequence_no) == ("failed_validation", step.sequence_no)


def test_operator_replaces_lost_output() -> None:
    run = record(order_desk()).run_id
    step = tool_step(run, "get_order")
    lose(step.output_ref, "truncated")
    entry = {"match": {"step": step.sequence_no}, "tool": {"output": {"id": "A-1", "status": "found"}}}
    view = replay(run, 1, [entry], allow=[])
    derived_step = step_of(view, step.sequence_no)
    assert (derived_step.label, derived_step.reason) == ("simulated", "simulation_operator_override")


def test_unrecorded_output_is_never_exact() -> None:
    whole = order_desk()
    steps = tuple(replace(step, output=None) if step.tool_name == "get_order" else step for step in whole.steps)
    run = record(replace(whole, steps=steps)).run_id
    step = tool_step(run, "get_order")
    view = replay(run)
    assert (view.status, labels(view)[step.sequence_no]) == ("completed_mixed", ("simulated", "artifact_missing"))
    assert replay(run, strict=True).status == "failed_validation"


def test_null_output_is_exact() -> None:
    whole = order_desk()
    steps = tuple(
        replace(step, output=None, null_output=True) if step.tool_name == "get_order" else step for step in whole.steps
    )
    run = record(replace(whole, steps=steps)).run_id
    assert replay(run, strict=True).status == "completed_exact"


def test_execution_finds_damage_in_long_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """A plan does not verify all of a long run, but its execution does."""
    monkeypatch.setattr("replay.store.losses._FULL_CHECK_STEPS", 1)
    run = record(order_desk()).run_id
    step = tool_step(run, "get_order")
    lose(step.output_ref, "flipped")
    assert services.preview(request(run, strict=True)).refusals == []
    view = replay(run, strict=True)
    assert (view.status, view.error_code) == ("failed_validation", "artifact_missing")
    assert view.error_sequence_no == step.sequence_no
    assert labels(replay(run)) == dict.fromkeys((1, step.sequence_no), ("simulated", "artifact_missing"))


def test_launch_finds_damage_that_a_preview_of_a_long_run_does_not_read(
    monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    settings.PROVIDERS = {"desk": {"protocol": "openai", "base_url": "http://127.0.0.1:9/v1"}}
    run = record(order_desk()).run_id
    damaged_step = tool_step(run, "search_policy")
    lose(damaged_step.output_ref, "flipped")
    # The call of the damaged step is resolved, because the model step before it is called again.
    temperature = {"match": {"step": damaged_step.sequence_no - 1}, "model": {"temperature": 1}}
    monkeypatch.setattr("replay.store.losses._FULL_CHECK_STEPS", 1)
    assert services.preview(request(run, entries=[temperature])).refusals == []
    with pytest.raises(ReplayRefusal) as refusal:
        services.launch(request(run, entries=[temperature]))
    assert refusal.value.code == "artifact_missing"
    assert refusal.value.step == damaged_step.sequence_no
    # An agent that runs reads a recorded answer when it gets there.
    app = Run.objects.get(id=run).app
    tools = ["get_order", "search_policy", "send_email"]
    Runner.objects.create(
        app=app, name="desk-1", connection="here", last_seen_at=Now(), command=["agent"], tools_to_run=tools
    )
    agent_request = request(run, entries=[temperature]).model_copy(update={"engine": Engine.AGENT})
    assert services.launch(agent_request).status == "pending"


def test_store_names_lost_payloads() -> None:
    run = record(large_desk()).run_id
    other_run = record(order_desk(external_id="other", model="m2", parameters={"temperature": 1})).run_id
    whole = integrity.check_store()
    assert (whole.artifacts, whole.lost_artifacts) == (Artifact.objects.count(), ())
    (large,) = large_artifacts()
    asks = Step.objects.filter(run_id=other_run, type="model").order_by("sequence_no")[0].input_ref
    lose(large, "flipped")
    lose(asks, "deleted")
    losses = {artifact.digest: (artifact.loss, artifact.runs) for artifact in integrity.check_store().lost_artifacts}
    assert losses == {large: (Loss.CORRUPT, (run,)), asks: (Loss.MISSING, (other_run,))}


def _paths(patterns: Any, before: str = "") -> Iterator[str]:
    for pattern in patterns:
        path = before + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from _paths(pattern.url_patterns, path)
        elif isinstance(pattern, URLPattern) and path.startswith("api/v1/"):
            yield path


@pytest.mark.parametrize("damage", LOSSES)
def test_endpoints_survive_lost_artifacts(damage: str) -> None:
    run = record(large_desk()).run_id
    other_run = record(order_desk(external_id="other", model="m2")).run_id
    view = replay(run, 9, [GOODBYE], allow=[])
    step = Step.objects.filter(run_id=run, type="model").order_by("sequence_no")[0]
    lost_digests = {step.input_ref, *large_artifacts()}
    lost_digests |= set(Step.objects.filter(run_id=run, type="tool").values_list("output_ref", flat=True))
    for name in lost_digests:
        lose(name, damage)
    diff = diffing.diff(base_id=run, candidate_id=other_run)
    ids = {"runs": run, "steps": step.id, "diffs": diff.id, "replays": view.id, "artifacts": step.input_ref}
    client, statuses = Client(), {}
    for path in _paths(get_resolver().url_patterns):
        parts = path.split("/")
        url = "/".join(
            str(step.sequence_no) if part == "<str:step>" else str(ids.get(parts[at - 1], run)) if "<" in part else part
            for at, part in enumerate(parts)
        )
        response = client.get(f"/{url}")
        statuses[path.removeprefix("api/v1/")] = response.status_code
        assert response.status_code < 500, (path, response.content[:300])
    assert statuses["runs/<str:id>/full-steps"] == statuses["diffs/<uuid:id>"] == 200
    step_view = client.get(f"/api/v1/runs/{run}/steps/{step.sequence_no}").json()
    loss = "missing" if damage == "deleted" else "damaged"
    assert step_view["lost"] == [{"field": "input", "loss": loss, "digest": step.input_ref}]
    assert (step_view["unavailable"], step_view["input"], step_view["output"] is None) == (["input"], None, False)
    for format in ("md", "html"):
        assert client.get(f"/api/v1/diffs/{diff.id}", {"format": format}).status_code == 200
    assert _bundle_of(run)


def _bundle_of(run: UUID) -> bytes:
    response: Any = Client().post("/api/v1/bundles/export", {"run": str(run)}, content_type="application/json")
    assert response.status_code == 200
    with closing(response):
        return b"".join(response.streaming_content)


def _lose_message(run: UUID, index: int, damage: str = "flipped") -> tuple[Step, str]:
    """Lose one message of a run's last request; all requests that contain it become partly readable."""
    step = Step.objects.filter(run_id=run, type="model").order_by("-sequence_no")[0]
    message: Any = artifact_store.payload(step.input_ref)["messages"][index]  # type: ignore[call-overload,index]
    digest = Splitter().part_digest(message)
    lose(digest, damage)
    return step, digest


@pytest.mark.parametrize("damage", LOSSES)
def test_only_the_lost_message_is_unavailable(damage: str) -> None:
    run = record(order_desk()).run_id
    whole = Client().get(f"/api/v1/runs/{run}/full-steps").json()["steps"]
    step, digest = _lose_message(run, 3, damage)
    view = Client().get(f"/api/v1/runs/{run}/steps/{step.sequence_no}").json()
    messages = view["input"]["messages"]
    assert (messages[3]["$unavailable"], messages[3]["role"]) == (digest, "unavailable")
    assert digest in messages[3]["content"]
    before = whole[step.sequence_no - 1]["input"]["messages"]
    assert [*messages[:3], *messages[4:]] == [*before[:3], *before[4:]]
    loss = "missing" if damage == "deleted" else "damaged"
    assert view["lost"] == [{"field": "input", "loss": loss, "digest": digest}]
    full_steps = Client().get(f"/api/v1/runs/{run}/full-steps").json()["steps"]
    assert full_steps[step.sequence_no - 1]["input"] == view["input"]
    envelopes = [json.dumps(event.envelope) for event in langfuse_reading.events(Run.objects.get(id=run))]
    assert any("unavailable: artifact" in event and "Where is my order" in event for event in envelopes)
    assert labels(replay(run))[step.sequence_no] == ("simulated", "artifact_missing")


def test_diff_compares_readable_parts() -> None:
    run = record(order_desk()).run_id
    talk = (("Where is my order A-2?", CONVERSATION[0][1]), *CONVERSATION[1:])
    other_run = record(order_desk(talk, external_id="other")).run_id
    _, digest = _lose_message(other_run, 1)
    report = Client().get(f"/api/v1/diffs/{diffing.diff(base_id=run, candidate_id=other_run).id}").json()
    gaps = [gap for section in report["sections"].values() for gap in section["unavailable"]]
    assert any(digest in gap["reason"] for gap in gaps)
    items = json.dumps([section["items"] for section in report["sections"].values()])
    assert "unavailable: artifact" not in items


def test_damaged_run_exports_readable_parts() -> None:
    run = record(order_desk()).run_id
    step, digest = _lose_message(run, 3)
    answer = tool_step(run, "get_order").output_ref
    lose(answer, "deleted")
    lost_digests = sorted({digest, answer})
    before = Client().get(f"/api/v1/runs/{run}/full-steps").json()["steps"]
    bundle = _bundle_of(run)
    with services_of_traces.retention():
        Run.objects.all().delete()
        Artifact.objects.all().delete()
    file = SimpleUploadedFile("run.forkpoint.zip", bundle)
    (imported_id,) = Client().post("/api/v1/bundles/import", {"file": file}).json()["runs"]
    assert (imported_id["created"], imported_id["lost"]) == (True, lost_digests)
    after = Client().get(f"/api/v1/runs/{imported_id['id']}/full-steps").json()["steps"]
    for original, copy in zip(before, after, strict=True):
        assert (original["input"], original["output"], original["unavailable"]) == (
            copy["input"],
            copy["output"],
            copy["unavailable"],
        )
    entry_view = next(entry for entry in after if entry["sequence_no"] == step.sequence_no)
    assert {entry["loss"] for entry in entry_view["lost"]} == {"missing"}
    assert entry_view["signature"] == ""


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
    response = Client().post("/api/v1/bundles/import", {"file": file})
    assert response.status_code == 400
    assert "lacks artifact" in response.json()["detail"]
