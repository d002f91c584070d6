"""The recording gateway of a real server, with real clients in front of it and a model server behind it."""

import json
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import urlsplit

import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from forkpoint.gateway_run import LANE_HEADER
from tests.clients.model_server import ANSWER, ModelServer, model_server
from tests.services.server import Server
from tests.support.gateway_agents import AGENTS, CLIENT_AGENTS, PLAIN_TOOLS, REQUESTS
from tests.support.gateway_runs import GatewaySession, record, rerun, run_of
from tests.support.http import HTTP
from tests.support.patience import patience_s, wait_until
from tests.support.servers.provider_server import Exchange, ProviderServer, Respond, provider_server

pytestmark = pytest.mark.own_store
SECRET = "sk-of-the-server"
# Its client names a provider that the server is configured with.
OWN = CLIENT_AGENTS["anthropic"].replace("Anthropic()", "Anthropic(base_url=forkpoint.base_url('my-models', ''))")
STREAM = "/gemini/models/gemini-9:streamGenerateContent?alt=sse"


def gemini_chunk(text: str, reason: str = "") -> dict[str, Any]:
    candidate = {"content": {"role": "model", "parts": [{"text": text}]}, "index": 0}
    return {"candidates": [{**candidate, **({"finishReason": reason} if reason else {})}]}


def gemini_text(*pieces: str) -> Respond:
    def respond(exchange: Exchange) -> None:
        exchange.stream()
        for piece in pieces:
            exchange.send(gemini_chunk(piece, "STOP" if piece is pieces[-1] else ""))

    return respond


@pytest.fixture(scope="module")
def models() -> Iterator[ModelServer]:
    with model_server() as server:
        yield server


@pytest.fixture(scope="module")
def gemini() -> Iterator[ProviderServer]:
    """Return a server that answers as a test requires."""
    with provider_server(gemini_text("Hello")) as server:
        yield server


