"""Tools that really run in a replay: over HTTP, as MCP servers, and as callables of installed packages."""

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from pytest_django import Settings

from replay import ownership, preflight, queries, runner, services, tasks, tool_services, tools
from replay.models import Attempt, ReplaySession
from replay.schemas import OperatorAnswer, SessionView
from replay.tools import configuration
from tests.provider_server import Exchange, ProviderServer, provider_server
from tests.replay_runs import order_desk
from traces import store
from traces.models import Run, Step
from traces.services import record

pytestmark = pytest.mark.django_db(transaction=True)
ROOT = Path(__file__).resolve().parents[2]
OTHER = {
    "match": {"step": 3},
    "output": {"tool_calls": [{"id": "x", "name": "get_order", "arguments": {"order_id": "B-9"}}]},
}
LIVE: Any = {"allow": ["tool"], "retries": {"max": 2, "initial_s": 0.01}}


@pytest.fixture(autouse=True)
def _no_queue(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests run sessions themselves: nothing else may take them."""
    for task in (tasks.execute, tasks.compare):
        monkeypatch.setattr(task, "delay", lambda *arguments: None)


@pytest.fixture
def endpoint(settings: Settings) -> Iterator[ProviderServer]:
    with provider_server(
        lambda exchange: exchange.status(200, {"id": exchange.body["order_id"], "status": "new"})
    ) as running:
        configure(settings, {"http": {"url": f"{running.base_url}/orders"}})
        yield running


def configure(settings: Settings, entry: dict[str, Any]) -> None:
    settings.TOOLS = {"get_order": entry}
    tool_services.decide({"get_order": True}, by="ada")


def launch(*entries: dict[str, Any], **policy: Any) -> Any:
    run = Run.objects.get(id=record(order_desk()).run_id)
    body: Any = {"run": str(run.id), "overrides": {"overrides": list(entries or [OTHER])}, "policy": {**LIVE, **policy}}
    return services.launch(preflight.parse(body)).id


def replay(*entries: dict[str, Any], **policy: Any) -> SessionView:
    session = launch(*entries, **policy)
    runner.execute(session)
    return queries.session_view(session)


def order_step(view: SessionView) -> Step:
    assert view.run is not None
    return Step.objects.get(run_id=view.run, tool_name="get_order")


def output(step: Step) -> Any:
    return store.payload(step.output_ref)


def attempts() -> list[tuple[str, str, str]]:
    return list(Attempt.objects.order_by("attempt").values_list("kind", "status", "error_code"))


def test_a_reviewed_tool_runs_with_the_new_arguments_and_is_told_that_this_is_a_replay(
    endpoint: ProviderServer,
) -> None:
    view = replay()
    step = order_step(view)
    assert (step.label, step.reason, step.status) == ("simulated", "live_tool_call", "ok")
    assert output(step) == {"id": "B-9", "status": "new"}
    assert [(seen.path, seen.body) for seen in endpoint.seen] == [("/orders", {"order_id": "B-9"})]
    assert endpoint.seen[0].headers["forkpoint-replay"] == str(view.id)
    assert (attempts(), view.live_calls) == ([("tool", "succeeded", "")], 1)


def test_the_plan_shows_the_tool_as_live(endpoint: ProviderServer) -> None:
    run = Run.objects.get(id=record(order_desk()).run_id)
    asked: Any = {"run": str(run.id), "policy": {**LIVE, "order": "reexecute"}}
    tool_services.decide({"search_policy": False}, by="ada")
    plan = services.preview(preflight.parse(asked))
    steps = {step.sequence_no: step for step in plan.steps}
    assert (steps[4].action, steps[4].reason, steps[4].label) == ("live", "live_tool_call", "simulated")
    assert steps[4].note == "runs through http POST 127.0.0.1"
    assert steps[6].reason == "source_output_reused"
    assert endpoint.seen == []


@pytest.mark.parametrize(
    ("policy", "safe"),
    [
        ({"allow": ["model"]}, True),
        ({"tools": {"block": ["get_*"]}}, True),
        ({"tools": {"allow": ["search_*"]}}, True),
        ({}, False),
    ],
)
def test_a_tool_that_is_not_allowed_does_not_run(endpoint: ProviderServer, policy: Any, safe: bool) -> None:
    tool_services.decide({"get_order": safe}, by="ada")
    assert order_step(replay(**policy)).reason != "live_tool_call"
    assert endpoint.seen == []


def test_without_a_review_a_new_call_is_blocked(endpoint: ProviderServer) -> None:
    session = launch()
    tool_services.decide({"get_order": None}, by="ada")  # taken back while the session waits for a worker
    runner.execute(session)
    assert output(order_step(queries.session_view(session))).startswith("[Forkpoint] Tool 'get_order' blocked")
    assert endpoint.seen == []


def test_what_the_tool_refuses_is_its_answer(endpoint: ProviderServer) -> None:
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


def test_a_call_that_was_turned_away_is_made_again(endpoint: ProviderServer) -> None:
    endpoint.respond = fails_first(2, lambda exchange: exchange.status(429, "wait", retry_after="0"))
    step = order_step(replay())
    assert (output(step), step.retries) == ({"status": "at last"}, 2)
    assert [status for _, status, _ in attempts()] == ["failed", "failed", "succeeded"]


def test_an_idempotent_tool_is_tried_again_after_an_error_of_the_server(
    endpoint: ProviderServer, settings: Settings
) -> None:
    settings.TOOLS["get_order"]["idempotent"] = True
    endpoint.respond = fails_first(1, lambda exchange: exchange.status(500, "oops"))
    assert output(order_step(replay())) == {"status": "at last"}


def test_retries_end_and_the_session_says_why(endpoint: ProviderServer) -> None:
    endpoint.respond = lambda exchange: exchange.status(429, "wait", retry_after="0")
    view = replay()
    assert (view.status, view.error_code, len(endpoint.seen)) == ("failed_execution", "rate_limited", 3)


def test_an_unknown_outcome_is_asked_about_and_never_repeated(endpoint: ProviderServer) -> None:
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
    assert (step.reason, output(step), len(endpoint.seen)) == ("simulation_operator_override", "done", 1)


@pytest.mark.parametrize("idempotent", [False, True])
def test_after_a_crash_only_an_idempotent_call_is_made_again(
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
    assert len(endpoint.seen) == (2 if idempotent else 1)
    assert (view.status == "awaiting_operator") is not idempotent
    if view.question is not None:
        services.answer(session, OperatorAnswer(sequence_no=view.question.sequence_no, action="fallback"))
        runner.execute(session)
        view = queries.session_view(session)
        assert order_step(view).reason == "simulation_policy_fallback"
    assert view.status.startswith("completed")
    assert len(endpoint.seen) == (2 if idempotent else 1)


def test_secrets_come_from_the_environment(
    endpoint: ProviderServer, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.TOOLS["get_order"]["http"]["headers_env"] = {"Authorization": "ORDERS_TOKEN"}
    assert replay().error_code == "auth"
    monkeypatch.setenv("ORDERS_TOKEN", "Bearer s3cret")
    replay()
    assert [seen.headers["authorization"] for seen in endpoint.seen] == ["Bearer s3cret"]
    assert "s3cret" not in str(list(Attempt.objects.values()))


def test_a_host_that_is_not_there_ends_the_replay_after_its_retries(settings: Settings) -> None:
    configure(settings, {"http": {"url": "http://orders.invalid/"}})
    assert replay().error_code == "network"
    assert [code for _, _, code in attempts()] == ["network"] * 3


class Everyone(ownership.Observer):
    """Takes every worker for dead."""

    def abandoned(self) -> list[ownership.Claim]:
        running = ReplaySession.objects.filter(status="running").values_list("id", "owner")
        return [ownership.Claim(session_id=id, owner=owner) for id, owner in running]


def lines(log: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in log.read_text().splitlines()]


def test_a_tool_of_an_mcp_server_on_standard_streams(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROOT_OF_TESTS", str(ROOT))
    log = tmp_path / "log"
    command = {"command": sys.executable, "args": ["-m", "tests.mcp_server", "0", str(log)]}
    configure(settings, {"mcp": {**command, "env": {"PYTHONPATH": "ROOT_OF_TESTS"}, "tool": "lookup"}})
    view = replay()
    assert output(order_step(view)) == {"id": "B-9", "status": "found by mcp"}
    line = lines(log)[0]
    assert (line["tool"], line["meta"], line["variable"]) == ("lookup", str(view.id), str(view.id))


def test_an_mcp_tool_that_fails_answers_with_its_error_and_one_that_dies_is_asked_about(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROOT_OF_TESTS", str(ROOT))
    command = {"command": sys.executable, "args": ["-m", "tests.mcp_server", "0", str(tmp_path / "log")]}
    configure(settings, {"mcp": {**command, "env": {"PYTHONPATH": "ROOT_OF_TESTS"}, "tool": "lookup"}})

    def asks(order: str) -> dict[str, Any]:
        return {**OTHER, "output": {"tool_calls": [{"id": "x", "name": "get_order", "arguments": {"order_id": order}}]}}

    step = order_step(replay(asks("none")))
    assert step.status == "error"
    assert "Error executing tool" in output(step)
    assert replay(asks("die")).status == "awaiting_operator"
    assert len(lines(tmp_path / "log")) == 2


def test_a_command_that_is_not_there_ends_the_replay(settings: Settings) -> None:
    configure(settings, {"mcp": {"command": "/no/such/command"}})
    view = replay()
    assert (view.status, view.error_code) == ("failed_execution", "tool_unavailable")


@pytest.fixture
def mcp_over_http(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    log = tmp_path / "log"
    process = subprocess.Popen([sys.executable, "-m", "tests.mcp_server", str(port), str(log)], cwd=ROOT)
    try:
        until = time.monotonic() + 30
        while time.monotonic() < until:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        yield f"http://127.0.0.1:{port}/mcp", log
    finally:
        process.terminate()
        process.wait()


def test_a_tool_of_an_mcp_server_over_streamable_http(settings: Settings, mcp_over_http: tuple[str, Path]) -> None:
    url, log = mcp_over_http
    configure(settings, {"mcp": {"url": url, "tool": "lookup"}})
    view = replay()
    assert output(order_step(view)) == {"id": "B-9", "status": "found by mcp"}
    assert [line["meta"] for line in lines(log)] == [str(view.id)]


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A package that offers a tool, as an installer would leave it."""
    install(
        tmp_path,
        monkeypatch,
        "def get_order(order_id, forkpoint_replay):\n"
        "    if order_id == 'B-9':\n"
        "        return {'id': order_id, 'replay': forkpoint_replay}\n"
        "    raise KeyError(order_id)\n",
    )
    yield
    configuration.callables.cache_clear()


def install(folder: Path, monkeypatch: pytest.MonkeyPatch, source: str) -> None:
    (folder / "desk_tools.py").write_text(source)
    info = folder / "desk_tools-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: desk-tools\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[forkpoint.tools]\nget_order = desk_tools:get_order\n")
    monkeypatch.syspath_prepend(str(folder))
    configuration.callables.cache_clear()


