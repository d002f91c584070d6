"""Calls of tools that run other agents: their results follow from the steps inside."""

from dataclasses import replace

import pytest

from diffing.report.examination import examine
from replay.proofs.changes.roots import roots
from tests.support.comparing import (
    Spec,
    Store,
    agent,
    model,
    output,
    reply,
    side_of,
    system,
    tool,
    tool_call,
    tool_message,
    user,
)

ASKED = [system("Plan trips."), user("To Rome.")]


def trip(rule: str, flight: str, result: str, *, room: str = "Aurora") -> list[Spec]:
    """A planner calls a tool, which asks another agent; then a tool without an agent in it."""
    flights, rooms = tool_call("c1", "ask_flights", city="Rome"), tool_call("c2", "find_room", city="Rome")
    told = [*ASKED, flights, tool_message("c1", result)]
    answer = f"Take {result}, sleep in {room}"
    return [
        agent(),
        model(ASKED, flights),
        tool("ask_flights", "c1", {"city": "Rome"}, result),
        replace(model([system(rule), user("A flight to Rome?")], reply(flight)), parent=3),
        model(told, rooms),
        tool("find_room", "c2", {"city": "Rome"}, room),
        model([*told, rooms, tool_message("c2", room)], reply(answer)),
        output(answer),
    ]


@pytest.mark.parametrize(
    ("before", "after", "is_listed"),
    [
        ("AZ 101", "LH 22", False),
        ('{"flight": "AZ 101"}', '{"flight": "LH 22"}', False),
        ("180 EUR", "240 EUR", True),
    ],
)
def test_result_of_a_call_that_runs_an_agent_is_no_cause(before: str, after: str, is_listed: bool) -> None:
    store = Store()
    base, candidate = trip("Cheap.", "AZ 101", before), trip("Direct.", "LH 22", after, room="Bellini")
    changes = roots(examine(side_of(base, store), side_of(candidate, store), store.load), store.load)
    titles = {change.atom.title: change.atom.testable for change in changes}
    code = {f"Changing “{before[:3]}” to “{after[:3]}” in the output of ask_flights": False} if is_listed else {}
    assert titles == {
        "Changing “Cheap” to “Direct” in the system prompt": True,
        "Changing “Aurora” to “Bellini” in the output of find_room": True,
        **code,
    }