@pytest.fixture(scope="module")
def server(models: ModelServer, gemini: ProviderServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    variables = {
        "FORKPOINT_QUIET_S": "1",
        "OPENAI_API_KEY": SECRET,
        "OPENAI_BASE_URL": f"{models.url}/v1",
        "ANTHROPIC_API_KEY": SECRET,
        "ANTHROPIC_BASE_URL": models.url,
        "FORKPOINT_PROVIDERS": json.dumps({"my-models": {"protocol": "anthropic", "base_url": models.url}}),
        "GEMINI_API_KEY": SECRET,
        "GOOGLE_GEMINI_BASE_URL": gemini.base_url,
    }
    server = Server(tmp_path_factory.mktemp("server") / "home", "--no-demo", env=variables)
    server.start()
    yield server
    server.stop()


def open_session(server: Server) -> GatewaySession:
    response = HTTP.post(f"{server.url}/api/v1/gateway/sessions", json={"app": "desk"})
    assert response.status_code == 201
    return GatewaySession(server, server.url + response.json()["path"], response.json()["run"])


@pytest.fixture
def session(server: Server) -> GatewaySession:
    return open_session(server)


@pytest.mark.parametrize(
    ("provider", "program", "mode"),
    [
        ("openai", CLIENT_AGENTS["chat"], "stream"),
        ("openai", CLIENT_AGENTS["responses"], "plain"),
        ("anthropic", CLIENT_AGENTS["anthropic"], "stream"),
        ("my-models", f"import forkpoint\n{OWN}", "plain"),
    ],
)
def test_agent_is_recorded_and_runs_again_without_change_of_its_code(
    server: Server, models: ModelServer, provider: str, program: str, mode: str
) -> None:
    result = record(server, program, mode)
    assert (result.returncode, result.stdout.strip()) == (0, ANSWER), result.stderr
    run = GatewaySession(server, "", run_of(result))
    steps = run.steps(6)
    assert [step["type"] for step in steps] == ["model", "tool", "tool", "model", "tool", "model"]
    tools = [step for step in steps if step["type"] == "tool"]
    assert [step["tool_name"] for step in tools] == ["get_weather", "get_time", "get_weather"]
    assert tools[2]["input"] == {"city": "Lima"}
    assert tools[2]["output"] == "fine"
    assert (steps[-1]["output"]["message"]["content"], steps[-1]["provider"]) == (ANSWER, provider)
    assert (steps[-1]["tokens_in"], steps[-1]["tokens_out"]) == (30, 9)
    summary = run.summary()
    assert (summary["app"], summary["status"]) == ("desk", "completed")
    requests = len(models.requests)
    again = rerun(server, run.id, program, mode)
    assert (again.returncode, again.stdout.strip()) == (0, ANSWER), again.stderr
    assert again.stderr.strip().endswith(": 3 calls exact")
    assert len(models.requests) == requests


def test_changed_agent_diverges_and_calls_nobody(server: Server, models: ModelServer) -> None:
    run = run_of(record(server, AGENTS["anthropic"], "plain"))
    requests = len(models.requests)
    again = rerun(server, run, AGENTS["anthropic"].replace("Weather and time?", "Weather in 3 days?"), "plain")
    assert again.returncode == 5
    assert "1 without an answer" in again.stderr
    assert "from step 1 at /messages/0/content" in again.stderr
    assert "/messages/0/content" in next(line for line in again.stderr.splitlines() if "HTTP 400: " in line)
    assert len(models.requests) == requests
    assert rerun(server, run, "print('no calls')").returncode == 5


@pytest.mark.parametrize("api", ["chat", "anthropic", "responses"])
def test_agent_may_ask_for_a_stream_where_none_was_recorded(server: Server, models: ModelServer, api: str) -> None:
    # Only the rerun needs the client: it reads what the server makes of the answers. Anthropic's names a newer version.
    recorded = CLIENT_AGENTS[api] if api == "anthropic" else AGENTS[api]
    run = run_of(record(server, recorded, "plain"))
    requests = len(models.requests)
    again = rerun(server, run, CLIENT_AGENTS[api], "stream")
    assert (again.returncode, again.stdout.strip()) == (0, ANSWER), again.stderr
    assert len(models.requests) == requests


def test_volatile_values_are_renamed_in_requests_and_answers(server: Server, models: ModelServer) -> None:
    program = AGENTS["chat"].replace('"Weather and time?"', 'f"Weather in {tempfile.mkdtemp()}?"')
    run = run_of(record(server, f"import tempfile\n{program}", "plain"))
    requests = len(models.requests)
    again = rerun(server, run, f"import tempfile\n{program}", "plain")
    assert (again.returncode, again.stdout.strip()) == (0, ANSWER), again.stderr
    assert "0 calls exact, 3 cached" in again.stderr
    assert len(models.requests) == requests


def test_exit_code_and_end_of_a_program_that_fails(server: Server) -> None:
    result = record(server, REQUESTS + "ask_openai('chat/completions', {'model': 'm1', 'messages': []}); sys.exit(7)")
    assert result.returncode == 7
    assert GatewaySession(server, "", run_of(result)).summary()["status"] == "failed"


def test_gemini_is_recorded(session: GatewaySession, gemini: ProviderServer) -> None:
    gemini.respond = gemini_text("Hel", "lo")
    body = {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]}
    for path in ("/v1beta/models/gemini-9:streamGenerateContent?alt=sse", "/models/gemini-9:streamGenerateContent"):
        assert session.post(f"/gemini{path}", body).status_code == 200
    assert gemini.requests[-2].path == "/v1beta/models/gemini-9:streamGenerateContent?alt=sse"
    assert gemini.requests[-1].path == "/v1beta/models/gemini-9:streamGenerateContent"
    steps = session.steps(2)
    assert [step["output"]["message"]["content"] for step in steps] == ["Hello", "Hello"]
    assert {(step["model"], step["provider"]) for step in steps} == {("gemini-9", "google")}


