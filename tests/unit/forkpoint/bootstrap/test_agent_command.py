"""The recorded input in the words of a command."""

from typing import Any

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


@pytest.mark.parametrize("input", ["a\0b", "\ud800", {"text": "\ud800"}])
def test_input_that_is_no_word_is_refused(input: Any) -> None:
    """A runner goes on after that: its other agents would end with it."""
    assert Agent(["agent"], {}).command(input) == ["agent"]
    with pytest.raises(CannotRun, match="no argument can contain"):
        Agent(["agent", "{input}"], {}).command(input)
