"""Limits of a profile's edits."""

from replay.overrides.edits import Edits
from replay.overrides.profile import MessageEdit, Passage
from replay.planning.conflicts import excess_passages
from traces.core.json_types import JSONValue


def test_passages_of_huge_messages_are_limited() -> None:
    messages: list[JSONValue] = [{"role": "user", "content": "short"}, {"role": "user", "content": "x" * 1_000_000}]
    passages = [Passage(before=f"w{number}", after="") for number in range(600)]
    short, long = (MessageEdit(op="replace", index=index, passages=passages) for index in (0, 1))
    assert excess_passages(3, Edits(entries=(7,), messages=(short,)), messages) is None
    refusal = excess_passages(3, Edits(entries=(7,), messages=(short, long)), messages)
    assert refusal is not None
    assert (refusal.step, refusal.where) == (3, "/overrides/overrides/7/messages")
    assert "message 1 has 1,000,000" in refusal.detail
