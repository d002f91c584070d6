"""The agent or turn that a call of the gateway belongs to."""

import time
import tracemalloc
from functools import partial

import orjson
import pytest

from replay.reruns.core import event_groups
from traces.core.json_types import JSONObject


def line(number: int, type: str, step: str, parent: str | None = None, actor: str = "sdk") -> bytes:
    event = {"sequence_no": number, "event_type": type, "step_id": step, "parent_step_id": parent, "actor_type": actor}
    return orjson.dumps(event) + b"\n"


def call(number: int, step: str) -> bytes:
    return line(number, "model_called", step, actor="gateway") + line(number + 1, "model_result", step, actor="gateway")


def fit(lines: bytes, *, has_groups: bool) -> bytes:
    """Fit events that arrived one by one."""
    segments = [partial(bytes, line) for line in lines.splitlines(keepends=True)]
    return b"".join(read() for read in event_groups.fit(segments, has_groups=has_groups))


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


def test_steps_of_left_out_groups_are_inside_of_the_step_around_all() -> None:
    tool = line(1, "tool_called", "tool") + line(20, "tool_result", "tool")
    groups = line(2, "step_started", "agent", "tool") + line(3, "step_started", "turn", "agent")
    checks = line(4, "validator_decision", "check", "turn") + line(5, "validator_decision", "other", "agent")
    places = parents(fit(tool + groups + checks + call(6, "first"), has_groups=False))
    assert (places["check"], places["other"]) == ("tool", "tool")


def test_groups_that_contain_each_other_have_no_parent() -> None:
    cycle = line(1, "step_started", "outer", "inner") + line(2, "step_started", "inner", "outer")
    step = line(3, "step_started", "turn", "inner") + line(4, "validator_decision", "check", "turn")
    assert parents(fit(cycle + step + call(5, "first"), has_groups=False)) == {"check": None, "first": None}
    assert parents(fit(cycle + step + call(5, "first"), has_groups=True))["first"] == "turn"


@pytest.mark.parametrize("has_groups", [True, False])
def test_time_is_linear_in_the_number_of_open_groups(has_groups: bool) -> None:
    chain = b"".join(line(no, "step_started", f"s{no}", f"s{no - 1}") for no in range(5_000))
    leaves = b"".join(line(no, "step_started", f"s{no}", "s4999") for no in range(5_000, 10_000))
    checks = b"".join(line(no, "validator_decision", f"check{no}", "s4999") for no in range(10_000, 15_000))
    start = time.thread_time()
    places = parents(fit(chain + leaves + checks + call(20_000, "call"), has_groups=has_groups))
    assert time.thread_time() - start < 1.0
    assert places["call"] == ("s4999" if has_groups else None)


@pytest.mark.parametrize("has_groups", [True, False])
def test_events_of_a_long_rerun_are_not_in_memory_together(has_groups: bool) -> None:
    def read(number: int) -> bytes:
        event: JSONObject = {"sequence_no": number, "event_type": "tool_called", "payload": "x" * 100_000}
        return orjson.dumps(event) + b"\n"

    segments = [partial(bytes, AGENT), *(partial(read, number) for number in range(200))]
    tracemalloc.start()
    try:
        sizes = [len(reader()) for reader in event_groups.fit(segments, has_groups=has_groups)]
        assert sum(sizes) > 20_000_000 > 5 * tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
