"""Messages that a person typed after a changed answer."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replay.core.applied_profile import AppliedProfile, apply_profile
from replay.core.plan import Plan, PlannedStep
from replay.overrides.policy import Policy
from replay.overrides.profile import OverrideProfile
from replay.planning.plan_environment import Sources
from replay.planning.planner import plan
from tests.support.replay_runs import graph_of
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun, RecordedStep
from traces.core.vocabulary import StepType


def _message(role: str, text: str) -> JSONObject:
    return {"role": role, "content": text}


def _model(key: str, messages: Sequence[JSONValue], answer: str) -> RecordedStep:
    return RecordedStep(
        key=key,
        type=StepType.MODEL,
        name="desk",
        provider="p",
        model="m",
        input={"messages": [*messages]},
        output={"message": _message("assistant", answer)},
    )


def _talk(*turns: tuple[str, str]) -> RecordedRun:
    messages: list[JSONValue] = []
    steps: list[RecordedStep] = []
    for number, (question, answer) in enumerate(turns, 1):
        messages.append(_message("user", question))
        steps.append(_model(f"turn{number}", messages, answer))
        messages.append(_message("assistant", answer))
    return _run(*steps)


def _run(*steps: RecordedStep) -> RecordedRun:
    return RecordedRun(external_id="r", name="r", app="a", format="test", steps=steps)


def _plan(run: RecordedRun, step: int, answer: str, *, live: bool = False) -> Plan:
    graph, payloads = graph_of(run)
    entry: JSONObject = {"match": {"step": step}, "output": answer}
    profile: AppliedProfile = apply_profile(OverrideProfile.model_validate({"overrides": [entry]}), graph)
    sources = Sources(
        payload=payloads.__getitem__,
        cached=lambda *_: None,
        provider=lambda *_: "p" if live else None,
        price=lambda *_: None,
    )
    return plan(graph, profile, Policy(), sources)


def _step(plan: Plan, no: int) -> PlannedStep:
    return next(step for step in plan.steps if step.sequence_no == no)


TALK = _talk(("Where is it?", "It is lost."), ("Then refund me.", "I refunded it."), ("Thank you.", "You are welcome."))


@pytest.mark.parametrize("live", [False, True])
def test_reply_to_changed_answer_is_named(live: bool) -> None:
    plan = _plan(TALK, 1, "It arrives today.", live=live)
    assert [step.typed for step in plan.steps] == [[], [2], [2, 4]]
    assert "Message 3 of its input was typed after a changed answer" in _step(plan, 2).note
    assert "Messages 3 and 5 of its input were typed" in _step(plan, 3).note


def test_reply_before_change_is_not_named() -> None:
    plan = _plan(TALK, 2, "I cannot refund it.")
    assert [step.typed for step in plan.steps if step.sequence_no > 1] == [[], [4]]


def test_same_answer_ignores_replies() -> None:
    assert all(not step.typed for step in _plan(TALK, 1, "It is lost.").steps)


def test_message_from_code_is_not_typed() -> None:
    answer = "It was lost by northern parcels on the way to the customer last week."
    other_step = _model(
        "check", [_message("user", "Check this."), _message("assistant", "Which text?"), _message("user", answer)], "Ok"
    )
    plan = _plan(
        _run(_model("write", [_message("user", "What happened?")], answer), other_step), 1, "Nothing is known."
    )
    assert _step(plan, 2).differs == ["messages"]
    assert _step(plan, 2).typed == []


LOOK = _model("look", [_message("user", "Look it up.")], "It was sent on 2026-04-21, and is lost.")


@pytest.mark.parametrize(
    ("earlier", "reply"),
    [("priority high", "2026-04-21"), ("Action: look up B-77", "Observation: 2026-04-21")],
    ids=["example before a question", "agent whose texts act"],
)
def test_value_that_no_message_showed_is_from_code(earlier: str, reply: str) -> None:
    messages = [_message("user", "Hello."), _message("assistant", earlier), _message("user", reply)]
    step = _step(_plan(_run(LOOK, _model("talk", messages, "I see.")), 1, "Nothing is known."), 2)
    assert (str(step.reason), step.note) == (
        "simulation_policy_fallback",
        "Part of its input depends on step 1, and its new value is unknown",
    )


def test_value_that_a_message_showed_may_be_typed() -> None:
    question = _message("user", "When did it leave?")
    messages = [question, _message("assistant", "It left on 2026-04-21."), _message("user", "2026-04-21?")]
    run = _run(_model("ask", [question], "It left on 2026-04-21."), LOOK, _model("doubt", messages, "No."))
    assert str(_step(_plan(run, 2, "Nothing is known."), 3).reason) == "source_output_reused"


@given(st.lists(st.tuples(st.integers(0, 20), st.booleans()), max_size=24))
def test_each_branch_of_a_conversation_has_its_own_replies(branches: list[tuple[int, bool]]) -> None:
    """Each step continues any earlier one, with one reply or with two."""
    talks: list[list[JSONValue]] = [[_message("user", "Where is it?")]]
    for number, (place, answers_twice) in enumerate(branches, 1):
        earlier = place % len(talks)
        talk = [*talks[earlier], _message("assistant", f"Answer {earlier}.")]
        if answers_twice:
            talk += [_message("user", f"Wait {number}."), _message("assistant", f"I wait {number}.")]
        talks.append([*talk, _message("user", f"Question {number}?")])
    run = _run(*(_model(f"turn{number}", talk, f"Answer {number}.") for number, talk in enumerate(talks)))
    plan = _plan(run, 1, "It arrives today.")
    for talk, step in zip(talks[1:], plan.steps[1:], strict=True):
        replies = range(2, len(talk), 2)
        assert step.typed == [*replies][:8]
        assert ("more of its input" in step.note) == (len(replies) > 5)
