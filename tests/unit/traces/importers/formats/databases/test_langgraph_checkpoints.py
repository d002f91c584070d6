"""Checkpoints of LangGraph as its savers return them."""

import orjson
import pytest

from tests.support import importing_fixtures as fixtures
from traces.core.vocabulary import StepType


@pytest.mark.parametrize("is_list", [False, True])
def test_checkpoints_have_what_their_tasks_wrote(is_list: bool) -> None:
    user, answer = ({"type": kind, "id": kind, "data": {"content": kind, "id": kind}} for kind in ("human", "ai"))
    first_channels = {"__start__": {"messages": [user]}}
    tuples = [
        (1, first_channels, [["t1", "messages", [user]], ["t1", "branch:to:model", None]]),
        (2, {"messages": [user], "branch:to:model": None}, [["t2", "messages", [answer]]]),
        (
            3,
            {"messages": [user, answer], "branch:to:ask": None},
            [
                ["00000000-0000-0000-0000-000000000000", "__resume__", "yes"],
                ["t3", "__interrupt__", [{"value": "Sure?"}]],
                ["t3", "log", ["asked"]],
            ],
        ),
        (4, {"messages": [user, answer], "log": ["asked"]}, []),
    ]
    values = [
        {
            "config": {"configurable": {"thread_id": "t", "checkpoint_id": f"c{number}"}},
            "checkpoint": {
                "v": 4,
                "id": f"c{number}",
                "ts": f"2026-03-01T10:00:0{number}Z",
                "channel_values": channels,
            },
            "metadata": {"step": number - 2, "source": "loop"},
            "parent_config": {"configurable": {"checkpoint_id": f"c{number - 1}"}} if number > 1 else None,
            "pending_writes": writes,
        }
        for number, channels, writes in tuples
    ]
    data = orjson.dumps([[*value.values()] for value in values] if is_list else values)
    ((run,), _) = fixtures.detect_and_read("langgraph", data)
    model, ask = (step for step in run.steps[1:] if step.type is StepType.AGENT)
    assert (model.name, ask.name, ask.output) == ("model", "ask", {"log": ["asked"]})
    assert (ask.attributes["interrupts"], ask.attributes["resumed_with"]) == ([{"value": "Sure?"}], "yes")