def test_answers_pass_byte_for_byte(session: GatewaySession, models: ModelServer) -> None:
    body = {"model": "m1", "messages": [], "stream": True}
    direct = HTTP.post(f"{models.url}/v1/chat/completions", json=body)
    answer = session.post("/openai/chat/completions", body)
    assert answer.content == direct.content
    assert answer.headers["content-type"] == direct.headers["content-type"]
    [step] = session.steps(1)
    raw = step["attributes"]["http_response"]
    assert (raw["status"], raw["text"].encode()) == (200, direct.content)


def test_keys_pass_on_and_are_not_stored(session: GatewaySession, gemini: ProviderServer) -> None:
    gemini.respond = gemini_text("Hello")
    keys = ["my-own-unusual-key-7281", "forkpoint-gateway"]
    for key in keys:
        headers = {"x-goog-api-key": key, LANE_HEADER: "7-1"}
        session.post("/gemini/models/gemini-9:streamGenerateContent", {"contents": []}, **headers)
    lanes = [step["attributes"]["http_response"]["lane"] for step in session.steps(2)]
    assert (lanes, [LANE_HEADER in exchange.headers for exchange in gemini.requests[-2:]]) == (["7-1"] * 2, [False] * 2)
    assert [exchange.headers["x-goog-api-key"] for exchange in gemini.requests[-2:]] == [keys[0], SECRET]
    stored = b"".join(path.read_bytes() for path in session.server.home.rglob("*") if path.is_file())
    assert stored
    assert not [key for key in (keys[0], SECRET) if key.encode() in stored]


def test_errors_of_the_provider_pass_and_are_recorded(session: GatewaySession) -> None:
    body = {"model": "m1", "messages": [{"role": "user", "content": "please fail"}]}
    answer = session.post("/openai/v1/chat/completions", body)
    assert (answer.status_code, answer.json()["error"]["message"]) == (400, "this fails")
    [step] = session.steps(1)
    assert (step["status"], step["error"]) == ("error", "HTTP 400: this fails")


def test_calls_at_once_are_all_recorded(session: GatewaySession) -> None:
    def call(number: int) -> int:
        body = {"model": "m1", "messages": [{"role": "user", "content": f"Question {number}"}], "stream": True}
        return session.post("/openai/v1/chat/completions", body).status_code

    with ThreadPoolExecutor(20) as pool:
        assert set(pool.map(call, range(40))) == {200}
    questions = {step["input"]["messages"][0]["content"] for step in session.steps(40)}
    assert questions == {f"Question {number}" for number in range(40)}


def test_answer_is_recorded_when_the_agent_hangs_up(session: GatewaySession, gemini: ProviderServer) -> None:
    has_hung_up = threading.Event()

    def respond(exchange: Exchange) -> None:
        exchange.stream()
        exchange.send(gemini_chunk("First"))
        has_hung_up.wait(patience_s(30))
        exchange.send(gemini_chunk(" and last", "STOP"))

    gemini.respond = respond
    read_until(b"First", session.url + STREAM, b'{"contents": []}')
    has_hung_up.set()
    [step] = session.steps(1)
    assert (step["status"], step["output"]["message"]["content"]) == ("ok", "First and last")


def read_until(text: bytes, url: str, body: bytes) -> None:
    """Post a body, and hang up when the answer contains a text."""
    address = urlsplit(url)
    target = f"{address.path}?{address.query}"
    head = f"POST {target} HTTP/1.1\r\nhost: {address.netloc}\r\ncontent-length: {len(body)}\r\n\r\n"
    with socket.create_connection((str(address.hostname), int(address.port or 0)), patience_s(30)) as agent:
        agent.sendall(head.encode() + body)
        answer = b""
        while text not in answer:
            answer += agent.recv(65536)


