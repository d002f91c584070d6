"""What a step's answer means for later steps."""

from dataclasses import replace

from replay.core.graph import ReplayOutput
from replay.inputs.placeholders import placeholder
from tests.bench.truth.replays import mark_replay_outputs
from tests.support.memory_replays import labels, planned_labels, replay
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun, RecordedStep
from traces.core.vocabulary import Label, Reason, StepType


def _model(key: str, message: JSONValue, *messages: JSONValue) -> RecordedStep:
    input: JSONObject = {"messages": [*messages]}
    return RecordedStep(key=key, type=StepType.MODEL, name="desk", input=input, output={"message": message})


def _call(id: str) -> JSONObject:
    return {"role": "assistant", "content": None, "tool_calls": [{"id": id, "name": "look", "arguments": {"no": 7}}]}


def test_override_does_not_clear_what_continues_its_request() -> None:
    """Code cut `wns` out of the first answer, and the last request repeats it."""
    question: JSONObject = {"role": "user", "content": "wns"}
    tool = RecordedStep(key="t", type=StepType.TOOL, name="look", tool_name="look", call_id="c1", input={"no": 7})
    steps = (
        _model("first", {"role": "assistant", "content": "two gowns"}, {"role": "user", "content": "Hello."}),
        _model("ask", _call("c1"), question),
        replace(tool, output="It is blue."),
        _model(
            "go on",
            {"role": "assistant", "content": "Done."},
            question,
            _call("c1"),
            {"role": "tool", "tool_call_id": "c1", "content": "It is blue."},
        ),
    )
    run = RecordedRun(external_id="r", name="r", app="a", format="test", steps=steps)
    same_call: JSONObject = {"message": _call("c2")}
    fork = replay({"match": {"step": 1}, "output": "hat"}, {"match": {"step": 2}, "output": same_call}, run=run)
    assert labels(fork.execute())[4] == "simulated assumed_unaffected"


def test_placeholder_for_a_placeholder_changes_nothing() -> None:
    """A replay is replayed in which the first answer was missing for another reason, and a call repeats its text."""
    text = str(placeholder(StepType.TOOL, "the input is redacted"))
    steps = (
        _model("ask", {"role": "assistant", "content": text}, {"role": "user", "content": "Hello."}),
        RecordedStep(key="t", type=StepType.TOOL, name="look", tool_name="look", input={"about": text}, output="no"),
    )
    run = RecordedRun(external_id="r", name="r", app="a", format="test", steps=steps)
    fork = replay({"match": {"step": 1}, "model": {"temperature": 1}}, run=run)
    mark_replay_outputs(fork, {1: ReplayOutput(label=Label.SIMULATED, reason=Reason.POLICY_FALLBACK)})
    events = labels(fork.execute())
    assert events == planned_labels(fork.plan())
    assert events == {1: "simulated simulation_policy_fallback", 2: "exact source_output_reused"}
