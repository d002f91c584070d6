"""What the SDK adds to a run of the gateway."""

import time

from forkpoint.gateway_run import GatewayRun


def test_only_steps_that_the_gateway_cannot_see_have_a_place() -> None:
    run = GatewayRun("r1", time.time() - 1)
    types = ("run_started", "model_called", "model_result", "run_completed")
    assert [run.place("p1", "s1", None, type) for type in types] == [None] * len(types)
    events = [
        ("p1", "s1", "s0", "tool_called"),
        ("p1", "s2", "s1", "retrieval_executed"),
        ("p1", "s1", "s0", "tool_result"),
        ("p2", "s1", "s1", "validator_decision"),
    ]
    places = [place for event in events if (place := run.place(*event)) is not None]
    assert [(place.step_id, place.parent_id) for place in places] == [
        ("p1-s1", None),
        ("p1-s2", "p1-s1"),
        ("p1-s1", None),
        ("p2-s1", None),
    ]
    assert 1_000_000 <= places[0].number >> 6 <= places[2].number >> 6 < 60_000_000


def test_open_steps_have_an_id_for_the_gateway() -> None:
    run = GatewayRun("r1", time.time())
    run.place("p1", "s1", None, "tool_called")
    assert (run.open_step("p1", "s1"), run.open_step("p1", "s2")) == ("p1-s1", "")
    run.place("p1", "s1", None, "tool_result")
    assert run.open_step("p1", "s1") == ""


def test_agents_contain_what_happens_in_them() -> None:
    run = GatewayRun("r1", time.time())
    for event in ("a1", None, "step_started"), ("s1", "a1", "tool_called"):
        run.place("p1", *event)
    place = run.place("p1", "s2", "s1", "validator_decision")
    assert place is not None
    assert place.parent_id == "p1-s1"
    assert run.open_step("p1", "a1") == "p1-a1"
