"""The recorded input in the words of a command."""

import pytest

from forkpoint.bootstrap.gateway import CannotRun
from forkpoint.bootstrap.rerun import Agent


def test_input_replaces_its_placeholder() -> None:
    agent = Agent(["python", "agent.py", "--task={input}"], {})
    assert agent.command("Refund {input} é") == ["python", "agent.py", "--task=Refund {input} é"]
    assert agent.command({"id": 1, "name": "é"})[2] == '--task={"id": 1, "name": "é"}'


def test_unknown_input_is_refused_where_it_is_needed() -> None:
    assert Agent(["agent"], {}).command(None) == ["agent"]
    with pytest.raises(CannotRun, match="has no input"):
        Agent(["agent", "{input}"], {}).command(None)
