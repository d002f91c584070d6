"""How an agent that is a server gets its input."""

import os
import socket
import sys

import pytest

from forkpoint.bootstrap.rerun import Agent
from forkpoint.runner.command import Runner, option_parser
from tests.support.patience import wait_until
from tests.unit.forkpoint.runner.test_messages import MESSAGE

# It answers "Hi", and needs a while to end.
AGENT = """
import http.server, signal, sys, time

class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        text = self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200 if text == b'"Hi"' else 500)
        self.end_headers()
        self.wfile.write(text)

def end(*_):
    time.sleep(0.5)
    sys.exit(7)

signal.signal(signal.SIGTERM, end)
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""


def test_server_has_ended_before_the_next_one_gets_an_input() -> None:
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]
    runner = _runner(port)
    runner._start(MESSAGE)
    [agent] = runner._agents
    end = wait_until(lambda: agent.end, 30)
    assert (end["code"], '"Hi"' in [line["text"] for line in agent.message()["lines"]]) == (0, True)
    with socket.create_server(("127.0.0.1", port)):
        pass


def test_input_is_not_sent_to_another_program(monkeypatch: pytest.MonkeyPatch) -> None:
    def launch(*_: object) -> None:
        raise AssertionError("the agent does not start")

    monkeypatch.setattr(Runner, "_launch", launch)
    with socket.create_server(("127.0.0.1", 0)) as other:
        runner = _runner(other.getsockname()[1])
        runner._start(MESSAGE)
    [agent] = runner._agents
    assert "another program listens at http://127.0.0.1:" in agent.end["error"]


def _runner(port: int) -> Runner:
    url = ["--input", "http", "--input-url", f"http://127.0.0.1:{port}/ask"]
    options = option_parser().parse_args(["--app", "desk", "--network", "open", *url])
    names = ("OPENAI", "ANTHROPIC", "GEMINI", "GOOGLE", "FORKPOINT")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(names)}
    agent = Agent([sys.executable, "-c", AGENT, str(port)], {**environment, "FORKPOINT_URL": "http://127.0.0.1:1"})
    return Runner(options, agent)
