"""What a step's answer means for later steps."""

from tests.support.memory_replays import labels, replay
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun, RecordedStep
from traces.core.vocabulary import StepType


def _message(role: str, content: str) -> JSONObject:
    return {"role": role, "content": content}


def _model(key: str, answer: str, *messages: JSONValue) -> RecordedStep:
    return RecordedStep(
        key=key,
        type=StepType.MODEL,
        name="desk",
        input={"messages": [*messages]},
        output={"message": _message("assistant", answer)},
    )


def test_override_does_not_clear_what_continues_its_request() -> None:
    """Code cut `wns` out of the first answer, and the second step's request, which the third repeats, contains it."""
    talk = [_message("user", "wns"), _message("assistant", "In blue?"), _message("user", "Yes.")]
    steps = (
        _model("first", "two gowns", _message("user", "Yes.")),
        _model("ask", "In blue?", talk[0]),
        _model("go on", "Done.", *talk),
    )
    run = RecordedRun(external_id="r", name="r", app="a", format="test", steps=steps)
    answer: JSONObject = {"message": talk[1], "finish_reason": "stop"}
    fork = replay({"match": {"step": 1}, "output": "hat"}, {"match": {"step": 2}, "output": answer}, run=run)
    assert labels(fork.execute())[3] == "simulated assumed_unaffected"
