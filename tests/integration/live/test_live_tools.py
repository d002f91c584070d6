"""Live tool calls in replays over HTTP: reviews, retries, approvals and crashes."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from pytest_django import Settings

from replay.core.errors import SessionConflict
from replay.execution import leases, runner, task_names
from replay.live import tools
from replay.models import Attempt, ReplaySession
from replay.sessions import prepare, queries, services
from replay.sessions.schemas import OperatorAnswer
from replay.tool_review import services as tool_review_services
from tests.support.queues import capture_tasks
from tests.support.replay_runs import order_desk
from tests.support.servers.live_tools import (
    LIVE,
    UNRECORDED_CALL,
    attempts,
    configure,
    launch,
    order_step,
    output,
    replay,
)
from tests.support.servers.provider_server import Exchange, ProviderServer, provider_server
from traces.models import Run, Step
from traces.runs.services import record

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.divided]
ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(autouse=True)
def _no_queue(monkeypatch: pytest.MonkeyPatch) -> None:
    """Disable the queue: the tests run sessions themselves."""
    capture_tasks(monkeypatch, task_names.EXECUTE, task_names.COMPARE)


@pytest.fixture
def endpoint(settings: Settings) -> Iterator[ProviderServer]:
    with provider_server(
        lambda exchange: exchange.status(200, {"id": exchange.body["order_id"], "status": "new"})
    ) as running:
        configure(settings, {"http": {"url": f"{running.base_url}/orders"}})
        yield running


def test_reviewed_tool_runs_with_replay_header(
    endpoint: ProviderServer,
) -> None:
    view = replay()
    step = order_step(view)
    assert (step.label, step.reason, step.status) == ("simulated", "live_tool_call", "ok")
    assert output(step) == {"id": "B-9", "status": "new"}
    assert [(exchange.path, exchange.body) for exchange in endpoint.requests] == [("/orders", {"order_id": "B-9"})]
    assert endpoint.requests[0].headers["forkpoint-replay"] == str(view.id)
    assert (attempts(), view.live_calls) == ([("tool", "succeeded", "")], 1)


def test_override_of_one_tool_leaves_others_live(endpoint: ProviderServer) -> None:
    entry = {"match": {"type": "tool", "name": "search_policy"}, "tool": {"output": {"given": True}}}
    view = replay(UNRECORDED_CALL, entry)
    assert view.run is not None
    policy = Step.objects.get(run_id=view.run, tool_name="search_policy")
    assert (policy.reason, output(policy)) == ("simulation_operator_override", {"given": True})
    assert (order_step(view).reason, len(endpoint.requests)) == ("live_tool_call", 1)


def test_plan_shows_tool_as_live(endpoint: ProviderServer) -> None:
    run = Run.objects.get(id=record(order_desk()).run_id)
    request: Any = {"run": str(run.id), "policy": {**LIVE, "order": "reexecute"}}
    tool_review_services.decide({"search_policy": False}, author="ada")
    plan = services.preview(prepare.parse(request))
    steps = {step.sequence_no: step for step in plan.steps}
    assert (steps[4].action, steps[4].reason, steps[4].label) == ("live", "live_tool_call", "simulated")
    assert steps[4].note == "Runs through http POST 127.0.0.1"
    assert steps[6].reason == "assumed_unaffected"  # No model says whether it is still requested.
    other_request: Any = {"run": str(run.id), "overrides": {"overrides": [UNRECORDED_CALL]}, "policy": LIVE}
    new = services.preview(prepare.parse(other_request))
    assert new.live_calls == 1
    assert "1 new call is made: get_order goes live." in new.warnings
    assert endpoint.requests == []


@pytest.mark.parametrize(
    ("policy", "safe"),
    [
        ({"allow": ["model"]}, True),
        ({"tools": {"block": ["get_*"]}}, True),
        ({"tools": {"allow": ["search_*"]}}, True),
        ({}, False),
    ],
)
def test_disallowed_tool_does_not_run(endpoint: ProviderServer, policy: Any, safe: bool) -> None:
    tool_review_services.decide({"get_order": safe}, author="ada")
    assert order_step(replay(**policy)).reason != "live_tool_call"
    assert endpoint.requests == []


def test_unreviewed_tool_call_is_blocked(endpoint: ProviderServer) -> None:
    session = launch()
    tool_review_services.decide({"get_order": None}, author="ada")  # taken back while the session waits for a worker
    runner.execute(session)
    assert output(order_step(queries.session_view(session))).startswith("[Forkpoint] Tool 'get_order' blocked")
    assert endpoint.requests == []


def test_tool_error_is_its_answer(endpoint: ProviderServer) -> None:
    endpoint.respond = lambda exchange: exchange.status(404, {"error": "no such order"})
    step = order_step(replay())
    assert (step.status, output(step)) == ("error", {"error": "no such order"})


def fails_first(times: int, fail: Callable[[Exchange], None]) -> Callable[[Exchange], None]:
    left = [times]

    def respond(exchange: Exchange) -> None:
        left[0] -= 1
        if left[0] >= 0:
            fail(exchange)
        else:
            exchange.status(200, {"status": "at last"})

    return respond


def test_rate_limited_call_is_retried(endpoint: ProviderServer) -> None:
    endpoint.respond = fails_first(2, lambda exchange: exchange.status(429, "wait", retry_after="0"))
    step = order_step(replay())
    assert (output(step), step.retries) == ({"status": "at last"}, 2)
    assert [status for _, status, _ in attempts()] == ["failed", "failed", "succeeded"]


def test_idempotent_tool_is_retried_after_server_error(endpoint: ProviderServer, settings: Settings) -> None:
    settings.TOOLS["get_order"]["idempotent"] = True
    endpoint.respond = fails_first(1, lambda exchange: exchange.status(500, "oops"))
    assert output(order_step(replay())) == {"status": "at last"}


def test_exhausted_retries_fail_the_session(endpoint: ProviderServer) -> None:
    endpoint.respond = lambda exchange: exchange.status(429, "wait", retry_after="0")
    view = replay()
    assert (view.status, view.error_code, len(endpoint.requests)) == ("failed_execution", "rate_limited", 3)


def test_unknown_outcome_is_asked_never_repeated(endpoint: ProviderServer) -> None:
    endpoint.respond = lambda exchange: exchange.status(500, "half done")
    session = launch()
    runner.execute(session)
    waiting = queries.session_view(session)
    assert (waiting.status, attempts()) == ("awaiting_operator", [("tool", "failed", "unknown_outcome")])
    assert waiting.question is not None
    assert "not idempotent" in waiting.question.text
    services.answer(session, OperatorAnswer(sequence_no=waiting.question.sequence_no, action="answer", output="done"))
    runner.execute(session)
    step = order_step(queries.session_view(session))
    assert (step.reason, output(step), len(endpoint.requests)) == ("simulation_operator_override", "done", 1)


def answer_and_resume(**answer_fields: Any) -> Any:
    """Run a session that waits for the operator, answer it, and return its view."""
    session = launch(tools={"ask": ["get_*"]})
    runner.execute(session)
    waiting = queries.session_view(session)
    assert waiting.question is not None
    assert waiting.question.may_run
    assert attempts() == []
    services.answer(session, OperatorAnswer(sequence_no=waiting.question.sequence_no, **answer_fields))
    runner.execute(session)
    return queries.session_view(session)


@pytest.mark.parametrize(
    ("answer_fields", "reason", "calls"),
    [
        ({"action": "run"}, "live_tool_call", 1),
        ({"action": "answer", "output": "lost"}, "simulation_operator_override", 0),
        ({"action": "fallback"}, "simulation_policy_fallback", 0),
    ],
)
def test_ask_tool_needs_operator_approval(
    endpoint: ProviderServer, answer_fields: Any, reason: str, calls: int
) -> None:
    view = answer_and_resume(**answer_fields)
    assert (order_step(view).reason, len(endpoint.requests)) == (reason, calls)
    assert view.status.startswith("completed")


def test_run_is_no_answer_about_outcome(endpoint: ProviderServer) -> None:
    endpoint.respond = lambda exchange: exchange.status(500, "half done")
    view = answer_and_resume(action="run")
    assert view.question is not None
    assert (view.status, view.question.may_run, len(endpoint.requests)) == ("awaiting_operator", False, 1)
    step = view.question.sequence_no
    with pytest.raises(SessionConflict, match="cannot run"):
        services.answer(view.id, OperatorAnswer(sequence_no=step, action="run"))
    services.answer(view.id, OperatorAnswer(sequence_no=step, action="answer", output="done"))
    runner.execute(view.id)
    assert (output(order_step(queries.session_view(view.id))), len(endpoint.requests)) == ("done", 1)


class Everyone(leases.Observer):
    """Treats every worker as dead."""

    def find_abandoned(self) -> list[leases.Claim]:
        running = ReplaySession.objects.filter(status="running").values_list("id", "owner")
        return [leases.Claim(session_id=id, owner=owner) for id, owner in running]


@pytest.mark.parametrize("idempotent", [False, True])
def test_crash_repeats_only_idempotent_calls(
    endpoint: ProviderServer, settings: Settings, monkeypatch: pytest.MonkeyPatch, idempotent: bool
) -> None:
    settings.TOOLS["get_order"]["idempotent"] = idempotent
    session = launch()
    really = tools.run

    def dies(tool: tools.Tool, call: tools.ToolCall) -> tools.ToolResult:
        really(tool, call)
        raise KeyboardInterrupt

    monkeypatch.setattr(tools, "run", dies)
    with pytest.raises(KeyboardInterrupt):
        runner.execute(session)
    monkeypatch.setattr(tools, "run", really)
    services.take_over(Everyone())
    runner.execute(session)
    view = queries.session_view(session)
    assert len(endpoint.requests) == (2 if idempotent else 1)
    assert (view.status == "awaiting_operator") is not idempotent
    if view.question is not None:
        services.answer(session, OperatorAnswer(sequence_no=view.question.sequence_no, action="fallback"))
        runner.execute(session)
        view = queries.session_view(session)
        assert order_step(view).reason == "simulation_policy_fallback"
    assert view.status.startswith("completed")
    assert len(endpoint.requests) == (2 if idempotent else 1)


def test_secrets_come_from_the_environment(
    endpoint: ProviderServer, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.TOOLS["get_order"]["http"]["headers_env"] = {"Authorization": "ORDERS_TOKEN"}
    assert replay().error_code == "auth"
    monkeypatch.setenv("ORDERS_TOKEN", "Bearer s3cret")
    replay()
    assert [exchange.headers["authorization"] for exchange in endpoint.requests] == ["Bearer s3cret"]
    assert "s3cret" not in str(list(Attempt.objects.values()))


def test_unreachable_host_ends_replay_after_retries(settings: Settings) -> None:
    configure(settings, {"http": {"url": "http://orders.invalid/"}})
    assert replay().error_code == "network"
    assert [code for _, _, code in attempts()] == ["network"] * 3


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        ({}, "give exactly one of"),
        ({"http": {"url": "ftp://a/"}}, "FORKPOINT_TOOLS.get_order.http.url"),
        ({"http": {"url": "http://a/", "verb": "GET"}}, ".http.verb"),
        ({"mcp": {}}, "`command`"),
        ({"python": "nobody"}, "no installed package offers it"),
        ({"python": "a", "timeout_s": 0}, ".timeout_s"),
    ],
)
def test_configuration_error_names_its_location(settings: Settings, entry: Any, says: str) -> None:
    settings.TOOLS = {"get_order": entry}
    with pytest.raises(ImproperlyConfigured) as error_info:
        tools.configured_tools()
    assert says in str(error_info.value)
