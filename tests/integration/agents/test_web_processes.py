"""Reruns and runners where several web processes share the work."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx2
import pytest

from tests.faults import scenarios
from tests.faults.deployment import ask, celery, environment, web_process
from tests.support.command_line import COMMAND
from tests.support.http import HTTP
from tests.support.mcp_desks import CLIENT, Desk, lookup, running_desk, send
from tests.support.patience import patience_s, wait_until
from tests.support.servers.provider_server import Exchange, ProviderServer, provider_server

pytestmark = pytest.mark.own_services
PATH = "/gemini/models/gemini-9:generateContent"
AGENT = """
import json, os, urllib.request
address = os.environ["GOOGLE_GEMINI_BASE_URL"] + "/models/gemini-9:generateContent"
body = json.dumps({"contents": []}).encode()
print(urllib.request.urlopen(urllib.request.Request(address, body, {"content-type": "application/json"})).status)
"""
# What it may do with the credential in its environment: for its own session, for others, and without it.
CURIOUS_AGENT = f"""{AGENT}
def status(path, body, has_token=True):
    token = {{"authorization": "Bearer " + os.environ["FORKPOINT_TOKEN"]}} if has_token else {{}}
    address = os.environ["FORKPOINT_URL"] + "/api/v1/reruns/" + path
    headers = {{"content-type": "application/json", **token}}
    request = urllib.request.Request(address, json.dumps(body).encode(), headers)
    try:
        return urllib.request.urlopen(request).status
    except urllib.error.HTTPError as error:
        return error.code
start = os.environ["FORKPOINT_RERUN"]
id, number = start.split(".")
call = {{"type": "tool", "name": "send", "arguments": {{}}, "call": "c1"}}
answer = {{"sequence_no": 1, "action": "run"}}
print("own", status(start + "/tools", call), status(start + "/hosts", {{"host": "a.example"}}))
print("answer", status(id + "/questions", answer), status(id + "/questions", answer, False))
print("resume", status(id + "/resume", None))
print("others", *(status(path + "/tools", call) for path in (start + "1", f"{{os.environ['OTHER']}}.{{number}}", id)))
"""


def answer(exchange: Exchange) -> None:
    exchange.status(200, {"candidates": [{"content": {"role": "model", "parts": [{"text": "Hello"}]}, "index": 0}]})


@dataclass(frozen=True)
class Web:
    """A web process and a client of it."""

    url: str
    process: "subprocess.Popen[bytes]"
    client: httpx2.Client

    def get(self, path: str) -> Any:
        return self.client.get(f"{self.url}/api/v1{path}").raise_for_status().json()

    def post(self, path: str, body: Any = None) -> Any:
        response = self.client.post(f"{self.url}/api/v1{path}", json=body).raise_for_status()
        return response.json() if response.content else None

    def call(self, path: str, text: str) -> httpx2.Response:
        """Call the model as an agent does that was started with a rerun's address."""
        contents = [{"role": "user", "parts": [{"text": text}]}] if text else []
        return HTTP.post(self.url + path + PATH, json={"contents": contents}, timeout=patience_s(60))


@dataclass(frozen=True)
class Deployment:
    first: Web
    second: Web
    token: str
    run: str


@pytest.fixture(scope="module")
def gemini() -> Iterator[ProviderServer]:
    with provider_server(answer) as server:
        yield server


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    with running_desk(tmp_path_factory.mktemp("desk") / "log") as desk:
        yield desk


