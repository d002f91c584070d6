"""Hooks in replays: deny and modify tool calls, add messages, stop the loop; decisions are stored."""

import contextlib
import sys
import time
import types
from collections.abc import Callable, Iterator
from importlib.metadata import EntryPoint
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.test import Client
from pytest_django import Settings

from replay.core.errors import LostOwnership
from replay.execution import runner, task_names
from replay.execution.calls import live_models
from replay.hooks import configuration, telemetry
from replay.live import providers
from replay.models import HookOutcome, ReplaySession
from replay.sessions import prepare, queries, services
from replay.sessions.schemas import SessionView
from tests.support.queues import capture_tasks
from tests.support.replay_runs import order_desk
from tests.support.servers.provider_server import Exchange, ProviderServer, openai_chunk, provider_server
from traces.models import Run, Step
from traces.runs.services import record
from traces.storage import artifacts

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.divided]
ASKS = {"match": {"step": 5}, "model": {"temperature": 0.5}}
OTHER_ORDER = {
    "match": {"step": 3},
    "output": {"tool_calls": [{"id": "x", "name": "get_order", "arguments": {"order_id": "B-9"}}]},
}


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Disable the queue, and close the senders after the test."""
    capture_tasks(monkeypatch, task_names.EXECUTE, task_names.COMPARE)
    yield
    telemetry.close()


@pytest.fixture
def server(settings: Settings) -> Iterator[ProviderServer]:
    with provider_server(model({"content": "a live answer"})) as running:
        settings.PROVIDERS = {"desk": {"protocol": "openai", "base_url": f"{running.base_url}/v1"}}
        yield running
        providers.close()


def model(*answers: dict[str, Any]) -> Callable[[Exchange], None]:
    """Start a model that answers with these messages in turn, then repeats the last."""
    waiting = list(answers)

    def respond(exchange: Exchange) -> None:
        delta = waiting.pop(0) if len(waiting) > 1 else waiting[0]
        exchange.stream()
        exchange.send(openai_chunk({"role": "assistant", **delta}))
        usage = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
        exchange.send(openai_chunk(finish="tool_calls" if "tool_calls" in delta else "stop", usage=usage))
        exchange.send("[DONE]")

    return respond


def asks(tool: str, arguments: str) -> dict[str, Any]:
    return {
        "tool_calls": [
            {"index": 0, "id": "new", "type": "function", "function": {"name": tool, "arguments": arguments}}
        ]
    }


def launch(*entries: dict[str, Any], **policy: Any) -> Any:
    run = Run.objects.get(id=record(order_desk()).run_id)
    body: Any = {"run": str(run.id), "overrides": {"overrides": list(entries or [OTHER_ORDER])}, "policy": policy}
    return services.launch(prepare.parse(body)).id


def replay(*entries: dict[str, Any], **policy: Any) -> SessionView:
    session = launch(*entries, **policy)
    runner.execute(session)
    return queries.session_view(session)


def steps(view: SessionView) -> list[Step]:
    assert view.run is not None
    return list(Step.objects.filter(run_id=view.run).order_by("sequence_no"))


def labels(view: SessionView) -> list[str]:
    return [f"{step.sequence_no} {step.tool_name or step.type} {step.label} {step.reason}" for step in steps(view)]


def tool(view: SessionView, name: str = "get_order") -> Step:
    return next(step for step in steps(view) if step.tool_name == name)


def hook(settings: Settings, **entries: dict[str, Any]) -> None:
    settings.HOOKS = {name.replace("_", "-"): entry for name, entry in entries.items()}


def callable_hook(monkeypatch: pytest.MonkeyPatch, function: Callable[..., Any]) -> dict[str, Any]:
    """Configuration entry for a hook of an installed package."""
    module = types.ModuleType("hooks_of_the_test")
    module.listen = function  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    point = EntryPoint(name="listen", value=f"{module.__name__}:listen", group=configuration.GROUP)
    monkeypatch.setattr(configuration, "callables", lambda: {"listen": point})
    return {"python": "listen"}


def test_denied_call_names_its_hook(server: ProviderServer, settings: Settings) -> None:
    deny = {"events": ["pre_tool_use"], "matcher": "order$", "answer": {"action": "deny", "message": "not on Sundays"}}
    hook(settings, no_orders=deny)
    view = replay()
    step = tool(view)
    assert (step.status, step.label, step.reason) == ("denied", "simulated", "denied")
    assert step.detail["hook"] == {"name": "no-orders", "action": "deny", "message": "not on Sundays"}
    message = "[Forkpoint] Tool 'get_order' was denied by the hook 'no-orders': not on Sundays"
    assert artifacts.payload(step.output_ref) == message
    assert server.requests[0].body["messages"][-1]["content"] == message


def test_matcher_limits_hook_to_tools(server: ProviderServer, settings: Settings) -> None:
    hook(settings, mail={"matcher": "^send", "answer": {"action": "deny"}, "events": ["pre_tool_use"]})
    assert tool(replay()).reason == "side_effect_blocked"


def test_modified_arguments_reuse_recorded_answer(server: ProviderServer, settings: Settings) -> None:
    change = {"events": ["pre_tool_use"], "answer": {"action": "modify_args", "args": {"order_id": "A-1"}}}
    hook(settings, right=change)
    view = replay()
    step = tool(view)
    assert (step.label, step.reason) == ("exact", "source_output_reused")
    assert artifacts.payload(step.input_ref) == {"order_id": "A-1"}
    assert step.detail["hook"] == {"name": "right", "action": "modify_args", "asked": {"order_id": "B-9"}}


def test_failing_hook_is_skipped_but_gate_denies(server: ProviderServer, settings: Settings) -> None:
    away = {"http": {"url": "http://127.0.0.1:9/"}, "events": ["pre_tool_use"], "timeout_s": 1}
    hook(settings, watcher=away)
    assert tool(replay()).reason == "side_effect_blocked"
    assert HookOutcome.objects.get().failures[0][0] == "watcher"
    hook(settings, watcher={**away, "gate": True})
    step = tool(replay())
    assert (step.reason, step.detail["hook"]["name"]) == ("denied", "watcher")


def _endless(exchange: Exchange) -> None:
    exchange.stream()
    with contextlib.suppress(OSError):  # the other side has heard enough
        while True:
            exchange.handler.wfile.write(b" ")
            time.sleep(0.02)


def _no_number(exchange: Exchange) -> None:
    exchange.status(200, '{"action": "modify_args", "args": {"order_id": NaN}}')


@pytest.mark.parametrize(("answer", "reason"), [(_endless, "does not end"), (_no_number, "is not JSON")])
def test_invalid_hook_answers_count_as_failures(
    server: ProviderServer, settings: Settings, answer: Callable[[Exchange], None], reason: str
) -> None:
    with provider_server(answer) as hook_server:
        hook(settings, gate={"http": {"url": hook_server.base_url}, "events": ["pre_tool_use"], "timeout_s": 2})
        assert tool(replay()).reason == "side_effect_blocked"
    ((name, error),) = HookOutcome.objects.get().failures
    assert name == "gate"
    assert reason in error


def test_http_hook_receives_documented_envelope(server: ProviderServer, settings: Settings) -> None:
    with provider_server(lambda exchange: exchange.status(200, {"action": "deny", "message": "no"})) as gate:
        hook(settings, gate={"http": {"url": f"{gate.base_url}/ask"}, "events": ["pre_tool_use"]})
        view = replay()
    assert tool(view).reason == "denied"
    envelope = gate.requests[0].body
    assert envelope.keys() == {"event_type", "timestamp_ms", "session_id", "agent_id", "payload"}
    assert (envelope["event_type"], envelope["session_id"], envelope["agent_id"]) == (
        "pre_tool_use",
        str(view.id),
        "desk",
    )
    assert envelope["payload"] == {"tool_name": "get_order", "args": {"order_id": "B-9"}, "tool_use_id": "x"}
    assert gate.requests[0].headers["forkpoint-replay"] == str(view.id)


def test_hook_messages_reach_next_request(server: ProviderServer, settings: Settings) -> None:
    say = {"events": ["post_tool_use"], "answer": {"action": "system_message", "text": "Be brief."}}
    hook(settings, brief=say)
    view = replay()
    assert server.requests[0].body["messages"][-1] == {"role": "system", "content": "Be brief."}
    model_step = next(
        step for step in steps(view) if step.type == "model" and step.sequence_no > tool(view).sequence_no
    )
    assert model_step.detail["hooks"] == [{"name": "brief", "action": "system_message", "text": "Be brief."}]
    later = [message["role"] for message in server.requests[1].body["messages"]]
    assert later == ["system", "user", "assistant", "tool", "system", "assistant", "user"]  # the conversation keeps it


def test_stop_decision_ends_the_loop(server: ProviderServer, settings: Settings) -> None:
    hook(settings, enough={"events": ["turn_end"], "answer": {"action": "stop", "reason": "too far"}})
    server.respond = model(asks("get_order", '{"order_id": "B-9"}'))
    view = replay({"match": {"step": 3}, "model": {"temperature": 0.5}})
    assert view.status.startswith("completed")
    assert len([step for step in steps(view) if step.type == "model" and step.parent_no == 2]) == 1
    assert any("The hook 'enough' stopped the agent: too far" in text for text in view.divergences)


def test_events_fire_in_order_like_krabs(
    server: ProviderServer, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    events: list[tuple[str, dict[str, Any]]] = []
    hook(settings, ear=callable_hook(monkeypatch, lambda event: events.append((event["event_type"], event["payload"]))))
    replay()
    assert [event for event, _ in events] == [
        "agent_start",
        "turn_start",
        "pre_tool_use",
        "post_tool_use",
        "turn_end",
        "turn_start",
        "turn_end",
        "turn_start",
        "turn_end",
        "agent_stop",
    ]
    payloads = dict(events)
    assert payloads["agent_start"] == {"task": "help"}
    assert payloads["agent_stop"]["result"] == "a live answer"
    turn_ends = [payload for event, payload in events if event == "turn_end"]
    assert [payload["turn"] for payload in turn_ends] == [0, 1, 0]
    assert (turn_ends[1]["tokens_in"], turn_ends[1]["tokens_out"], turn_ends[1]["finish_reason"]) == (11, 7, "stop")


def test_exact_replay_fires_no_tool_hooks(
    server: ProviderServer, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    events: list[str] = []
    hook(settings, ear=callable_hook(monkeypatch, lambda event: events.append(event["event_type"])))
    run = Run.objects.get(id=record(order_desk()).run_id)
    session = services.launch(prepare.parse({"run": str(run.id)})).id
    runner.execute(session)
    assert (queries.session_view(session).status, events) == ("completed_exact", ["agent_start", "agent_stop"])


def test_takeover_uses_stored_hook_decisions(
    server: ProviderServer, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    events: list[str] = []

    def listen(event: dict[str, Any]) -> Any:
        events.append(event["event_type"])
        return {"action": "modify_args", "args": {"order_id": "A-1"}} if event["event_type"] == "pre_tool_use" else None

    hook(settings, right=callable_hook(monkeypatch, listen))
    session = launch()
    with monkeypatch.context() as crash:
        crash.setattr(live_models, "answer", _taken_away)
        runner.execute(session)
    assert events == ["agent_start", "turn_start", "pre_tool_use", "post_tool_use", "turn_end", "turn_start"]
    ReplaySession.objects.filter(id=session).update(status="pending", owner="")
    runner.execute(session)
    view = queries.session_view(session)
    assert (view.status, tool(view).detail["hook"]["asked"]) == ("completed_mixed", {"order_id": "B-9"})
    assert [events.count(event) for event in ("agent_start", "pre_tool_use", "agent_stop")] == [1, 1, 1]


def _taken_away(*_: Any) -> Any:
    raise LostOwnership


def test_configuration_error_names_its_location(settings: Settings) -> None:
    for entry, message in (
        ({"matcher": "(", "answer": {"action": "deny"}}, ".matcher"),
        ({"python": "nobody"}, ".python"),
        ({}, "exactly one"),
        ({"answer": {"action": "deny"}, "events": ["lunch"]}, ".events"),
    ):
        hook(settings, mine=entry)
        with pytest.raises(ImproperlyConfigured, match="FORKPOINT_HOOKS") as error:
            configuration.hooks()
        assert message in str(error.value)


def test_failed_replay_fires_stop_event(
    server: ProviderServer, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    events: list[tuple[str, Any]] = []
    hook(settings, ear=callable_hook(monkeypatch, lambda event: events.append((event["event_type"], event["payload"]))))
    server.respond = lambda exchange: exchange.status(401, {"error": {"message": "who are you"}})
    assert replay().status == "failed_execution"
    assert [event for event, _ in events][-2:] == ["turn_end", "agent_stop"]
    assert events[-1][1]["status"] == "failed_execution"
    events.clear()
    waiting = launch(tools={"ask": ["get_order"]})
    runner.execute(waiting)
    assert services.cancel(waiting).status == "cancelled"
    assert events[-1] == ("agent_stop", {"result": "", "status": "cancelled"})


def read_pages(client: Client, path: str, rows: str) -> Iterator[Any]:
    """Read all items of a list in pages of two."""
    after: int | None = 0
    while after is not None:
        page = client.get(path, {"after": after, "limit": 2}).json()
        assert len(page[rows]) <= 2
        yield from page[rows]
        after = page["next"]


def test_attempts_and_takeovers_are_listed(server: ProviderServer, client: Client) -> None:
    good, answers = server.respond, iter([429, 500])

    def respond(exchange: Exchange) -> None:
        status = next(answers, None)
        exchange.status(status, {"error": {"message": "busy"}}) if status else good(exchange)

    server.respond = respond
    session = launch(retries={"max": 3, "initial_s": 0.01})
    ReplaySession.objects.filter(id=session).update(lost_workers=1, run=None)
    runner.execute(session)
    view = queries.session_view(session)
    attempts = client.get(f"/api/v1/replays/{session}/attempts").json()["attempts"]
    first = [attempt for attempt in attempts if attempt["sequence_no"] == attempts[0]["sequence_no"]]
    assert [(attempt["attempt"], attempt["status"]) for attempt in first] == [
        (1, "failed"),
        (2, "failed"),
        (3, "succeeded"),
    ]
    assert attempts == list(read_pages(client, f"/api/v1/replays/{session}/attempts", "attempts"))
    usage = client.get(f"/api/v1/runs/{view.run}/usage").json()
    live = [step for step in steps(view) if step.type == "model" and step.reason == "live_model_call"]
    assert usage["total"]["calls"] == usage["total"]["reused_calls"] + len(live) + 1  # and the what-if
    assert (usage["total"]["tokens_in"], usage["total"]["tokens_out"]) == (11 * len(live), 7 * len(live))
    assert [turn["name"] for turn in usage["turns"]] == ["turn 1", "turn 2"]
    assert usage["models"][0]["model"] == "m1"
    assert usage["total"]["cost_usd"] is None


def test_takeover_reports_last_kept_step(server: ProviderServer, monkeypatch: pytest.MonkeyPatch) -> None:
    session = launch()
    with monkeypatch.context() as crash:
        crash.setattr(live_models, "answer", _taken_away)
        runner.execute(session)
    checkpoint = ReplaySession.objects.get(id=session).checkpoint_no
    ReplaySession.objects.filter(id=session).update(status="pending", owner="", lost_workers=1)
    runner.execute(session)
    (takeover,) = queries.session_view(session).takeovers
    assert (takeover.kept_to, takeover.taken_back) == (checkpoint, 0)


def test_plan_warns_about_hooks(server: ProviderServer, settings: Settings) -> None:
    run = Run.objects.get(id=record(order_desk()).run_id)
    body: Any = {"run": str(run.id), "overrides": {"overrides": [OTHER_ORDER]}}
    assert not any("Hooks" in warning for warning in services.preview(prepare.parse(body)).warnings)
    hook(settings, deny={"answer": {"action": "deny"}, "events": ["pre_tool_use"]})
    assert any("Hooks" in warning for warning in services.preview(prepare.parse(body)).warnings)
    unchanged = services.preview(prepare.parse({"run": str(run.id)}))
    assert not any("Hooks" in warning for warning in unchanged.warnings)
