"""Sessions follow their plans, and report every deviation; on the database."""

import dataclasses
import json
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pytest_django import Settings

from replay.execution import runner, task_names
from replay.live import providers
from replay.models import ReplaySession
from replay.sessions import prepare, queries, services
from replay.sessions.schemas import SessionView
from tests.support.agent_runs import ToolCall
from tests.support.memory_replays import Replay
from tests.support.queues import capture_tasks
from tests.support.servers.provider_server import Exchange, ProviderServer, openai_chunk, provider_server
from tests.unit.replay.planning.test_planner import agents, forks, plain, texts
from traces.models import Run, Step
from traces.runs.services import record

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.divided]
few_examples = settings(
    max_examples=10,
    deadline=None,
    derandomize=True,
    # Shrinking takes minutes
    phases=[Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@pytest.fixture(autouse=True)
def _no_queue(monkeypatch: pytest.MonkeyPatch) -> None:
    """Disable the queue; the tests run sessions themselves."""
    capture_tasks(monkeypatch, task_names.EXECUTE, task_names.COMPARE)


@pytest.fixture
def server(settings: Settings) -> Iterator[ProviderServer]:
    with provider_server(lambda exchange: exchange.status(500)) as running:
        settings.PROVIDERS = {"desk": {"protocol": "openai", "base_url": f"{running.base_url}/v1"}}
        yield running
        providers.close()


def run_session(fork: Replay, *, live: bool) -> tuple[ReplaySession, SessionView]:
    run = Run.objects.get(id=record(dataclasses.replace(fork.run, external_id=str(uuid4()), app=str(uuid4()))).run_id)
    # No tool is reviewed, nothing searches
    allow: list[Any] = [kind for kind in fork.policy.allow if kind == "model"]
    allow = allow if live else []
    order = fork.policy.order if allow else "reuse"
    policy = fork.policy.model_copy(update={"allow": allow, "order": order, "fallback": "simulate"})
    body: Any = {
        "run": str(run.id),
        "fork_step": fork.fork,
        "overrides": {"overrides": fork.entries},
        "policy": policy.model_dump(mode="json"),
    }
    session = services.launch(prepare.parse(body))
    runner.execute(session.id)
    return ReplaySession.objects.get(id=session.id), queries.session_view(session.id)


def became(session: ReplaySession) -> dict[int, str]:
    """Label of each source step from the fork on, after the session."""
    source = dict(Step.objects.filter(run=session.source_run).values_list("id", "sequence_no"))
    assert session.run_id is not None
    rows = Step.objects.filter(run_id=session.run_id, sequence_no__gte=session.fork_sequence_no).order_by("sequence_no")
    return {source[key]: label for key, label in rows.values_list("source_step", "label") if key in source}


def planned_labels(session: ReplaySession) -> dict[int, str]:
    """Planned label of each source step from the fork on, except skipped ones."""
    numbers = range(session.fork_sequence_no, session.source_run.step_count + 1)
    answers = {no: session.planned.get(str(no), ["reuse", "exact", ""]) for no in numbers}
    return {no: label or "" for no, (action, label, _) in answers.items() if action != "unreached"}


@few_examples
@given(forks())
def test_sessions_without_live_answers_follow_plan(server: ProviderServer, fork: Replay) -> None:
    session, view = run_session(fork, live=False)
    assert session.status.startswith("completed"), session.error
    assert became(session) == planned_labels(session)
    assert [text for text in view.divergences if "planned" in text] == []


answers = st.lists(st.one_of(texts, st.lists(st.one_of(plain, agents), min_size=1, max_size=3)), min_size=1, max_size=8)


@few_examples
@given(forks(), answers)
def test_changes_from_live_answers_are_reported(
    server: ProviderServer, fork: Replay, answers: list[str | list[ToolCall]]
) -> None:
    server.respond = _model(answers)
    session, view = run_session(fork, live=True)
    assert session.status.startswith("completed"), session.error
    was, is_now = planned_labels(session), became(session)
    for no in was.keys() & is_now.keys():
        is_reported = any(text.startswith(f"Step {no} was planned") for text in view.divergences)
        assert is_reported == (was[no] != is_now[no]), f"step {no}: planned {was[no]}, became {is_now[no]}"
    if was.keys() - is_now.keys():
        assert view.divergences


def _model(answers: list[str | list[ToolCall]]) -> Any:
    """A model that repeats these answers."""
    count = iter(range(10_000))

    def respond(exchange: Exchange) -> None:
        number = next(count)
        answer = answers[number % len(answers)]
        delta: dict[str, Any] = {"role": "assistant"}
        if isinstance(answer, str):
            delta["content"] = answer
        else:
            delta["tool_calls"] = [
                {
                    "index": at,
                    "id": f"live_{number}_{at}",
                    "type": "function",
                    "function": {"name": call.tool, "arguments": json.dumps(call.arguments)},
                }
                for at, call in enumerate(answer)
            ]
        exchange.stream()
        exchange.send(openai_chunk(delta))
        exchange.send(openai_chunk(finish="stop" if isinstance(answer, str) else "tool_calls"))
        exchange.send("[DONE]")

    return respond
