"""The agent or turn that a call of the gateway belongs to."""

import orjson

from replay.reruns.core.event_groups import fit
from traces.core.json_types import JSONObject


def line(number: int, type: str, step: str, parent: str | None = None, actor: str = "sdk") -> bytes:
    event = {"sequence_no": number, "event_type": type, "step_id": step, "parent_step_id": parent, "actor_type": actor}
    return orjson.dumps(event) + b"\n"


def call(number: int, step: str) -> bytes:
    return line(number, "model_called", step, actor="gateway") + line(number + 1, "model_result", step, actor="gateway")


def parents(data: bytes) -> dict[object, object]:
    events: list[JSONObject] = [orjson.loads(item) for item in data.splitlines()]
    return {event["step_id"]: event["parent_step_id"] for event in events}


AGENT = line(1, "step_started", "agent")
TURN = line(2, "step_started", "turn", "agent") + line(9, "step_finished", "turn", "agent")
CHECK = line(8, "validator_decision", "check", "turn")
AGENT_END = line(20, "step_finished", "agent")


def test_call_is_inside_of_the_innermost_open_group() -> None:
    events = call(3, "first") + call(12, "second") + AGENT + TURN + CHECK + AGENT_END + call(30, "last")
    places = parents(fit(events, has_groups=True))
    assert places == {"agent": None, "turn": "agent", "check": "turn", "first": "turn", "second": "agent", "last": None}


def test_call_beside_two_open_groups_is_inside_of_what_contains_both() -> None:
    other_turn = line(3, "step_started", "other", "agent") + line(15, "step_finished", "other", "agent")
    places = parents(fit(AGENT + TURN + other_turn + call(5, "both") + call(12, "one") + AGENT_END, has_groups=True))
    assert (places["both"], places["one"]) == ("agent", "other")


def test_groups_that_the_recording_does_not_have_are_left_out() -> None:
    places = parents(fit(AGENT + TURN + CHECK + call(3, "first") + AGENT_END, has_groups=False))
    assert places == {"check": None, "first": None}


def test_call_stays_inside_of_the_step_that_it_names() -> None:
    other_turn = line(3, "step_started", "other", "agent") + line(15, "step_finished", "other", "agent")
    named_call = line(5, "model_called", "named", "other", actor="gateway")
    places = parents(fit(AGENT + TURN + other_turn + named_call + AGENT_END, has_groups=True))
    assert places["named"] == "other"
