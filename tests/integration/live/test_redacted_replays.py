"""Replays of redacted runs: live answers are redacted before they are stored, and no live call gets a marker."""

import dataclasses
from collections.abc import Iterator
from typing import Any

import pytest
from pytest_django import Settings

from replay.core.errors import ReplayRefusal
from replay.execution import runner, task_names
from replay.live import providers
from replay.models import SessionMessage
from replay.sessions import prepare, queries, services
from tests.support.queues import capture_tasks
from tests.support.redactions import secrets
from tests.support.replay_runs import order_desk
from tests.support.servers.provider_server import Exchange, ProviderServer, openai_chunk, provider_server
from tests.support.stored_contents import stored_contents
from traces.models import Run, Step
from traces.redaction.markers import MARKER
from traces.runs.services import record

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.divided]
SECRET = secrets()["GitHub"]


@pytest.fixture(autouse=True)
def _no_queue(monkeypatch: pytest.MonkeyPatch) -> None:
    """Disable the queue: the tests run sessions themselves."""
    capture_tasks(monkeypatch, task_names.EXECUTE, task_names.COMPARE)


@pytest.fixture
def server(settings: Settings) -> Iterator[ProviderServer]:
    """A model that answers each request with a secret, in small pieces."""

    def respond(exchange: Exchange) -> None:
        exchange.stream()
        for piece in ("Use ", SECRET[:9], SECRET[9:20], SECRET[20:], " and be happy."):
            exchange.send(openai_chunk({"role": "assistant", "content": piece}))
        exchange.send(
            openai_chunk(finish="stop", usage={"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2})
        )
        exchange.send("[DONE]")

    with provider_server(respond) as running:
        settings.PROVIDERS = {"desk": {"protocol": "openai", "base_url": f"{running.base_url}/v1"}}
        yield running
        providers.close()


def replay(run: Run, *entries: dict[str, Any], **policy: Any) -> Any:
    body: Any = {"run": str(run.id), "overrides": {"overrides": list(entries)}, "policy": policy}
    session = services.launch(prepare.parse(body))
    runner.execute(session.id)
    return queries.session_view(session.id)


def recorded(question: str = "") -> Run:
    """The order desk, whose first question may be replaced."""
    run = order_desk()
    if question:
        text = repr(run.steps).count("Where is my order A-1?")
        assert text
        run = dataclasses.replace(run, steps=tuple(_ask(step, question) for step in run.steps))
    return Run.objects.get(id=record(run).run_id)


def _ask(step: Any, question: str) -> Any:
    return dataclasses.replace(step, input=_replaced(step.input, question))


def _replaced(value: Any, question: str) -> Any:
    if isinstance(value, str):
        return value.replace("Where is my order A-1?", question)
    if isinstance(value, dict):
        return {key: _replaced(item, question) for key, item in value.items()}
    return [_replaced(item, question) for item in value] if isinstance(value, list | tuple) else value


def test_live_answer_is_redacted_before_it_is_stored(server: ProviderServer) -> None:
    entry = {"match": {"type": "model"}, "model": {"temperature": 1}}
    view = replay(recorded(), entry, allow=["model"])
    live_steps = Step.objects.filter(run_id=view.run, reason="live_model_call")
    assert live_steps
    assert SECRET.encode() not in stored_contents()
    text = "".join(message.body["text"] for message in SessionMessage.objects.filter(type="text").order_by("seq")[:20])
    assert MARKER.search(text)
    run = Run.objects.get(id=view.run)
    assert run.metadata["redaction"]["status"] == "redacted"


def test_live_call_that_needs_a_redacted_value_is_not_made(server: ProviderServer) -> None:
    run = recorded(f"Use {SECRET}: where is my order A-1?")
    entry = {"match": {"type": "model"}, "model": {"temperature": 1}}
    view = replay(run, entry, allow=["model"])
    assert server.requests == []
    details = [str(step.detail) for step in Step.objects.filter(run_id=view.run, type="model")]
    assert any("would need a redacted value (github-classic-token)" in detail for detail in details)


def test_replay_without_live_calls_works_with_digests() -> None:
    view = replay(recorded(f"Use {SECRET}: where is my order A-1?"))
    assert view.status == "completed_exact"


def test_plan_says_why_the_call_is_not_made(server: ProviderServer) -> None:
    run = recorded(f"Use {SECRET}: where is my order A-1?")
    body: Any = {
        "run": str(run.id),
        "overrides": {"overrides": [{"match": {"type": "model"}, "model": {"temperature": 1}}]},
        "policy": {"allow": ["model"]},
    }
    plan = prepare.prepare(prepare.parse(body)).plan
    assert any("redacted value" in step.note for step in plan.steps)


def test_run_whose_redaction_failed_is_refused_with_the_reason() -> None:
    metadata: Any = {"redaction": {"status": "blocked", "reason": "a detector failed at step 3"}}
    run = Run.objects.get(id=record(dataclasses.replace(order_desk(), metadata=metadata)).run_id)
    with pytest.raises(ReplayRefusal) as caught:
        replay(run)
    assert caught.value.code == "privacy_blocked"
    assert "a detector failed at step 3" in str(caught.value)
