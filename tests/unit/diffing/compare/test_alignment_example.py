"""The worked example in the documentation of the alignment."""

from dataclasses import replace

from tests.support.comparing import model, pairs_of, reply, steps_of, tool, tool_call, tool_message, user


def test_worked_example_of_the_module() -> None:
    question = [user("Refund order 7.")]
    lookup = [*question, tool_call("c1", "get_order", id=7), tool_message("c1", 4200)]
    search = [*lookup, tool_call("c2", "search", query="refund"), tool_message("c2", "in euros")]
    start = [
        model(question, tool_call("c1", "get_order", id=7)),
        tool("get_order", "c1", {"id": 7}, 4200),
    ]
    base = [
        *start,
        model(lookup, tool_call("c2", "refund", amount=4200)),
        tool("refund", "c2", {"amount": 4200}, "rejected"),
        model([*lookup, user("x")], reply("It was rejected.")),
    ]
    candidate = [
        *start,
        model(lookup, tool_call("c2", "search", query="refund")),
        tool("search", "c2", {"query": "refund"}, "in euros"),
        model(search, tool_call("c3", "refund", amount=42)),
        tool("refund", "c3", {"amount": 42}, "accepted"),
        model([*search, user("x")], reply("It is done.")),
    ]
    sides = [steps_of([replace(step, parent=None) for step in run]) for run in (base, candidate)]
    assert pairs_of(*sides) == {1: 1, 2: 2, 3: 3, 4: 6, 5: 7}
