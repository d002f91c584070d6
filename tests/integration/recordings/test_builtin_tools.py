"""Tools that are built into the APIs of providers: those that the agent runs itself need consent before a rerun."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.services.server import Server
from tests.support.gateway_runs import GatewaySession
from tests.support.http import HTTP
from tests.support.patience import wait_until
from tests.support.servers.provider_server import Exchange, ProviderServer, provider_server

pytestmark = pytest.mark.own_store
SEARCH = {"type": "web_search_call", "id": "w1", "status": "completed", "action": {"type": "search", "query": "x"}}
HOSTED = {"type": "mcp_call", "id": "m1", "name": "crm_lookup", "server_label": "crm", "arguments": "{}", "output": "a"}
CALLS = [
    {"type": "local_shell_call", "id": "i1", "call_id": "k1", "action": {"type": "exec", "command": ["rm", "-r", "x"]}},
    {"type": "custom_tool_call", "id": "i2", "call_id": "k2", "name": "run_sql", "input": "drop table x"},
    {"type": "apply_patch_call", "id": "i3", "call_id": "k3", "operation": {"type": "delete_file", "path": "x"}},
    {"type": "computer_call", "id": "i4", "call_id": "k4", "action": {"type": "wait"}},
]
SCREENSHOT = {"type": "computer_screenshot", "image_url": "data:image/png;base64,"}
RESULTS = [
    {"type": "local_shell_call_output", "id": "k1", "output": "gone"},
    {"type": "custom_tool_call_output", "call_id": "k2", "output": "dropped"},
    {"type": "apply_patch_call_output", "call_id": "k3", "status": "completed"},
    {"type": "computer_call_output", "call_id": "k4", "output": SCREENSHOT},
]
USAGE = {"input_tokens": 1, "output_tokens": 1}
TEXT = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Done"}]}
BASH = {"type": "tool_use", "id": "t1", "name": "bash", "input": {"command": "ls"}}
FETCH = {"type": "server_tool_use", "id": "s1", "name": "web_fetch", "input": {"url": "http://x"}}
CODE = {"executableCode": {"language": "PYTHON", "code": "1"}}
MAIL = {"functionCall": {"name": "send_mail", "args": {"to": "ann"}}}


def respond(exchange: Exchange) -> None:
    """Request tools at first, and answer once their results are there."""
    body = exchange.body
    is_last = len(body.get("input") or body.get("messages") or body.get("contents") or []) > 1
    if "responses" in exchange.path:
        output = [TEXT] if is_last else [SEARCH, HOSTED, *CALLS]
        exchange.status(200, {"id": "r1", "object": "response", "model": "m1", "output": output, "usage": USAGE})
    elif "messages" in exchange.path:
        content = [{"type": "text", "text": "Done"}] if is_last else [FETCH, BASH]
        message = {"id": "a1", "type": "message", "role": "assistant", "model": "m1", "usage": USAGE}
        exchange.status(200, {**message, "content": content, "stop_reason": "end_turn"})
    else:
        parts = [{"text": "Done"}] if is_last else [CODE, MAIL]
        exchange.status(200, {"candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP"}]})


@pytest.fixture(scope="module")
def provider() -> Iterator[ProviderServer]:
    with provider_server(respond) as server:
        yield server


@pytest.fixture(scope="module")
def server(provider: ProviderServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    variables = {f"{name}_API_KEY": "key" for name in ("OPENAI", "ANTHROPIC", "GEMINI")}
    names = ("OPENAI_BASE_URL", "ANTHROPIC_BASE_URL", "GOOGLE_GEMINI_BASE_URL", "OLLAMA_HOST")
    variables |= {"FORKPOINT_QUIET_S": "1", **dict.fromkeys(names, provider.base_url)}
    server = Server(tmp_path_factory.mktemp("server") / "home", "--no-demo", env=variables)
    server.start()
    yield server
    server.stop()


def record(server: Server, path: str, *bodies: Any) -> GatewaySession:
    """Send requests through the gateway, and end the run."""
    opened = HTTP.post(f"{server.url}/api/v1/gateway/sessions", json={"app": "desk"}).json()
    session = GatewaySession(server, server.url + opened["path"], opened["run"])
    for body in bodies:
        answer = session.post(path, body)
        assert answer.status_code == 200, answer.text
    end = f"{server.url}/api/v1/gateway/sessions/{opened['session']}/end"
    assert HTTP.post(end, json={"exit_code": 0}).status_code == 200
    wait_until(lambda: session.summary()["sealed"], 30)
    return session


def tools_that_run(session: GatewaySession, **body: Any) -> str:
    """Return the tools that a rerun refuses to run without consent."""
    refusal = HTTP.post(f"{session.server.url}/api/v1/reruns", json={"run": session.id, "compare": True, **body})
    assert (refusal.status_code, refusal.json()["code"]) == (409, "consent_required"), refusal.text
    detail: str = refusal.json()["detail"]
    return detail.partition("runs them again: ")[2].partition(". ")[0]


def test_builtin_tools_of_responses(server: Server) -> None:
    question: Any = {"role": "user", "content": "Go"}
    tools = [{"type": kind} for kind in ("local_shell", "apply_patch", "computer_use_preview", "web_search", "shell")]
    first = {"model": "m1", "input": [question], "tools": tools}
    session = record(server, "/openai/v1/responses", first, {**first, "input": [question, SEARCH, *CALLS, *RESULTS]})
    called_tools = "local_shell, run_sql, apply_patch, computer"
    assert tools_that_run(session) == called_tools
    # Nothing shows that a tool which was only offered is intercepted.
    assert tools_that_run(session, compare=False) == f"{called_tools}, shell"
    steps = {step["tool_name"]: step for step in session.steps(6) if step["type"] == "tool"}
    assert steps["local_shell"]["input"]["command"] == ["rm", "-r", "x"]
    assert [steps[name]["output"] for name in ("local_shell", "run_sql", "apply_patch")] == [
        "gone",
        "dropped",
        "completed",
    ]
    assert json.loads(steps["computer"]["output"])["type"] == "computer_screenshot"


def test_builtin_tools_of_anthropic(server: Server) -> None:
    question: Any = {"role": "user", "content": "Go"}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "files"}
    tools = [
        {"type": "bash_20250124", "name": "bash"},
        {"type": "text_editor_20250728", "name": "str_replace_based_edit_tool"},
        {"type": "web_fetch_20250910", "name": "web_fetch"},
    ]
    first = {"model": "m1", "max_tokens": 9, "messages": [question], "tools": tools}
    answer = {"role": "assistant", "content": [FETCH, BASH]}
    second = {**first, "messages": [question, answer, {"role": "user", "content": [result]}]}
    session = record(server, "/anthropic/v1/messages", first, second)
    assert tools_that_run(session) == "bash"
    assert tools_that_run(session, compare=False) == "bash, str_replace_based_edit_tool"


def test_builtin_tools_of_gemini(server: Server) -> None:
    question: Any = {"role": "user", "parts": [{"text": "Go"}]}
    tools = [{"codeExecution": {}}, {"googleSearch": {}}, {"functionDeclarations": [{"name": "send_mail"}]}]
    result = {"functionResponse": {"name": "send_mail", "response": {"result": "sent"}}}
    first = {"contents": [question], "tools": tools}
    answer = {"role": "model", "parts": [CODE, MAIL]}
    second = {**first, "contents": [question, answer, {"role": "user", "parts": [result]}]}
    session = record(server, "/gemini/v1beta/models/gemini-9:generateContent", first, second)
    assert tools_that_run(session, compare=False) == "send_mail"


def test_lines_of_ollama_pass_and_are_one_answer(server: Server, provider: ProviderServer) -> None:
    messages = [{"role": "assistant", "content": text} for text in ("Grü", "ezi", "")]
    lines = [json.dumps({"model": "m1", "message": message, "done": not message["content"]}) for message in messages]
    body = "".join(f"{line}\n" for line in lines)
    provider.respond = lambda exchange: exchange.status(200, body, content_type="application/x-ndjson")
    request = {"model": "m1", "messages": [{"role": "user", "content": "Hi"}], "options": {"temperature": 0.5}}
    session = record(server, "/ollama/api/chat", request)
    assert provider.requests[-1].path == "/api/chat"
    [step] = session.steps(1)
    assert (step["provider"], step["model"], step["status"]) == ("ollama", "m1", "ok")
    assert step["input"]["parameters"] == {"temperature": 0.5}
    assert step["output"]["message"] == {"role": "assistant", "content": "Grüezi"}
    access = HTTP.post(f"{server.url}/api/v1/reruns", json={"run": session.id}).json()
    again = GatewaySession(server, server.url + access["path"], access["id"]).post("/ollama/api/chat", request)
    assert (again.text, again.headers["content-type"]) == (body, "application/x-ndjson")
    other = {**request, "model": "m2"}
    refusal = GatewaySession(server, server.url + access["path"], access["id"]).post("/ollama/api/chat", other)
    assert (refusal.status_code, [*refusal.json()]) == (400, ["error"])
    provider.respond = respond