def test_live_answer_of_a_fork_streams_and_is_stored_when_the_agent_hangs_up(
    server: Server, session: GatewaySession, gemini: ProviderServer
) -> None:
    gemini.respond = gemini_text("Hello")
    session.post(STREAM, {"contents": []})
    post(server, f"/gateway/sessions/{session.url.rpartition('/')[2]}/end", {"exit_code": 0})
    wait_until(lambda: session.summary()["sealed"], 30)
    fork = post(server, "/reruns", {"run": session.id, "live": True})
    has_hung_up = threading.Event()

    def respond(exchange: Exchange) -> None:
        exchange.stream()
        exchange.send(gemini_chunk("First"))
        has_hung_up.wait(patience_s(30))
        exchange.send(gemini_chunk(" and last", "STOP"))

    gemini.respond = respond
    other = {"contents": [{"role": "user", "parts": [{"text": "Another question"}]}]}
    read_until(b"First", server.url + fork["path"] + STREAM, json.dumps(other).encode())
    has_hung_up.set()
    count = len(gemini.requests)
    again = post(server, f"/reruns/{fork['id']}/resume", {})
    answer = GatewaySession(server, server.url + again["path"], session.id).post(STREAM, other)
    assert (answer.status_code, "First" in answer.text, " and last" in answer.text) == (200, True, True)
    assert len(gemini.requests) == count


def post(server: Server, path: str, body: Any) -> Any:
    response = HTTP.post(f"{server.url}/api/v1{path}", json=body, timeout=patience_s(30))
    assert response.status_code < 300, response.text
    return response.json() if response.content else None


def test_provider_that_hangs_up(session: GatewaySession, gemini: ProviderServer) -> None:
    def hang_up(exchange: Exchange) -> None:
        raise ConnectionResetError

    def break_off(exchange: Exchange) -> None:
        exchange.stream()
        exchange.send(gemini_chunk("First"))
        raise ConnectionResetError

    gemini.respond = hang_up
    answer = session.post("/gemini/models/gemini-9:streamGenerateContent", {"contents": []})
    assert (answer.status_code, answer.headers["x-should-retry"]) == (502, "true")
    gemini.respond = break_off
    assert session.post("/gemini/models/gemini-9:streamGenerateContent", {"contents": []}).status_code == 200
    away, cut_off = session.steps(2)
    assert away["status"] == cut_off["status"] == "error"
    assert cut_off["error"] == "the stream was cut off"
    assert cut_off["output"]["message"]["content"] == "First"


def test_large_request_passes(session: GatewaySession) -> None:
    body = {"model": "m1", "messages": [{"role": "user", "content": "x" * 50_000_000}]}
    assert session.post("/openai/v1/chat/completions", body).status_code == 200
    # The list has no requests: each look at the whole step would read this one again.
    path = f"{session.server.url}/api/v1/runs/{session.id}/steps"
    wait_until(lambda: [step["status"] for step in HTTP.get(path).json().get("steps", [])] == ["ok"], 30)


def test_malformed_request_gets_the_answer_of_the_provider(session: GatewaySession) -> None:
    answer = session.post("/anthropic/v1/messages", b"[1, 2")
    assert answer.status_code >= 400
    [step] = session.steps(1)
    assert step["status"] == "error"


def test_what_the_gateway_answers_itself(session: GatewaySession) -> None:
    assert HTTP.head(f"{session.url}/anthropic").status_code == 200
    assert HTTP.get(f"{session.url}/openai/v1/models").json()["object"] == "list"
    unknown = session.post("/openai/v1/files", {})
    assert (unknown.status_code, unknown.headers["x-should-retry"]) == (404, "false")
    foreign = HTTP.post(f"{session.server.url}/gateway/nonsense/anthropic/v1/messages", json={})
    assert (foreign.status_code, foreign.json()["type"]) == (401, "error")
    # Without a session nobody learns which providers there are.
    assert HTTP.post(f"{session.server.url}/gateway/nonsense/else/v1/messages", json={}).status_code == 401
    assert session.post("/else/v1/messages", {}).status_code == 404


