"""Tools of real frameworks that return objects: a rerun gives the framework what the tool returned."""

from pathlib import Path

import pytest

from tests.agents.catalogue import AGENTS, Agent
from tests.agents.desk import Desk
from tests.clients.model_server import ANSWER, ModelServer
from tests.services.server import Server

pytestmark = [pytest.mark.own_store, pytest.mark.framework]
NAMES = ("OpenAI Agents SDK", "LangGraph", "pydantic-ai", "smolagents", "CrewAI", "AutoGen", "google-genai")


@pytest.mark.parametrize("kind", ["dict", "model"])
@pytest.mark.parametrize("agent", [agent for agent in AGENTS if agent.name in NAMES], ids=lambda agent: agent.name)
def test_objects_come_back_as_they_were(
    agent: Agent, kind: str, server: Server, models: ModelServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WEATHER_RESULTS", kind)
    desk = Desk(agent, server, models, tmp_path)
    run, _ = desk.record()
    again = desk.run("rerun", run)
    assert (again.code, again.out, again.requests, again.executions) == (0, ANSWER, [], []), again.err
    assert "3 calls exact\n" in again.err
    assert "get_weather: 2 exact" in again.err
