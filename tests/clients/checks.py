"""What every recording of a sample agent must show."""

from collections import Counter
from typing import Any

from tests.clients.model_server import ANSWER, CALLS, ModelServer
from tests.clients.recording import Recording
from tests.support.command_line import WarmShell
from traces.core.json_access import as_list, as_object
from traces.core.vocabulary import RunStatus, StepStatus, StepType

OUTPUTS = {"get_weather": "21 degrees in {}", "get_time": "noon in {}"}


REASONS = ("tool_calls", "tool_calls", "stop")


def check_model_calls(recording: Recording, server: ModelServer, *, reasons: tuple[str, ...] = REASONS) -> None:
    """Check that each request was recorded once, exactly as it was sent, and each answer as it came."""
    sent = [body for _, body in server.requests]
    assert len(sent) == 3
    assert recording.requests() == sent
    models = recording.steps(StepType.MODEL)
    assert [step.status for step in models] == [StepStatus.OK] * 3
    assert [(step.tokens_in, step.tokens_out, step.tokens_cached) for step in models] == [(30, 9, 4)] * 3
    messages = [as_object(as_object(step.output)["message"]) for step in models]
    assert [_calls(message) for message in messages[:2]] == [list(calls) for calls in CALLS]
    assert messages[2]["content"] == ANSWER
    assert [as_object(step.output)["finish_reason"] for step in models] == list(reasons)


def _calls(message: Any) -> list[tuple[str, str]]:
    calls = [as_object(call) for call in as_list(message.get("tool_calls"))]
    return [(str(call["name"]), str(as_object(call["arguments"])["city"])) for call in calls]


def check_tools(recording: Recording, *, with_ids: bool = True) -> None:
    """Check that each tool call was recorded once, with its arguments, result and the id of its request."""
    # DSPy ends an agent by a tool of its own. Semantic Kernel puts the name of a plugin before that of a tool.
    tools = [step for step in recording.steps(StepType.TOOL) if step.tool_name != "finish"]
    calls = Counter(call for turn in CALLS for call in turn)
    results = [(step.tool_name.rpartition("-")[2], as_object(step.input)["city"], step.output) for step in tools]
    assert Counter((name, city) for name, city, _ in results) == calls
    assert all(output == OUTPUTS[name].format(city) for name, city, output in results)
    if with_ids:
        assert sorted(step.call_id for step in tools) == ["call_00", "call_01", "call_10"]


def check_error(recording: Recording, server: ModelServer, *, run_fails: bool = False) -> None:
    """Check that a failed call was recorded with its request and error."""
    assert recording.requests() == [body for _, body in server.requests]
    models = recording.steps(StepType.MODEL)
    assert models
    assert all(step.status is StepStatus.ERROR and "this fails" in step.error for step in models)
    if run_fails:
        assert recording.run.status is RunStatus.FAILED


def check_replay(recording: Recording, forkpoint: WarmShell) -> None:
    """Check that a replay without changes is exact in every step."""
    imported = forkpoint("import", recording.folder, "--json")
    assert imported.code == 0, imported.err
    [run] = imported.json["runs"]
    replay = forkpoint("replay", run["id"], "--strict", "--json")
    assert replay.code == 0, replay.err + replay.out
    assert {step["label"] for step in replay.json["steps"]} == {"exact"}