def test_rerun_lists_the_models_that_were_listed(server: Server, models: ModelServer) -> None:
    listing = """
with urllib.request.urlopen(f"{os.environ['OPENAI_BASE_URL']}/models") as response:
    print([model["id"] for model in json.load(response)["data"]])
"""
    program = REQUESTS + listing + AGENTS["chat"]
    models.model_names = ["m1", "m9"]
    first = record(server, program, "plain")
    assert first.stdout.splitlines()[0] == "['m1', 'm9']", first.stderr
    run, requests = run_of(first), len(models.requests)
    models.model_names = []
    again = rerun(server, run, program, "plain")
    assert (again.returncode, again.stdout, len(models.requests)) == (0, first.stdout, requests), again.stderr
    step = next(step for step in GatewaySession(server, "", run).steps(6) if step["tool_name"] == "openai.models")
    assert [model["id"] for model in step["output"]["data"]] == ["m1", "m9"]


def test_rerun_knows_the_models_of_its_recording(server: Server, models: ModelServer) -> None:
    run = run_of(record(server, AGENTS["chat"], "plain"))
    wait_until(lambda: HTTP.get(f"{server.url}/api/v1/runs/{run}").json()["sealed"], 30)
    access = post(server, "/reruns", {"run": run, "allow_tools": PLAIN_TOOLS})
    base = f"{server.url}{access['path']}/openai/v1/models"
    for path in ("", "/"):
        assert [model["id"] for model in HTTP.get(base + path).json()["data"]] == ["m1"]
    assert HTTP.get(f"{base}/m1").json()["id"] == "m1"
    unknown = HTTP.get(f"{base}/m2")
    assert (unknown.status_code, "known are m1" in unknown.json()["error"]["message"]) == (404, True)
    other = HTTP.get(f"{server.url}{access['path']}/openai/v1/files").json()["error"]["message"]
    assert other.startswith("Forkpoint's gateway: there is no endpoint GET “/files”; for openai, there are /v1/chat/")


def test_websockets_are_refused_at_once(session: GatewaySession) -> None:
    with pytest.raises(InvalidStatus) as refusal:
        connect(f"{session.url.replace('http', 'ws', 1)}/openai/v1/responses", proxy=None)
    assert refusal.value.response.status_code == 403


# The first call waits for the model; two others are made and answered meanwhile.
PARALLEL_AGENT = """
import json, os, threading, time, urllib.request

def ask(text):
    address = os.environ["GOOGLE_GEMINI_BASE_URL"] + "/models/gemini-9:generateContent"
    body = json.dumps({"contents": [{"role": "user", "parts": [{"text": text}]}]}).encode()
    urllib.request.urlopen(urllib.request.Request(address, body, {"content-type": "application/json"})).read()
    print(text)

slow = threading.Thread(target=ask, args=["slow"])
slow.start()
time.sleep(0.5)
ask("fast")
ask("third")
slow.join()
"""


def test_parallel_calls_are_answered_in_recorded_order(server: Server, gemini: ProviderServer) -> None:
    third_was_answered = threading.Event()

    def respond(exchange: Exchange) -> None:
        text = exchange.body["contents"][0]["parts"][0]["text"]
        if text == "slow":
            third_was_answered.wait(patience_s(30))
        exchange.status(200, gemini_chunk(text, "STOP"))
        if text == "third":
            third_was_answered.set()

    gemini.respond = respond
    recorded = record(server, PARALLEL_AGENT)
    assert recorded.stdout.split()[0] == "fast", recorded.stderr
    count = len(gemini.requests)
    again = rerun(server, run_of(recorded), PARALLEL_AGENT)
    assert (again.returncode, again.stdout.split()[0]) == (0, "fast"), again.stderr
    assert len(gemini.requests) == count