@pytest.fixture(scope="module")
def deployment(gemini: ProviderServer, desk: Desk, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    home = tmp_path_factory.mktemp("web") / "home"
    addresses = {"GEMINI_API_KEY": "k", "GOOGLE_GEMINI_BASE_URL": gemini.base_url, "FORKPOINT_QUIET_S": "1"}
    env = {
        **environment(home, gemini.base_url, scenarios.own_services().environment),
        **addresses,
        # A busy machine may give no sign of life for a second, and the agent would be started again.
        "FORKPOINT_TAKEOVER_S": "5",
        "TEST_SESSIONS": "0",
        "FORKPOINT_MCP_SERVERS": json.dumps({"desk": {"url": desk.url}}),
    }
    token = ask("prepare", env)["token"]
    with ExitStack() as stack:
        stack.enter_context(celery(env, home))
        headers = {"authorization": f"Bearer {token}"}
        client = stack.enter_context(httpx2.Client(headers=headers, timeout=patience_s(30)))
        names = ("first", "second")
        first, second = (Web(*stack.enter_context(web_process(env, home.with_name(name))), client) for name in names)
        yield Deployment(first, second, token, record(first, second))


def record(first: Web, second: Web) -> str:
    """Record a run with one call, and wait until another web process has it."""
    session = first.post("/gateway/sessions", {"app": "desk"})
    first.call(session["path"], "")
    first.post(f"/gateway/sessions/{session['path'].rpartition('/')[2]}/end", {"exit_code": 0})

    def is_sealed() -> bool:
        response = second.client.get(f"{second.url}/api/v1/runs/{session['run']}")
        return response.is_success and bool(response.json()["sealed"])

    wait_until(is_sealed, 30)
    return str(session["run"])


@pytest.mark.parametrize("ends", ["answer", "suspension"])
def test_call_in_flight_elsewhere_is_awaited(deployment: Deployment, gemini: ProviderServer, ends: str) -> None:
    """An agent is killed during a call, and started again behind another web process."""
    first, second = deployment.first, deployment.second
    fork = first.post("/reruns", {"run": deployment.run, "live": True})
    may_answer = threading.Event()

    def respond(exchange: Exchange) -> None:
        may_answer.wait(patience_s(30))
        answer(exchange)

    gemini.respond = respond
    before = len(gemini.requests)
    with ThreadPoolExecutor(2) as pool:
        call = pool.submit(first.call, fork["path"], ends)
        wait_until(lambda: len(gemini.requests) > before, 30)
        again = second.post(f"/reruns/{fork['id']}/resume")
        repetition: Future[httpx2.Response] = pool.submit(second.call, again["path"], ends)
        if ends == "suspension":
            first.process.send_signal(signal.SIGSTOP)
            wait_until(lambda: len(gemini.requests) > before + 1, 30)
        may_answer.set()
        response = repetition.result(patience_s(60))
        first.process.send_signal(signal.SIGCONT)
        call.result(patience_s(60))
    gemini.respond = answer
    assert (response.status_code, "Hello" in response.text) == (200, True)
    assert len(gemini.requests) - before == {"answer": 1, "suspension": 2}[ends]


def test_runner_serves_forks_of_every_web_process(deployment: Deployment, tmp_path: Path) -> None:
    second = deployment.second
    with started_runner(deployment, tmp_path, AGENT):
        view = ended_fork(second, deployment.run)
        assert (view["status"], view["exit_code"], view["live_calls"]) == ("completed_exact", 0, 0)
        assert printed(second, view["id"]) == ["200"]


def test_agent_has_only_the_rights_of_its_session(deployment: Deployment, tmp_path: Path) -> None:
    """It asks about a call, and cannot answer itself, consent, or ask for another agent."""
    first, second = deployment.first, deployment.second
    other_id = first.post("/reruns", {"run": deployment.run})["id"]
    with started_runner(deployment, tmp_path, CURIOUS_AGENT, "--ask-tool", "send", "--env-allow", "OTHER"):
        view = ended_fork(second, deployment.run, variables={"OTHER": other_id})
        lines = ["200", "own 200 200", "answer 403 401", "resume 403", "others 403 403 403"]
        assert printed(second, view["id"]) == lines


@contextmanager
def started_runner(deployment: Deployment, folder: Path, program: str, *options: str) -> Iterator[None]:
    script = folder / "agent.py"
    script.write_text(program)
    names = ("OPENAI", "ANTHROPIC", "GEMINI", "GOOGLE", "FORKPOINT")
    env = {name: value for name, value in os.environ.items() if not name.startswith(names)}
    words = ["--app", "desk", "--url", deployment.first.url, *options, "--", sys.executable, str(script)]
    with (folder / "log").open("w") as log:
        runner = subprocess.Popen(
            [*COMMAND, "runner", *words], env={**env, "FORKPOINT_TOKEN": deployment.token}, stderr=log
        )
    try:
        wait_until(lambda: is_online(deployment.second), 30)
        yield
    finally:
        runner.send_signal(signal.SIGTERM)
        runner.wait(patience_s(30))
        wait_until(lambda: not is_online(deployment.second), 30)


def is_online(web: Web) -> bool:
    return any(runner["state"] == "online" for runner in web.get("/runners?app=desk")["runners"])


def ended_fork(web: Web, run: str, **request: Any) -> Any:
    """Fork a run, and wait until its agent has ended."""
    id = web.post("/replays", {"run": run, "engine": "agent", **request})["id"]

    def view() -> Any:
        view = web.get(f"/replays/{id}")
        return view if view["ended_at"] else None

    return wait_until(view, 60)


def printed(web: Web, session: str) -> list[str]:
    return [line["text"] for line in web.get(f"/replays/{session}/output")["lines"]]


def test_web_processes_share_a_session_with_an_mcp_server(deployment: Deployment, desk: Desk) -> None:
    """The server may keep a state in it. A client's requests reach any of the processes."""
    first, second = deployment.first, deployment.second
    rerun = first.post("/reruns", {"run": deployment.run, "live": True, "allow_tools": ["lookup"]})
    addresses = [f"{web.url}{rerun['path']}/mcp/desk" for web in (first, second)]
    client = send(addresses[1], "initialize", CLIENT).headers["mcp-session-id"]
    for address in (*addresses, addresses[0]):
        assert "found by mcp" in lookup(address, uuid4().hex, client).text
    assert len({*desk.sessions()}) == 1
    HTTP.delete(addresses[1], headers={"mcp-session-id": client})
    assert lookup(desk.url, "7", desk.sessions()[0]).status_code == 404


def test_dialogue_through_two_web_processes_is_recorded(deployment: Deployment) -> None:
    """The call is open in one process. The server asks in the stream of its own messages, which the other one has."""
    first, second = deployment.first, deployment.second
    session = first.post("/gateway/sessions", {"app": "desk"})
    addresses = [f"{web.url}{session['path']}/mcp/desk" for web in (first, second)]
    client = send(addresses[0], "initialize", {**CLIENT, "capabilities": {"sampling": {}}}).headers["mcp-session-id"]
    headers = {"accept": "application/json, text/event-stream", "mcp-session-id": client}
    result = {"role": "assistant", "content": {"type": "text", "text": "this one"}, "model": "m1"}
    with (
        ThreadPoolExecutor(1) as pool,
        httpx2.stream("GET", addresses[1], headers=headers, timeout=patience_s(30), trust_env=False) as events,
    ):
        call = pool.submit(lookup, addresses[0], "ask", client)
        data = next(line for line in events.iter_lines() if line.startswith("data: {"))
        answer = {"jsonrpc": "2.0", "id": json.loads(data.removeprefix("data: "))["id"], "result": result}
        HTTP.post(addresses[1], json=answer, headers=headers).raise_for_status()
        assert "the client said this one" in call.result(patience_s(30)).text
    first.post(f"/gateway/sessions/{session['path'].rpartition('/')[2]}/end", {"exit_code": 0})

    def messages() -> Any:
        response = second.client.get(f"{second.url}/api/v1/runs/{session['run']}/full-steps")
        steps = response.json()["steps"] if response.is_success else []
        return next((step["attributes"].get("mcp_messages") for step in steps if step["name"] == "lookup"), None)

    [question] = wait_until(messages, 30)
    assert (question["method"], question["response"]) == ("sampling/createMessage", {"result": result})
