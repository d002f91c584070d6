"""Replays in which a runner starts the agent again."""

import pytest

from tests.clients.model_server import ANSWER, ModelServer
from tests.integration.agents.conftest import StartRunner, ended, fork, get, printed
from tests.services.server import Server
from tests.support.gateway_agents import AGENTS

pytestmark = pytest.mark.own_store
LIVE_PROMPT = {"overrides": [{"match": {"type": "model"}, "prompt": {"system": "Answer in verse."}}]}


def test_fork_runs_the_agent(server: Server, models: ModelServer, run: str, start_runner: StartRunner) -> None:
    start_runner(AGENTS["chat"], "plain", options=("--name", "mine"))
    before = len(models.requests)
    session = ended(server, fork(server, run, overrides=LIVE_PROMPT, policy={"allow": ["model"]}))
    assert (session["status"], session["error"]) == ("completed_simulated", "")
    assert (session["runner"], session["exit_code"], session["live_calls"]) == ("mine", 0, 3)
    assert [body["messages"][0]["content"] for _, body in models.requests[before:]] == ["Answer in verse."] * 3
    assert printed(server, session["id"]) == [("stdout", ANSWER)]
    steps = get(server, f"/runs/{session['run']}/steps")["steps"]
    assert [step["type"] for step in steps] == ["model", "tool", "tool", "model", "tool", "model"]
