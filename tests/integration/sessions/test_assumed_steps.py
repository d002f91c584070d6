"""Replays with steps that are assumed unaffected, and with user messages after a changed answer."""

from typing import Any
from uuid import UUID

import pytest

from replay.execution import runner, task_names
from replay.models import ReplaySession
from replay.sessions import prepare, queries, services
from replay.sessions.schemas import SessionView
from replay.store import graph_loader
from replay.store.witness_loader import load_witnesses
from tests.support.queues import capture_tasks
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun, RecordedStep
from traces.core.vocabulary import StepType
from traces.models import Step
from traces.runs.services import record
from traces.storage import artifacts

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.divided]
SHIPPING = {"match": {"step": 1}, "output": "shipping"}
TONE = "Answer in the tone of the department."


@pytest.fixture(autouse=True)
def _no_queue(monkeypatch: pytest.MonkeyPatch) -> None:
    """Disable the queue: the tests run sessions themselves."""
    capture_tasks(monkeypatch, task_names.EXECUTE, task_names.COMPARE)


def _message(role: str, text: str) -> JSONObject:
    return {"role": role, "content": text}


def _model(key: str, answer: str, *messages: JSONValue, temperature: float = 0.0) -> RecordedStep:
    return RecordedStep(
        key=key,
        type=StepType.MODEL,
        name=key,
        provider="p",
        model="m",
        input={"messages": [*messages], "parameters": {"temperature": temperature}},
        output={"message": _message("assistant", answer)},
    )


def _router(
    external_id: str, answer: str = "billing", request: str = TONE, *, app: str = "router", temperature: float = 0.0
) -> RecordedRun:
    """A run in which a model picks a department, and code then calls a model without naming it."""
    steps = (
        _model("route", answer, _message("user", "Which queue is this for?"), temperature=temperature),
        _model("write", "We are looking into it.", _message("user", request)),
        RecordedStep(
            key="end",
            type=StepType.OUTPUT,
            name="end",
            input={"text": "We are looking into it."},
            output={"text": "We are looking into it."},
        ),
    )
    return RecordedRun(external_id=external_id, name=external_id, app=app, format="test", steps=steps)


def _request(run: UUID, entries: Any, **policy: Any) -> Any:
    body: Any = {"run": str(run), "fork_step": 1, "overrides": {"overrides": entries}, "policy": policy}
    return prepare.parse(body)


def _replay(run: UUID, entries: Any, *, strict_later: bool = False, **policy: Any) -> SessionView:
    session = services.launch(_request(run, entries, **policy))
    if strict_later:
        ReplaySession.objects.filter(id=session.id).update(policy={**session.policy, "strict": True})
    if session.status == "pending":
        runner.execute(session.id)
    return queries.session_view(session.id)


def _steps(view: SessionView) -> list[Step]:
    assert view.run is not None
    return list(Step.objects.filter(run_id=view.run).order_by("sequence_no"))


def test_assumed_step_reuses_its_recording() -> None:
    run = record(_router("one")).run_id
    source = Step.objects.get(run_id=run, sequence_no=2)
    view = _replay(run, [SHIPPING], allow=[])
    step = _steps(view)[1]
    assert (step.label, step.reason) == ("simulated", "assumed_unaffected")
    assert (step.input_ref, step.output_ref, step.source_step) == (source.input_ref, source.output_ref, source.id)
    assumption = step.detail["assumed"]
    assert (assumption["steps"], assumption["content"][0]["snippet"]) == ([1], TONE)
    assert "step 1 may have contributed to its input" in step.detail["note"]
    assert view.status != "completed_exact"


def test_strict_policies_refuse_assumed_steps() -> None:
    run = record(_router("one")).run_id
    view = _replay(run, [SHIPPING], allow=[], strict=True)
    assert (view.status, view.error_code) == ("failed_validation", "strict")


def test_strict_replay_stops_at_assumption() -> None:
    """The cached answer differs, and what code made of it is unknown, so the execution must not trust the plan."""
    run = record(_router("one")).run_id
    record(_router("warm", "shipping", "Write what you like.", temperature=1.0))
    warmer = {"match": {"step": 1}, "model": {"temperature": 1.0}}
    free = _replay(run, [warmer], allow=[])
    assert [step.label for step in _steps(free)][:2] == ["cached", "simulated"]
    assert _steps(free)[1].reason == "assumed_unaffected"
    view = _replay(run, [warmer], allow=[], strict_later=True)
    assert (view.status, view.error_code, view.error_sequence_no) == ("failed_execution", "strict", 2)
    assert "assumed unaffected" in view.error or "assumed_unaffected" in view.error


def test_step_lists_typed_messages() -> None:
    question, answer, reply = _message("user", "Where is it?"), "It is lost.", _message("user", "Then refund me.")
    steps = (
        _model("desk", answer, question),
        _model("desk2", "I refunded it.", question, _message("assistant", answer), reply),
    )
    run = record(RecordedRun(external_id="talk", name="talk", app="talk", format="test", steps=steps)).run_id
    entry = {"match": {"step": 1}, "output": "It arrives today."}
    plan = services.preview(_request(run, [entry], allow=[]))
    assert plan.steps[1].typed == [2]
    step = _steps(_replay(run, [entry], allow=[]))[1]
    assert step.detail["typed_after_a_change"] == [2]
    assert "a person might have replied differently" in step.detail["note"]
    request = artifacts.payload(step.input_ref)
    assert isinstance(request, dict)
    assert request["messages"] == [question, _message("assistant", "It arrives today."), reply]


def _witnesses(run: UUID, fork: int = 1) -> Any:
    graph = graph_loader.load_graph(run, fork)
    return load_witnesses(run, fork, graph.nodes)


def test_witnesses_are_other_recordings_of_the_app() -> None:
    run = record(_router("one")).run_id
    other_run = record(_router("two", "shipping")).run_id
    record(_router("else", app="other"))
    _replay(run, [SHIPPING], allow=[])
    (witness,) = _witnesses(run)
    outputs = dict(Step.objects.filter(run_id=other_run).values_list("sequence_no", "output_ref"))
    assert witness.outputs == outputs
    contents = Step.objects.get(run_id=other_run, sequence_no=2).unexplained
    assert contents
    assert {("model", "write", item["digest"]) for item in contents} <= witness.contents.keys()


def test_the_compared_run_is_a_witness_however_many_are_newer() -> None:
    run = record(_router("one")).run_id
    partner = record(_router("two", "shipping")).run_id
    for number in range(8):
        record(_router(f"newer {number}", "legal"))
    outputs = dict(Step.objects.filter(run_id=partner).values_list("sequence_no", "output_ref"))
    assert outputs not in [witness.outputs for witness in _witnesses(run)]
    witnesses = graph_loader.load_graph(run, 1, counterpart=partner).witnesses
    assert (len(witnesses), witnesses[0].outputs) == (8, outputs)


def test_no_witness_without_unexplained_content() -> None:
    run = record(_router("one", request="You are the billing desk.")).run_id
    record(_router("two", "shipping"))
    assert _witnesses(run, fork=3) == ()


def test_witnesses_identify_configuration() -> None:
    """Another run has the same request after a different answer, so the request does not depend on it."""
    run = record(_router("one")).run_id
    record(_router("two", "shipping"))
    view = _replay(run, [{"match": {"step": 1}, "output": "legal"}], allow=[])
    assert [step.label for step in _steps(view)] == ["simulated", "exact", "exact"]
