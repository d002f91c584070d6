"""Cost of replays: the estimate, the count and the cap, with a priced model."""

from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from pytest_django import Settings

from replay.execution import runner, task_names
from replay.live import providers
from replay.sessions import prepare, queries, services
from replay.sessions.schemas import SessionView
from tests.support.queues import capture_tasks
from tests.support.replay_runs import Reply, order_desk
from tests.support.servers.provider_server import ProviderServer, openai_text, provider_server
from traces.core.recorded_run import RecordedRun
from traces.core.vocabulary import StepType
from traces.models import Run, Step
from traces.runs.services import record

pytestmark = pytest.mark.django_db(transaction=True)
ESTIMATE = 10 * Decimal("0.0000025") + 2 * Decimal("0.00001")
PER_CALL = ESTIMATE - 4 * Decimal("0.00000125")  # four of the tokens were cached


@pytest.fixture(autouse=True)
def _no_queue(monkeypatch: pytest.MonkeyPatch) -> None:
    """Disable the queue: the tests run sessions themselves."""
    capture_tasks(monkeypatch, task_names.EXECUTE, task_names.COMPARE)


@pytest.fixture
def server(settings: Settings) -> Iterator[ProviderServer]:
    with provider_server(openai_text("Not ", "today.")) as running:
        settings.PROVIDERS = {"openai": {"protocol": "openai", "base_url": f"{running.base_url}/v1"}}
        yield running
        providers.close()


def fork(cap: float | None) -> Any:
    """A fork with five live calls of gpt-4o: ten tokens in (four cached), two tokens out each."""
    run = Run.objects.get(id=record(_independent_calls()).run_id)
    entry = {"match": {"type": "model"}, "prompt": {"system": "Be brief."}}
    budget = {} if cap is None else {"max_cost_usd": cap}
    body: Any = {"run": str(run.id), "overrides": {"overrides": [entry]}, "policy": {"budget": budget}}
    return prepare.parse(body)


def _independent_calls() -> RecordedRun:
    """Record five independent questions, so that no answer changes a later request."""
    talk = {
        "Where is it?": "Lost.",
        "Since when?": "Monday.",
        "Who knows?": "Nobody.",
        "And mine?": "Sent.",
        "Bye!": "Ciao.",
    }
    run = order_desk([(question, (Reply(answer),)) for question, answer in talk.items()])
    columns = {"provider": "openai", "model": "gpt-4o", "name": "gpt-4o", "tokens_in": 10, "tokens_out": 2}
    steps = [replace(step, **columns) if step.type is StepType.MODEL else step for step in run.steps]  # type: ignore[arg-type]
    return replace(run, steps=tuple(steps))


def replay(cap: float | None) -> SessionView:
    session = services.launch(fork(cap))
    runner.execute(session.id)
    return queries.session_view(session.id)


def step_costs(view: SessionView) -> list[Decimal | None]:
    assert view.run is not None
    steps = Step.objects.filter(run_id=view.run, reason="live_model_call", type="model").order_by("sequence_no")
    return list(steps.values_list("cost_usd", flat=True))


def test_cost_is_estimated_and_counted(server: ProviderServer) -> None:
    plan = services.preview(fork(None))
    assert plan.live_calls == 5
    assert plan.cost_usd == pytest.approx(5 * float(ESTIMATE))
    view = replay(None)
    assert view.cost_usd == pytest.approx(5 * float(PER_CALL))
    assert step_costs(view) == [PER_CALL] * 5


def test_session_stops_at_cost_cap(server: ProviderServer) -> None:
    view = replay(float(2 * PER_CALL))
    assert (view.status, view.error_code) == ("failed_execution", "budget_cost")
    assert (len(server.requests), view.live_calls) == (2, 2)
    assert view.cost_usd == pytest.approx(2 * float(PER_CALL))
    assert f"${float(2 * PER_CALL):.4f} is spent" in view.error
    assert step_costs(view) == [PER_CALL] * 2


def test_plan_warns_about_cost_above_cap(server: ProviderServer) -> None:
    warnings = services.preview(fork(float(2 * PER_CALL))).warnings
    assert any("cost" in text and "$" in text for text in warnings), warnings
    assert server.requests == []
