"""The demo: what a first visitor finds, made by the real agent, the real replay and the real diff."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from cockpit.demo.agent import loading
from cockpit.demo.agent.record import RECORDINGS, record
from cockpit.demo.agent.scenarios import APP, REFUND, SCENARIOS, Scenario
from cockpit.demo.local_model import provider, server
from cockpit.demo.local_model.model import MODELS
from diffing.queries import report
from replay.live import providers
from replay.models import ReplaySession
from replay.sessions.queries import session_view
from replay.sessions.schemas import SessionView
from tests.support.patience import wait_until
from traces.core.recorded_run import RecordedRun
from traces.core.vocabulary import Label, Reason, RunStatus, StepStatus, StepType
from traces.importers.files.source import Source
from traces.importers.formats.tracing import forkpoint_events
from traces.models import Run
from traces.runs.queries import steps


@pytest.fixture
def local_model(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Asked for before a worker: one in a process of its own reaches the model as any other provider."""
    served = {"protocol": "openai", "base_url": server.start(), "models": list(MODELS)}
    monkeypatch.setenv("FORKPOINT_PROVIDERS", json.dumps({provider.NAME: served}))
    yield
    providers.close()
    provider.stop()


def recording(file: Path) -> RecordedRun:
    [run] = forkpoint_events.parse([Source(name=file.name, data=file.read_bytes())])
    return run


def ended(session: ReplaySession) -> SessionView:
    """The session once it has ended and was compared."""

    def look() -> SessionView | None:
        view = session_view(session.id)
        return view if view.ended_at is not None and (view.diff is not None or view.error) else None

    return wait_until(look, 60)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=[scenario.slug for scenario in SCENARIOS])
def test_every_recording_is_what_the_agent_does_today(scenario: Scenario, tmp_path: Path) -> None:
    base_url = server.start()
    try:
        record(scenario, tmp_path / "again.jsonl", base_url)
    finally:
        server.stop()
    kept, again = recording(RECORDINGS / f"{scenario.slug}.jsonl"), recording(tmp_path / "again.jsonl")
    told = [
        [(step.type, step.name, step.status, step.input, step.output) for step in run.steps] for run in (kept, again)
    ]
    assert told[0] == told[1]


def test_one_recording_goes_wrong_because_cents_were_taken_for_euros() -> None:
    run = recording(RECORDINGS / f"{REFUND}.jsonl")
    assert run.status is RunStatus.FAILED
    refund = next(step for step in run.steps if step.name == "issue_refund")
    assert isinstance(refund.input, dict)
    assert refund.input["amount"] == 4200
    check = next(step for step in run.steps if step.type is StepType.VALIDATOR)
    assert check.status is StepStatus.ERROR
    assert "42.00 EUR" in check.error


def test_the_recordings_are_small_and_hold_nothing_of_the_machine_they_were_made_on() -> None:
    texts = [file.read_text("utf-8") for file in RECORDINGS.glob("*.jsonl")]
    assert len(texts) == len(SCENARIOS)
    assert sum(map(len, texts)) < 400_000
    assert not any(str(Path.home()) in text or "Traceback" in text for text in texts)


@pytest.mark.django_db(transaction=True)
def test_a_first_visitor_finds_the_failed_run_its_fork_and_the_cause(local_model: None, worker: None) -> None:
    view = ended(loading.put_in_store())
    assert view.status == "completed_mixed", view.error
    source = Run.objects.get(id=view.source_run)
    assert source.status == RunStatus.FAILED
    assert Run.objects.filter(app=APP, source="import").count() == len(SCENARIOS)
    assert view.run is not None
    derived = {step.sequence_no: step for step in steps(view.run)}
    refund = next(step for step in derived.values() if step.tool_name == "issue_refund")
    assert refund.label == Label.CACHED  # the other run of the app asked for just this
    before = [derived[number] for number in range(1, view.fork_sequence_no)]
    around = {step.sequence_no: step.reason for step in before if step.label != Label.EXACT}
    assert around == {1: Reason.DERIVED, 4: Reason.DERIVED}  # the agent and the turn that go on after the fork
    assert all(step.label == Label.SIMULATED for step in derived.values() if step.type == StepType.MODEL)
    fixed = Run.objects.get(id=view.run)
    assert (fixed.status, fixed.error_count, derived[1].status) == (RunStatus.COMPLETED, 0, StepStatus.UNVERIFIED)
    assert view.divergences == ["Step 8: issue_refund was called with amount 42 instead of 4200."]
    assert view.unused_calls == [8]
    assert view.diff is not None
    attribution = report(view.diff).attribution
    assert attribution.primary is not None
    assert attribution.primary.category == "prompt"
    assert "cents" in attribution.sentence
    assert "42.00 EUR" in attribution.sentence


@pytest.mark.django_db(transaction=True)
def test_loading_again_changes_nothing_and_takes_up_what_was_left(local_model: None, worker: None) -> None:
    first = ended(loading.put_in_store())
    ReplaySession.objects.filter(id=first.id).update(diff_id=None)  # as if stopped before the diff was made
    again = ended(loading.put_in_store())
    assert (again.id, again.diff) == (first.id, first.diff)
    assert ReplaySession.objects.count() == 1
    assert Run.objects.count() == len(SCENARIOS) + 1


@pytest.mark.django_db(transaction=True)
def test_a_demo_that_cannot_be_loaded_harms_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, local_model: None
) -> None:
    (tmp_path / f"{SCENARIOS[-1].slug}.jsonl").write_text(json.dumps({"not": "an event"}))
    monkeypatch.setattr(loading, "RECORDINGS", tmp_path)
    loading.load()
    assert not Run.objects.exists()
