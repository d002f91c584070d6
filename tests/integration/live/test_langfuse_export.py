"""Exports to Langfuse are complete, ordered and free of duplicates, even if requests fail."""

import json
import random
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from pytest_django import Settings

from replay.execution import runner, task_names
from replay.langfuse import export_worker
from replay.models import LangfuseExport
from replay.sessions import prepare, services
from tests.support.queues import capture_tasks
from tests.support.replay_runs import CONVERSATION, Reply, ToolCall, order_desk
from tests.support.servers.langfuse_server import KEYS, LangfuseServer, find_problem, langfuse_server
from tests.support.servers.provider_server import Exchange
from traces.core.recorded_run import RecordedRun, RecordedStep
from traces.core.vocabulary import StepStatus, StepType
from traces.importers.files.source import Source
from traces.importers.formats.tracing import langfuse as importer
from traces.models import Run
from traces.runs import queries
from traces.runs.services import open_run, record
from traces.storage import artifacts

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.divided]


@pytest.fixture(autouse=True)
def _by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run exports in the tests, without waits."""
    capture_tasks(monkeypatch, task_names.EXECUTE, task_names.COMPARE, task_names.EXPORT_LANGFUSE)
    monkeypatch.setattr(export_worker, "_FIRST_WAIT_S", 0.001)


@pytest.fixture
def langfuse(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[LangfuseServer]:
    monkeypatch.setenv("LANGFUSE_SECRET_KEY", KEYS[1])
    with langfuse_server() as running:
        settings.TELEMETRY = {"lf": {"langfuse": {"base_url": running.base_url, "public_key": KEYS[0]}}}
        yield running


def full_desk() -> RecordedRun:
    """A run with every type of step, times, costs, a failed call, and various parameters."""
    run = order_desk(
        (
            CONVERSATION[0],
            (
                "And A-2?",
                (ToolCall("get_order", {"order_id": "A-2"}, {"error": "gone"}, StepStatus.ERROR), Reply("Lost.")),
            ),
        ),
        parameters={"temperature": 0.2, "stop": ["END"], "seed": 7, "logit_bias": {"5": 1}},
    )
    start = datetime(2026, 11, 20, 9, tzinfo=UTC)
    retrieval = RecordedStep(
        key="docs",
        type=StepType.RETRIEVAL,
        name="policies",
        parent="agent",
        input={"query": "lost"},
        output={"documents": [{"id": "d1", "content": "Refund."}]},
    )
    ping = RecordedStep(
        key="ping", type=StepType.TOOL, name="ping", tool_name="ping", parent="agent", input={}, output=""
    )
    steps = [run.steps[0], retrieval, ping, *run.steps[1:]]
    timed_steps = []
    for at, step in enumerate(steps):
        started_at = start + timedelta(seconds=at)
        changes: dict[str, Any] = {"started_at": started_at, "ended_at": started_at + timedelta(milliseconds=250)}
        if step.type is StepType.MODEL:
            changes |= {"tokens_cached": 16}
        if step.status is StepStatus.ERROR:
            changes |= {"error": "the desk is closed"}
        timed_steps.append(replace(step, **changes))
    return replace(run, steps=tuple(timed_steps), tags=("demo",), environment="staging")


def record_run(run: RecordedRun | None = None) -> Run:
    return Run.objects.get(id=record(run or full_desk()).run_id)


def work(export: LangfuseExport) -> LangfuseExport:
    export_worker.work(export.id)
    export.refresh_from_db()
    return export


def reimport(langfuse: LangfuseServer) -> RecordedRun:
    data = json.dumps(langfuse.batch()).encode()
    (run,) = importer.parse([Source(name="export.json", data=data)])
    return run


def comparable(step: Any, parent: Any) -> dict[str, Any]:
    names = (
        "type",
        "name",
        "status",
        "model",
        "tool_name",
        "call_id",
        "tokens_in",
        "tokens_out",
        "tokens_cached",
        "error",
    )
    return {**{name: getattr(step, name) for name in names}, "parent": parent}


def test_exported_run_reimports_unchanged(langfuse: LangfuseServer) -> None:
    run = record_run()
    export = work(export_worker.enqueue(run.id, "lf"))
    assert (export.status, export.rejected, langfuse.rejections) == ("done", 0, [])
    copy = reimport(langfuse)
    steps = queries.steps(run.id)
    ids = {step.sequence_no: str(step.id) for step in steps}
    before = [comparable(step, ids.get(step.parent_no or 0)) for step in steps]
    assert [comparable(step, step.parent) for step in copy.steps] == before
    for step, back in zip(steps, copy.steps, strict=True):
        assert back.input == (artifacts.payload(step.input_ref) if step.input_ref else None)
        assert back.output == (artifacts.payload(step.output_ref) if step.output_ref else None)
        assert back.started_at == step.started_at
    assert (copy.environment, copy.tags) == ("staging", ("demo",))


def test_langfuse_receives_expected_events(langfuse: LangfuseServer) -> None:
    run = record_run()
    work(export_worker.enqueue(run.id, "lf"))
    trace, *observations = [langfuse.bodies[key] for key in langfuse.order]
    assert (trace["type"], trace["body"]["id"], trace["body"]["tags"]) == ("trace-create", run.id.hex, ["demo"])
    model = next(event for event in observations if event["type"] == "generation-create")["body"]
    assert model["usageDetails"] == {
        "prompt_tokens": 100,
        "completion_tokens": 20,
        "total_tokens": 120,
        "prompt_tokens_details": {"cached_tokens": 16},
    }
    assert model["modelParameters"] == {"temperature": 0.2, "stop": ["END"], "seed": 7, "logit_bias": '{"5": 1}'}
    assert model["output"]["tool_calls"][0]["function"] == {"name": "get_order", "arguments": '{"order_id": "A-1"}'}
    failed = next(event["body"] for event in observations if event["body"].get("level") == "ERROR")
    assert (failed["name"], failed["statusMessage"]) == ("get_order", "the desk is closed")
    assert failed["metadata"]["tool_use_id"] == "call_turn2.0"
    request = langfuse.requests[0]
    assert request.body["metadata"]["public_key"] == KEYS[0]
    assert KEYS[1] not in json.dumps(request.body)


@pytest.mark.parametrize("seed", range(2))
def test_export_survives_random_server_failures(langfuse: LangfuseServer, seed: int) -> None:
    run = record_run()
    chance = random.Random(seed)
    langfuse.fail = lambda exchange: chance.random() < 0.6 and failure(chance, exchange)
    export = export_worker.enqueue(run.id, "lf")
    for _ in range(100):
        LangfuseExport.objects.filter(id=export.id).update(retry_at=None, failures=0)
        if work(export).status != "pending":
            break
    assert (export.status, export.done_events) == ("done", run.step_count + 1)
    assert langfuse.order == [run.id.hex, *(str(step.id) for step in queries.steps(run.id))]
    assert reimport(langfuse).steps


def failure(chance: random.Random, exchange: Exchange) -> bool:
    """A random failure: 429, server error, broken connection, or a receipt with events to retry."""
    kind = chance.choice(("429", "500", "reset", "some"))
    if kind == "429":
        exchange.status(429, {}, retry_after="0")
    elif kind == "500":
        exchange.status(500, "oops")
    elif kind == "reset":
        exchange.handler.close_connection = True
        exchange.handler.connection.close()
    else:
        errors = [{"id": event["id"], "status": 500, "message": "later"} for event in exchange.body["batch"]]
        exchange.status(207, {"successes": [], "errors": errors})
    return True


def test_next_worker_continues_export_from_cursor(langfuse: LangfuseServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export_worker, "_MOST_EVENTS", 4)
    run = record_run()
    export = export_worker.enqueue(run.id, "lf")
    with monkeypatch.context() as death:
        advance_cursor = export_worker._Export._advance_cursor

        def dies(self: Any, *arguments: Any) -> None:
            advance_cursor(self, *arguments)
            if len(langfuse.order) >= 8:
                raise KeyboardInterrupt

        death.setattr(export_worker._Export, "_advance_cursor", dies)
        with pytest.raises(KeyboardInterrupt):
            work(export)
    export.refresh_from_db()
    assert (export.status, export.done_events) == ("running", 8)
    LangfuseExport.objects.update(heartbeat_at=datetime.now(UTC) - timedelta(minutes=10))
    assert export_worker.requeue_unfinished() == 1
    assert work(export).status == "done"
    assert set(langfuse.events.values()) == {1}


def test_repeated_export_creates_no_duplicates(langfuse: LangfuseServer) -> None:
    run = record_run()
    for _ in range(2):
        work(export_worker.enqueue(run.id, "lf"))
    assert len(langfuse.bodies) == run.step_count + 1
    assert set(langfuse.events.values()) == {2}  # the same ids again


def test_wrong_keys_fail_export_without_leak(
    langfuse: LangfuseServer, monkeypatch: pytest.MonkeyPatch, client: Client
) -> None:
    monkeypatch.setenv("LANGFUSE_SECRET_KEY", "sk-wrong")
    run = record_run()
    export = work(export_worker.enqueue(run.id, "lf"))
    assert (export.status, "401" in export.error) == ("failed", True)
    assert "sk-wrong" not in client.get(f"/api/v1/runs/{run.id}/exports").content.decode()
    assert "sk-wrong" not in client.get("/api/v1/hooks").content.decode()


def test_large_payloads_are_cut_and_batches_split(langfuse: LangfuseServer) -> None:
    step = RecordedStep(
        key="a", type=StepType.TOOL, name="dump", tool_name="dump", output="x" * 5_000_000, input={"n": 1}
    )
    more = [
        RecordedStep(key=f"b{n}", type=StepType.TOOL, name="dump", tool_name="dump", output="y" * 1_200_000)
        for n in range(6)
    ]
    run = record_run(RecordedRun(external_id="big", name="big", app="big", format="test", steps=(step, *more)))
    export = work(export_worker.enqueue(run.id, "lf"))
    assert (export.status, export.rejected) == ("done", 0)
    assert export.cut == 1
    assert len(langfuse.requests) >= 3


def test_finished_replay_is_exported_automatically(langfuse: LangfuseServer) -> None:
    run = record_run()
    session = services.launch(prepare.parse({"run": str(run.id)}))
    runner.execute(session.id)
    export = LangfuseExport.objects.get()
    assert export.run_id != run.id
    assert work(export).status == "done"
    trace = langfuse.bodies[export.run.id.hex]["body"]
    assert trace["sessionId"] == str(session.id)
    assert trace["metadata"]["forkpoint"]["source_run"] == str(run.id)
    labels = {
        event["body"]["metadata"]["forkpoint"]["label"]
        for event in langfuse.bodies.values()
        if "traceId" in event["body"]
    }
    assert labels == {"exact"}


def test_exports_over_rest(langfuse: LangfuseServer, client: Client, settings: Settings) -> None:
    run = record_run()
    response = client.post(f"/api/v1/runs/{run.id}/exports/langfuse", {}, content_type="application/json")
    assert (response.status_code, response.json()["status"]) == (202, "pending")
    work(LangfuseExport.objects.get())
    exports = client.get(f"/api/v1/runs/{run.id}/exports").json()
    assert [export["status"] for export in exports["exports"]] == ["done"]
    assert exports["exports"][0]["url"] == f"{langfuse.base_url}/trace/{run.id.hex}"
    target = client.get("/api/v1/hooks").json()["targets"][0]
    assert (target["kind"], target["sent"]) == ("langfuse", run.step_count + 1)
    unsealed_run = open_run(name="open", app="desk", source_run=None)
    early = client.post(f"/api/v1/runs/{unsealed_run.id}/exports/langfuse", {}, content_type="application/json")
    assert (early.status_code, early.json()["code"]) == (409, "conflict")
    settings.TELEMETRY = {}
    refusal = client.post(f"/api/v1/runs/{run.id}/exports/langfuse", {}, content_type="application/json")
    assert (refusal.status_code, refusal.json()["code"]) == (422, "validation_error")


def test_fake_server_matches_captured_payloads() -> None:
    fixture = Path(__file__).parents[2] / "fixtures" / "importers" / "langfuse"
    count = 0
    for file in fixture.rglob("*.json"):
        for event in json.loads(file.read_text()).get("batch", []):
            if event["type"] == "trace-create":
                count += 1
                assert not find_problem(event), file
    assert count or not fixture.exists()


def away(exchange: Exchange) -> bool:
    exchange.status(503, {})
    return True


def test_waiting_exports_are_requeued_once(langfuse: LangfuseServer, monkeypatch: pytest.MonkeyPatch) -> None:
    queue = capture_tasks(monkeypatch, task_names.EXPORT_LANGFUSE)
    export = export_worker.enqueue(record_run().id, "lf")
    assert queue == [str(export.id)]
    assert export_worker.requeue_unfinished() == 0
    LangfuseExport.objects.update(retry_at=datetime.now(UTC))
    assert [export_worker.requeue_unfinished(), export_worker.requeue_unfinished()] == [1, 0]
    langfuse.fail = away
    assert (work(export).status, export.failures) == ("pending", 1)
    assert export.retry_at is not None
    assert export.retry_at > datetime.now(UTC)