@pytest.mark.usefixtures("installed")
def test_a_callable_of_an_installed_package_runs() -> None:
    tool_services.decide({"get_order": True}, by="ada")
    assert tools.executors() == {"get_order": "python get_order"}
    view = replay()
    assert output(order_step(view)) == {"id": "B-9", "replay": str(view.id)}


def two_orders(*orders: str) -> dict[str, Any]:
    asked = orders or ("B-8", "B-9")
    calls = [{"id": order, "name": "get_order", "arguments": {"order_id": order}} for order in asked]
    return {"match": {"step": 3}, "output": {"tool_calls": calls}}


def test_the_calls_of_a_replay_share_one_mcp_connection_that_ends_with_it(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROOT_OF_TESTS", str(ROOT))
    log = tmp_path / "log"
    command = {"command": sys.executable, "args": ["-m", "tests.mcp_server", "0", str(log)]}
    configure(settings, {"mcp": {**command, "env": {"PYTHONPATH": "ROOT_OF_TESTS"}, "tool": "lookup"}})
    replay(two_orders())
    pids = [line["pid"] for line in lines(log)]
    assert (len(pids), len(set(pids))) == (2, 1)
    assert not running(pids[0])
    replay(two_orders("B-6", "B-7"))
    assert len({line["pid"] for line in lines(log)}) == 2  # another replay sees nothing of the first


def running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_server_that_left_between_two_calls_is_started_again(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROOT_OF_TESTS", str(ROOT))
    log = tmp_path / "log"
    command = {"command": sys.executable, "args": ["-m", "tests.mcp_server", "0", str(log)]}
    configure(settings, {"mcp": {**command, "env": {"PYTHONPATH": "ROOT_OF_TESTS"}, "tool": "lookup"}})
    really = tools.run

    def then_killed(tool: tools.Tool, call: tools.ToolCall) -> tools.ToolResult:
        found = really(tool, call)
        os.kill(lines(log)[-1]["pid"], 9)
        return found

    monkeypatch.setattr(tools, "run", then_killed)
    assert replay(two_orders()).status.startswith("completed")
    assert len({line["pid"] for line in lines(log)}) == 2


CALLABLE = """
import os, sys, time
calls = 0
def get_order(order_id):
    global calls
    calls += 1
    print("a line that is no answer")
    if order_id == "B-9":
        {last}
    return {{"pid": os.getpid(), "calls": calls}}
"""


@pytest.mark.parametrize(
    ("last", "idempotent", "status", "code"),
    [
        ("pass", False, "completed_mixed", ""),
        ("time.sleep(60)", False, "awaiting_operator", "unknown_outcome"),
        ("time.sleep(60)", True, "failed_execution", "timeout"),
        ("os._exit(1)", False, "awaiting_operator", "unknown_outcome"),
        ("sys.exit('no')", False, "completed_mixed", ""),
    ],
)
def test_a_callable_runs_in_a_process_that_is_ended_in_its_time(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, last: str, idempotent: bool, status: str,
    code: str,
) -> None:  # fmt: skip
    install(tmp_path, monkeypatch, CALLABLE.format(last=last))
    configure(settings, {"python": "get_order", "timeout_s": 1, "idempotent": idempotent})
    view = replay(two_orders(), retries={"max": 0})
    assert view.status == status
    assert list(Attempt.objects.order_by("id").values_list("error_code", flat=True)) == ["", code]
    outcomes: list[Any] = list(Attempt.objects.order_by("id").values_list("outcome", flat=True))
    first = outcomes[0]["output"]
    assert not running(first["pid"])
    if last == "pass":
        assert outcomes[1]["output"] == {"pid": first["pid"], "calls": 2}
    if last.startswith("sys"):
        assert outcomes[1] == {"output": {"error": "SystemExit: no"}, "status": "error"}
    configuration.callables.cache_clear()


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        ({}, "give exactly one of"),
        ({"http": {"url": "ftp://a/"}}, "FORKPOINT_TOOLS['get_order']['http']['url']"),
        ({"http": {"url": "http://a/", "verb": "GET"}}, "['http']['verb']"),
        ({"mcp": {}}, "`command`"),
        ({"python": "nobody"}, "no installed package offers it"),
        ({"python": "a", "timeout_s": 0}, "['timeout_s']"),
    ],
)
def test_a_wrong_configuration_names_its_place(settings: Settings, entry: Any, says: str) -> None:
    settings.TOOLS = {"get_order": entry}
    with pytest.raises(ImproperlyConfigured) as refused:
        tools.configured()
    assert says in str(refused.value)
