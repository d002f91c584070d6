"""The demo on a first visit, built by the real agent, replay and diff."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.test import Client

from cockpit.demo.agent import APP, loading
from cockpit.demo.agent.record import record
from cockpit.demo.agent.scenarios import RECORDINGS, REFUND, SCENARIOS, Scenario
from cockpit.demo.local_model import provider, server
from cockpit.demo.local_model.model import MODELS
from diffing.queries import report
from replay.live import providers
from replay.models import ReplaySession
from replay.sessions import services
from replay.sessions.queries import session_view
from replay.sessions.schemas import ReplayRequest, SessionView
from tests.support.demo import load_demo
from tests.support.patience import wait_until
from traces.core.recorded_run import RecordedRun
from traces.core.vocabulary import Label, Reason, RunStatus, StepStatus, StepType
from traces.importers.files.source import Source
from traces.importers.formats.tracing import forkpoint_events
from traces.models import Deletion, Run
from traces.retention import deletions, purge
from traces.runs.queries import steps

pytestmark = pytest.mark.divided


@pytest.fixture
def local_model(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Configure the model before a worker starts, so that a worker process can reach it like any provider."""
    configuration = {"protocol": "openai", "base_url": server.start(), "models": list(MODELS)}
    monkeypatch.setenv("FORKPOINT_PROVIDERS", json.dumps({provider.NAME: configuration}))
    yield
    providers.close()
    provider.stop()


def recording(file: Path) -> RecordedRun:
    [run] = forkpoint_events.parse([Source(name=file.name, data=file.read_bytes())])
    return run


def wait_for_end(session: ReplaySession | None) -> SessionView:
    """Wait until the session has ended and is compared; return it."""
    assert session is not None

    def finished_view() -> SessionView | None:
        view = session_view(session.id)
        return view if view.ended_at is not None and (view.diff is not None or view.error) else None

    return wait_until(finished_view, 60)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=[scenario.slug for scenario in SCENARIOS])
def test_recordings_match_current_agent(scenario: Scenario, tmp_path: Path) -> None:
    base_url = server.start()
    try:
        record(scenario, tmp_path / "again.jsonl", base_url)
    finally:
        server.stop()
    stored_run, new_run = recording(RECORDINGS / f"{scenario.slug}.jsonl"), recording(tmp_path / "again.jsonl")
    step_lists = [
        [(step.type, step.name, step.status, step.input, step.output) for step in run.steps]
        for run in (stored_run, new_run)
    ]
    assert step_lists[0] == step_lists[1]


def test_one_recording_mistakes_cents_for_euros() -> None:
    run = recording(RECORDINGS / f"{REFUND}.jsonl")
    assert run.status is RunStatus.FAILED
    refund = next(step for step in run.steps if step.name == "issue_refund")
    assert isinstance(refund.input, dict)
    assert refund.input["amount"] == 4200
    check = next(step for step in run.steps if step.type is StepType.VALIDATOR)
    assert check.status is StepStatus.ERROR
    assert "42.00 EUR" in check.error


def test_recordings_are_small_and_portable() -> None:
    texts = [file.read_text("utf-8") for file in RECORDINGS.glob("*.jsonl")]
    assert len(texts) == len(SCENARIOS)
    assert sum(map(len, texts)) < 400_000
    assert not any(str(Path.home()) in text or "Traceback" in text for text in texts)


@pytest.mark.django_db(transaction=True)
def test_demo_has_failed_run_fork_and_cause(local_model: None, worker: None) -> None:
    view = wait_for_end(load_demo())
    assert view.status == "completed_mixed", view.error
    source = Run.objects.get(id=view.source_run)
    assert source.status == RunStatus.FAILED
    assert source.cost_usd == 0
    assert Run.objects.filter(app=APP, source="import").count() == len(SCENARIOS)
    assert view.run is not None
    derived = {step.sequence_no: step for step in steps(view.run)}
    refund = next(step for step in derived.values() if step.tool_name == "issue_refund")
    assert refund.label == Label.CACHED  # another run of the app made the same call
    before = [derived[number] for number in range(1, view.fork_sequence_no)]
    derived_reasons = {step.sequence_no: step.reason for step in before if step.label != Label.EXACT}
    assert derived_reasons == {1: Reason.DERIVED, 4: Reason.DERIVED}  # the agent and the turn continue after the fork
    assert all(step.label == Label.SIMULATED for step in derived.values() if step.type == StepType.MODEL)
    fixed_run = Run.objects.get(id=view.run)
    assert (fixed_run.status, fixed_run.error_count, derived[1].status) == (
        RunStatus.COMPLETED,
        0,
        StepStatus.UNVERIFIED,
    )
    assert view.divergences == ["Step 8: issue_refund was called with amount 42 instead of 4200."]
    assert view.unused_calls == [8]
    assert view.diff is not None
    attribution = report(view.diff).attribution
    assert attribution.primary is not None
    assert attribution.primary.category == "prompt"
    assert "cents" in attribution.sentence
    assert "42.00 EUR" in attribution.sentence

    request = ReplayRequest(run=str(source.id), fork_step=view.fork_sequence_no, overrides=view.overrides)
    repetition = Run.objects.get(replayed_by=wait_for_end(services.launch(request)).id)
    assert {step.label for step in steps(repetition.id) if step.type == StepType.MODEL} == {Label.CACHED}
    assert (repetition.tokens_in, repetition.tokens_out) == (fixed_run.tokens_in, fixed_run.tokens_out)


@pytest.mark.django_db(transaction=True)
def test_second_load_resumes_without_changes(local_model: None, worker: None) -> None:
    first = wait_for_end(load_demo())
    ReplaySession.objects.filter(id=first.id).update(diff_id=None)  # as if stopped before the diff was made
    second = wait_for_end(load_demo())
    assert (second.id, second.diff) == (first.id, first.diff)
    assert ReplaySession.objects.count() == 1
    assert Run.objects.count() == len(SCENARIOS) + 1


@pytest.mark.django_db(transaction=True)
def test_deleted_demo_comes_back_only_on_request(client: Client, local_model: None, worker: None) -> None:
    view = wait_for_end(load_demo())
    tour = client.get("/api/v1/tour").json()
    assert tour == {"is_loading": False, "run": str(view.source_run), "session": str(view.id)}
    assert view.run is not None
    parcel = Run.objects.get(external_id=loading.load_recording("parcel").external_id)
    runs = {view.source_run, view.run, parcel.id}
    assert all(isinstance(result, Deletion) for result in deletions.delete([*runs], by="ada", includes_citations=True))
    deletions.delete([parcel.id], by="ada", at_once=True)
    purge.remove_due()

    load_demo()
    assert set(Run.objects.filter(deletion__isnull=False).values_list("id", flat=True)) == runs - {parcel.id}
    assert not Run.objects.filter(external_id=parcel.external_id).exists()
    assert client.get("/api/v1/tour").json()["run"] is None

    loading.put_recordings(restores_deleted=True)
    wait_for_end(loading.put_fork(restores_deleted=True))
    assert Run.objects.filter(deletion__isnull=True).count() == len(SCENARIOS) + 1
    assert set(Run.objects.values_list("revision", flat=True)) == {1}
    assert client.get("/api/v1/tour").json() == tour


@pytest.mark.django_db(transaction=True)
def test_unloadable_demo_is_ignored(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, local_model: None) -> None:
    (tmp_path / f"{SCENARIOS[-1].slug}.jsonl").write_text(json.dumps({"not": "an event"}))
    monkeypatch.setattr(loading, "RECORDINGS", tmp_path)
    loading.load()
    assert not Run.objects.exists()
