"""Table-driven cases of whole sessions; see `tests/unit/cases`."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
from pytest_django import Settings

from replay.execution import runner, task_names
from replay.live import providers
from replay.sessions import prepare, queries, services
from tests.support.queues import capture_tasks
from tests.support.replay_runs import order_desk
from tests.support.servers.provider_server import Exchange, openai_chunk, provider_server
from tests.unit.cases.test_cases import Case, cases
from traces.core.vocabulary import RunStatus
from traces.models import Run, Step
from traces.runs.services import record

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.divided]


@pytest.fixture(autouse=True)
def _no_queue(monkeypatch: pytest.MonkeyPatch) -> None:
    capture_tasks(monkeypatch, task_names.EXECUTE, task_names.COMPARE)


@contextmanager
def answering(answer: str | int | None, settings: Settings) -> Iterator[None]:
    """Start a model server that always answers this, or fails with this status; None: no server."""

    def respond(exchange: Exchange) -> None:
        if isinstance(answer, int):
            exchange.status(answer, {"error": {"message": "no"}})
            return
        exchange.stream()
        exchange.send(openai_chunk({"role": "assistant", "content": answer}))
        exchange.send(openai_chunk(finish="stop"))
        exchange.send("[DONE]")

    settings.PROVIDERS = {}
    if answer is None:
        yield
        return
    with provider_server(respond) as server:
        settings.PROVIDERS = {"desk": {"protocol": "openai", "base_url": f"{server.base_url}/v1"}}
        yield
        providers.close()


@cases("sessions")
def test_session_outcome(case: Case, settings: Settings) -> None:
    source = record(replace(order_desk(), status=RunStatus(case["source"]))).run_id
    if case["also_recorded"]:
        record(order_desk(external_id="other", model=case["also_recorded"]))
    before = list(Step.objects.filter(run=source).values())
    body: Any = {
        "run": str(source),
        "fork_step": case["fork"],
        "overrides": {"overrides": case["overrides"]},
        "policy": case["policy"],
    }
    with answering(case["answer"], settings):
        session = services.launch(prepare.parse(body))
        runner.execute(session.id)
    view = queries.session_view(session.id)
    assert (view.status, view.error_code, view.error_sequence_no) == (
        case["status"],
        case["error_code"],
        case["error_step"],
    )
    if case["counts"]:
        assert [view.counts.exact, view.counts.cached, view.counts.simulated] == case["counts"]
    assert list(Step.objects.filter(run=source).values()) == before
    _check_derived(case, view.run, source)


def _check_derived(case: Case, run: Any, source: Any) -> None:
    """Check the derived run's source, or that there is no run if the session never started."""
    if case["run"] is None:
        assert run is None
        return
    derived = Run.objects.get(id=run)
    assert (derived.status, derived.source, derived.source_run_id) == (case["run"], "replay", source)
    assert derived.sealed_at is not None
