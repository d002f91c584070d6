"""Transcripts of Copilot Studio."""

from typing import Any

import orjson
import pytest

from tests.support import importing_fixtures as fixtures
from traces.core.recorded_run import RecordedRun
from traces.core.vocabulary import StepStatus, StepType

BOT = {"id": "b", "role": 0}
USER = {"id": "u", "aadObjectId": "u7", "role": 1}
STEP = {"planIdentifier": "p1", "stepId": "s1", "taskDialogId": "shop.action.Find"}


def activity(type: str, time: int, sender: dict[str, Any], **members: Any) -> dict[str, Any]:
    return {"type": type, "timestamp": 1_790_000_000 + time, "from": sender, **members}


def event(name: str, time: int, **value: Any) -> dict[str, Any]:
    return activity("event", time, BOT, name=name, valueType=name, value=value)


REQUEST = activity("message", 1, USER, id="m1", text="Is Dune in stock?")
CALL = [
    event("DynamicPlanStepTriggered", 2, **STEP, thought="I look."),
    event("DynamicPlanStepBindUpdate", 3, **STEP, arguments={"title": "Dune"}),
    event("DynamicPlanStepFinished", 4, **STEP, state="completed", observation={"copies": 3}, displayedCost=2),
]
ANSWER = activity("message", 5, BOT, id="m2", text="Yes.", attachments=[{"contentType": "card"}])
TRANSCRIPT = {"activities": [REQUEST, event("DynamicPlanReceived", 1, steps=["shop.action.Find"]), *CALL, ANSWER]}
ROW = {
    "conversationtranscriptid": "c1",
    "metadata": '{"BotName": "shop"}',
    "content": orjson.dumps(TRANSCRIPT).decode(),
}


def read(value: Any) -> RecordedRun:
    (run,), problems = fixtures.detect_and_read("chat-export", orjson.dumps(value))
    assert problems == []
    return run


def test_steps_of_a_plan_are_calls() -> None:
    run = read([ROW])
    assert (run.external_id, run.app, run.metadata["user_id"]) == ("c1", "shop", "u7")
    assert [step.type.value for step in run.steps] == ["agent", "turn", "model", "tool", "model", "output"]
    (tool,) = fixtures.steps(run, StepType.TOOL)
    assert (tool.name, tool.input, tool.output) == ("shop.action.Find", {"title": "Dune"}, '{"copies":3}')
    assert (tool.call_id, tool.status, tool.attributes["displayedCost"]) == ("s1", StepStatus.OK, 2)
    assert run.metadata["events"] == [TRANSCRIPT["activities"][1]]


def test_transcripts_are_read_from_other_programs() -> None:
    capitalized = [{name.capitalize(): item for name, item in item.items()} for item in (REQUEST, ANSWER)]
    senders = [{**item, "From": {"Role": item["From"]["role"]}} for item in capitalized]
    for transcript in (TRANSCRIPT, {"Activities": senders}):
        assert fixtures.steps(read(transcript), StepType.OUTPUT)[0].output == {"text": "Yes."}


@pytest.mark.parametrize(
    ("outcome", "judgement"),
    [
        (event("SessionInfo", 6, outcome="Resolved"), ("resolved", None, "")),
        (event("SessionInfo", 6, outcome="Escalated"), ("outcome", None, "Escalated")),
        (event("CSATSurveyResponse", 6, score=4, comment="quick"), ("csat", 4.0, "quick")),
        (
            activity(
                "invoke",
                6,
                USER,
                name="message/submitAction",
                value={"actionValue": {"reaction": "dislike", "feedback": '{"feedbackText": "too short"}'}},
            ),
            ("reaction", 0.0, "too short"),
        ),
    ],
    ids=["resolved", "escalated", "survey", "reaction"],
)
def test_outcomes_are_judgements(outcome: dict[str, Any], judgement: tuple[str, float | None, str]) -> None:
    (verdict,) = read({"activities": [REQUEST, ANSWER, outcome]}).judgements
    assert (verdict.name, verdict.value, verdict.text) == judgement


def test_errors_are_failed_answers_and_failed_steps() -> None:
    failure = event("DynamicPlanStepFinished", 4, **STEP, state="failed", observation="no access")
    error = event("ErrorTraceData", 5, errorCode="Timeout", errorMessage="the flow timed out")
    run = read({"activities": [REQUEST, *CALL[:2], failure, error]})
    (tool,) = fixtures.steps(run, StepType.TOOL)
    assert (tool.status, tool.error) == (StepStatus.ERROR, "no access")
    assert fixtures.steps(run, StepType.MODEL)[-1].error == "the flow timed out"


def test_click_on_a_card_is_a_request() -> None:
    run = read({"activities": [activity("message", 1, USER, text="", value={"action": "escalate"}), ANSWER]})
    assert run.name == '{"action":"escalate"}'
