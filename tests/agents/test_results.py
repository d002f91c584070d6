"""Tools of real frameworks that return objects: a rerun gives the framework what the tool returned."""

import pytest

from tests.agents.catalogue import AGENTS
from tests.agents.desk import Desk
from tests.clients.model_server import ANSWER

NAMES = ("OpenAI Agents SDK", "LangGraph", "pydantic-ai", "smolagents", "CrewAI", "AutoGen", "google-genai")
PARAMETERS = [pytest.param(agent, id=agent.name) for agent in AGENTS if agent.name in NAMES]
pytestmark = [
    pytest.mark.own_store,
    pytest.mark.framework,
    pytest.mark.parametrize("desk", PARAMETERS, indirect=True, scope="module"),
]


@pytest.mark.parametrize("kind", ["dict", "model"])
def test_objects_come_back_as_they_were(desk: Desk, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEATHER_RESULTS", kind)
    run, _ = desk.record()
    again = desk.run("rerun", run)
    assert (again.code, again.out, again.requests, again.executions) == (0, ANSWER, [], []), again.err
    assert "3 calls exact\n" in again.err
    assert "get_weather: 2 exact" in again.err
