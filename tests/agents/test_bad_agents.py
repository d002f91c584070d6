"""Agents that do what they should not: each ends with a clear message, and none reaches a provider in a rerun."""

import json
from collections.abc import Iterator

import pytest

from tests.clients.model_server import ANSWER, ModelServer
from tests.services.server import Server
from tests.support.gateway_agents import REQUESTS
from tests.support.gateway_runs import GatewaySession, record, rerun, run_of

pytestmark = pytest.mark.own_store

ASK = f"""{REQUESTS}
def ask(text):
    answer = ask_openai("chat/completions", {{"model": "m1", "messages": [{{"role": "user", "content": text}}]}})
    return answer["choices"][0]["message"]["content"]
"""
# Asks again when the provider was away.
PERSISTENT = """
import openai
def ask(text):
    messages = [{"role": "user", "content": text}]
    return openai.OpenAI().chat.completions.create(model="m1", messages=messages).choices[0].message.content
print(ask("Hi"))
"""


@pytest.fixture(autouse=True)
def _answer_all_calls(models: ModelServer) -> Iterator[None]:
    yield
    models.on_arrival = lambda number: None


def test_agent_that_ignores_the_address_reaches_nobody(server: Server, models: ModelServer) -> None:
    program = ASK + f"os.environ['OPENAI_BASE_URL'] = {models.url + '/v1'!r}\nprint(ask('Hi'))"
    recording = record(server, program)
    assert (recording.returncode, recording.stdout.strip()) == (0, ANSWER), recording.stderr
    assert "Nothing was recorded: no model call of the program came through the gateway." in recording.stderr
    run = run_of(record(server, ASK + "print(ask('Hi'))"))
    before = len(models.requests)
    again = rerun(server, run, program)
    assert (again.returncode, again.stdout) == (5, ""), again.stderr
    assert models.url.removeprefix("http://") in again.stderr
    assert "recorded calls that were not made: steps 1" in again.stderr
    assert len(models.requests) == before


def test_agent_with_two_providers(server: Server, models: ModelServer) -> None:
    program = ASK + "\n".join(
        (
            "messages = [{'role': 'user', 'content': ask('Hi')}]",
            "answer = ask_anthropic('messages', {'model': 'm2', 'max_tokens': 9, 'messages': messages})",
            "print(ask(answer['content'][0]['text']))",
        )
    )
    recording = record(server, program)
    assert recording.returncode == 0, recording.stderr
    steps = GatewaySession(server, "", run_of(recording)).steps(3)
    assert [step["provider"] for step in steps] == ["openai", "anthropic", "openai"]
    before = len(models.requests)
    again = rerun(server, run_of(recording), program)
    assert (again.returncode, again.stdout) == (0, recording.stdout), again.stderr
    assert len(models.requests) == before


def test_agent_that_had_to_repeat_a_call(server: Server, models: ModelServer) -> None:
    first = len(models.requests) + 1

    def hang_up(number: int) -> None:
        if number == first:
            raise ConnectionResetError

    models.on_arrival = hang_up
    recording = record(server, PERSISTENT)
    assert (recording.returncode, len(models.requests)) == (0, first + 1), recording.stderr
    again = rerun(server, run_of(recording), PERSISTENT)
    assert (again.returncode, again.stdout.strip()) == (0, ANSWER), again.stderr
    assert len(models.requests) == first + 1


def test_agent_with_a_random_prompt(server: Server, models: ModelServer) -> None:
    program = ASK + "import random\nprint(ask(f'Roll {random.random()}'))"
    run = run_of(record(server, program))
    before = len(models.requests)
    again = rerun(server, run, program)
    assert again.returncode == 5
    assert "first difference, from step 1 at /messages/0/content" in again.stderr
    assert len(models.requests) == before


def test_agent_that_never_ends(server: Server, models: ModelServer) -> None:
    """It ignores that its calls are refused, until somebody ends the command."""
    program = ASK + "\n".join(
        (
            "import signal",
            "print(ask('Go on'))",
            "number = 0",
            "while sys.argv[1] == 'rerun':",
            "    try:",
            "        ask('Go on')",
            "    except SystemExit:",
            "        number += 1",
            "    if number == 50:",
            "        os.kill(os.getppid(), signal.SIGTERM)",
        )
    )
    run = run_of(record(server, program, "record"))
    before = len(models.requests)
    again = rerun(server, run, program, "rerun")
    assert again.returncode == 5, again.stderr
    assert ": 1 call exact, 5" in again.stderr
    assert f"no answer: run {run} has no call left that this one could be" in again.stderr
    assert len(models.requests) == before


def test_requests_that_nobody_can_read(server: Server, models: ModelServer) -> None:
    program = """
import http.client, os
from urllib.parse import urlsplit
address = urlsplit(os.environ["OPENAI_BASE_URL"] + "/chat/completions")
large = b'{"model": "m1", "messages": [], "note": "' + b"x" * 50_000_000 + b'"}'
for content in (b"[1, 2", b'{"model": "m1", "messages": 7}', large):
    connection = http.client.HTTPConnection(address.netloc)
    connection.request("POST", address.path, content, {"content-type": "application/json"})
    response = connection.getresponse()
    print(response.status, response.read().decode())
"""
    run = run_of(record(server, ASK + "print(ask('Hi'))"))
    before = len(models.requests)
    again = rerun(server, run, program)
    assert again.returncode == 5, again.stderr
    answers = [line.partition(" ") for line in again.stdout.splitlines()]
    assert [(status, list(json.loads(body))) for status, _, body in answers] == [("400", ["error"])] * 3
    assert len(models.requests) == before
