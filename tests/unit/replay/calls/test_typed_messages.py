"""Messages that a person typed after an answer that changes."""

from collections.abc import Sequence

import pytest

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


def _said(role: str, text: str) -> JSONObject:
    return {"role": role, "content": text}


def _model(key: str, messages: Sequence[JSONValue], answer: str) -> RecordedStep:
    return RecordedStep(
        key=key,
        type=StepType.MODEL,
        name="desk",
        provider="p",
        model="m",
        input={"messages": [*messages]},
        output={"message": _said("assistant", answer)},
    )


def _talk(*turns: tuple[str, str]) -> RecordedRun:
    messages: list[JSONValue] = []
    steps: list[RecordedStep] = []
    for number, (question, answer) in enumerate(turns, 1):
        messages.append(_said("user", question))
        steps.append(_model(f"turn{number}", messages, answer))
        messages.append(_said("assistant", answer))
    return _run(*steps)


def _run(*steps: RecordedStep) -> RecordedRun:
    return RecordedRun(external_id="r", name="r", app="a", format="test", steps=steps)


def _plan(run: RecordedRun, step: int, answer: str, *, live: bool = False) -> Plan:
    loaded, payloads = graph_of(run)
    entry: JSONObject = {"match": {"step": step}, "output": answer}
    profile: AppliedProfile = apply_profile(OverrideProfile.model_validate({"overrides": [entry]}), loaded)
    sources = Sources(
        payload=payloads.__getitem__,
        cached=lambda *_: None,
        provider=lambda *_: "p" if live else None,
        price=lambda *_: None,
    )
    return plan(loaded, profile, Policy(), sources)


def _step(planned: Plan, no: int) -> PlannedStep:
    return next(step for step in planned.steps if step.sequence_no == no)


TALK = _talk(("Where is it?", "It is lost."), ("Then refund me.", "I refunded it."), ("Thank you.", "You are welcome."))


@pytest.mark.parametrize("live", [False, True])
def test_reply_to_a_changed_answer_is_named(live: bool) -> None:
    planned = _plan(TALK, 1, "It arrives today.", live=live)
    assert [step.typed for step in planned.steps] == [[], [2], [2, 4]]
    assert "Message 3 of its input was typed after a changed answer" in _step(planned, 2).note
    assert "Messages 3 and 5 of its input were typed" in _step(planned, 3).note


def test_reply_before_the_change_is_not_named() -> None:
    planned = _plan(TALK, 2, "I cannot refund it.")
    assert [step.typed for step in planned.steps if step.sequence_no > 1] == [[], [4]]


def test_the_same_answer_leaves_replies_alone() -> None:
    assert all(not step.typed for step in _plan(TALK, 1, "It is lost.").steps)


def test_message_that_code_made_of_the_answer_was_not_typed() -> None:
    answer = "It was lost by northern parcels on the way to the customer last week."
    other = _model(
        "check", [_said("user", "Check this."), _said("assistant", "Which text?"), _said("user", answer)], "Ok"
    )
    planned = _plan(_run(_model("write", [_said("user", "What happened?")], answer), other), 1, "Nothing is known.")
    assert _step(planned, 2).differs == ["messages"]
    assert _step(planned, 2).typed == []
