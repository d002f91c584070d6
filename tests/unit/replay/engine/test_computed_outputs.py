"""Outputs of runs whose last answers changed."""

import pytest

from tests.support.memory_replays import planned_labels, replay
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun, RecordedStep
from traces.core.vocabulary import StepType

TEXT = "Unfortunately passenger names of economy reservations cannot be modified here."
TRANSFER: JSONObject = {"id": "c2", "name": "transfer", "arguments": {"to": "lawyer"}}


def _answer(content: str | None, *calls: JSONValue) -> JSONObject:
    return {"message": {"role": "assistant", "content": content, "tool_calls": [*calls]}}


def _model(key: str, output: JSONObject, *texts: str) -> RecordedStep:
    request: JSONObject = {"messages": [{"role": "user", "content": text} for text in texts]}
    return RecordedStep(key=key, type=StepType.MODEL, name=key, provider="p", model="m", input=request, output=output)


@pytest.mark.parametrize(
    ("answer", "label"),
    [
        (_answer("I cannot."), "simulated simulation_operator_override"),
        (_answer(""), "exact source_output_reused"),
        (_answer("Wait.", TRANSFER), "simulated assumed_unaffected"),
    ],
)
def test_output_before_a_last_call_depends_on_the_answer_in_its_place(answer: JSONValue, label: str) -> None:
    """A run that ended with a call has an earlier text as its output, and may now end with another one."""
    steps = (
        _model("first", _answer(TEXT), "Change my name."),
        _model("last", _answer(None, {**TRANSFER, "id": "c1", "arguments": {"to": "desk"}}), "Change my name.", "Yes."),
        RecordedStep(key="end", type=StepType.OUTPUT, name="output", output={"text": TEXT}),
    )
    run = RecordedRun(external_id="r", name="r", app="a", format="test", steps=steps)
    fork = replay({"match": {"step": 2}, "output": answer}, run=run, fork=2)
    assert planned_labels(fork.plan())[3] == label
