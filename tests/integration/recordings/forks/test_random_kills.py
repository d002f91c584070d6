"""An agent that is killed again and again: what it has done is neither paid for nor done again."""

import json
import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from forkpoint.bootstrap.gateway import Server as Address
from forkpoint.bootstrap.gateway import client_program
from forkpoint.bootstrap.rerun import Agent, agent_variables
from forkpoint.confinement.limits import Confinement
from tests.clients.model_server import ANSWER, ModelServer
from tests.services.server import Server
from tests.support.gateway_agents import PLAIN_TOOLS
from tests.support.gateway_runs import LIVE, GatewaySession, get, labels, post
from tests.support.http import HTTP
from tests.support.patience import patience_s

_KILLS = 8
# Prints a line before and after everything that it does. Each letter that it sends is a line of a file.
AGENT = """
import forkpoint, json, os, sys, urllib.request

def ask(messages):
    print("asks", flush=True)
    tools = [{"type": "function", "function": {"name": name}} for name in ("get_weather", "get_time")]
    body = json.dumps({"model": "m1", "messages": messages, "tools": tools}).encode()
    headers = {"content-type": "application/json", "authorization": "Bearer " + os.environ["OPENAI_API_KEY"]}
    address = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
    with urllib.request.urlopen(urllib.request.Request(address, body, headers)) as response:
        message = json.load(response)["choices"][0]["message"]
    print("has an answer", flush=True)
    return message

@forkpoint.tool
def send_letter(text: str) -> str:
    with open(sys.argv[1], "a") as file:
        file.write(text + "\\n")
    print("sent", flush=True)
    return "sent"

messages = [{"role": "user", "content": "Weather and time?"}]
while True:
    message = ask(messages)
    print(send_letter(f"letter {len(messages)}"), flush=True)
    messages.append(message)
    if not message.get("tool_calls"):
        break
    messages += [{"role": "tool", "tool_call_id": call["id"], "content": "fine"} for call in message["tool_calls"]]
print(message["content"], flush=True)
"""
LIMITS: dict[str, Any] = {"live": True, "ask_tools": ["send_*"], "allow_tools": PLAIN_TOOLS}
# Of a start that is not killed: two of the model call, and one or two of the letter in each of three turns.
_MOST_LINES = 12


def test_nothing_is_repeated_after_kills_at_random_moments(
    server: Server, models: ModelServer, run: str, tmp_path: Path
) -> None:
    chance = random.Random(20)
    changes = {"overrides": {"overrides": [{"match": {"type": "model"}, "prompt": {"system": "Be killed."}}]}}
    session = post(server, "/api/v1/reruns", {"run": run, **LIMITS, **changes})
    letters, before = tmp_path / "letters", len(models.requests)
    with operator(server, session["id"]):
        for _ in range(_KILLS):
            with start(server, session, letters) as agent:
                assert agent.stdout is not None
                for _ in range(chance.randint(1, _MOST_LINES)):
                    agent.stdout.readline()
                time.sleep(chance.uniform(0, 0.05))
                agent.kill()
            session = post(server, f"/api/v1/reruns/{session['id']}/resume", {})
        with start(server, session, letters) as agent:
            output, _ = agent.communicate(timeout=patience_s(60))
    assert (agent.returncode, output.splitlines()[-1]) == (0, ANSWER)
    requests = [json.dumps(body) for _, body in models.requests[before:]]
    assert (len(requests), len({*requests})) == (3, 3)
    sent_letters = letters.read_text().splitlines()
    assert (len(sent_letters), {*sent_letters} <= {"letter 1", "letter 4", "letter 6"}) == (len({*sent_letters}), True)
    report = post(server, f"/api/v1/reruns/{session['id']}/end", {"exit_code": 0})
    steps = GatewaySession(server, "", report["fork"]).steps(9)
    assert [label for label in labels(steps) if label[0] == "model"] == [LIVE] * 3


def test_late_requests_of_a_killed_agent_do_not_count(server: Server, models: ModelServer, run: str) -> None:
    first = post(server, "/api/v1/reruns", {"run": run, **LIMITS})
    second = post(server, f"/api/v1/reruns/{first['id']}/resume", {})
    before = len(models.requests)
    question = {"type": "tool", "name": "send_letter", "arguments": {"text": "letter 1"}, "call": "late"}
    request = {"model": "m1", "messages": [{"role": "user", "content": "Is this late?"}]}

    def ask(session: Any) -> list[Any]:
        agent = f"{server.url}/api/v1/reruns/{session['id']}.{session['attempt']}"
        return [
            HTTP.post(f"{agent}/tools", json=question, timeout=patience_s(30)),
            HTTP.post(f"{agent}/events", content=b"", timeout=patience_s(30)),
            HTTP.post(f"{server.url}{session['path']}/openai/chat/completions", json=request, timeout=patience_s(30)),
        ]

    late_answers = ask(first)
    assert [answer.status_code for answer in late_answers] == [409, 409, 400]
    assert all("was started again" in answer.text for answer in late_answers)
    assert (len(models.requests) - before, get(server, f"/reruns/{first['id']}/questions")["questions"]) == (0, [])
    tool, report, model = ask(second)
    assert (tool.json()["decision"], report.status_code, model.status_code) == ("ask", 200, 200)


@contextmanager
def start(server: Server, session: Any, letters: Path) -> "Iterator[subprocess.Popen[str]]":
    """Start the agent as `forkpoint rerun` does."""
    words = [sys.executable, "-c", AGENT, str(letters)]
    address = Address(server.url, "")
    names = ("OPENAI", "ANTHROPIC", "GEMINI", "GOOGLE", "FORKPOINT")
    own_variables = {name: text for name, text in os.environ.items() if not name.startswith(names)}
    agent = Agent(words, {**own_variables, "FORKPOINT_URL": server.url})
    variables = agent_variables(address, session, agent, Confinement(), "kills")
    command, environment = client_program(words, variables, server.url + session["path"], "")
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        yield process


@contextmanager
def operator(server: Server, rerun: str) -> Iterator[None]:
    """Let each letter be sent, and tell an agent that was started again that it was."""
    is_over = threading.Event()

    def work() -> None:
        while not is_over.wait(0.1):
            for question in get(server, f"/reruns/{rerun}/questions")["questions"]:
                outcome = {"action": "run"} if question["may_run"] else {"action": "answer", "output": "sent"}
                number = {"sequence_no": question["sequence_no"]}
                address = f"{server.url}/api/v1/reruns/{rerun}/questions"
                response = HTTP.post(address, json={**number, **outcome}, timeout=patience_s(30))
                # Of a start that has been killed meanwhile.
                assert response.status_code in (200, 409), response.text

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()
