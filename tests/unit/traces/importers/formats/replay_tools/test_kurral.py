"""Kurral files with unusual content: interrupted streams, runs without calls."""

import time
from typing import Any

import orjson
import pytest

from tests.support import importing_fixtures as fixtures
from traces.core.recorded_run import RecordedRun, RecordedStep
from traces.core.vocabulary import Label, StepStatus, StepType
from traces.importers import registry
from traces.importers.files.source import Source


def read(artifact: dict[str, Any]) -> RecordedRun:
    (run,) = registry.get_importer("kurral").runs([Source(name="a.kurral", data=orjson.dumps(artifact))])
    return run


def streaming_call(*events: tuple[str, Any], **more: Any) -> RecordedStep:
    event_list = [{"event_type": kind, "data": data} for kind, data in events]
    call = {"id": "c", "tool_name": "count_books", "arguments": {}, "was_sse": True, "events": event_list, **more}
    (tool,) = fixtures.steps(read({"mcp_session_id": "m", "mcp_tool_calls": [call]}), StepType.TOOL)
    return tool


@pytest.mark.parametrize(
    ("last", "expected"),
    [
        (("complete", {"books": 3}), ({"books": 3}, "", StepStatus.OK)),
        (("message", "three"), ("three", "", StepStatus.OK)),
        (("message", '{"jsonrpc":"2.0","id":1,"result":{"books":3}}'), ({"books": 3}, "", StepStatus.OK)),
        (
            ("message", {"jsonrpc": "2.0", "error": {"code": 1, "message": "locked"}}),
            (None, "locked", StepStatus.ERROR),
        ),
        (("error", {"message": "locked"}), (None, "locked", StepStatus.ERROR)),
        (("error", "locked"), (None, "locked", StepStatus.ERROR)),
        (("error", None), (None, "error", StepStatus.ERROR)),
        (("progress", {"done": 0.5}), ({"done": 0.5}, "", StepStatus.PARTIAL)),
    ],
)
def test_stream_without_result_uses_last_event(last: tuple[str, Any], expected: tuple[Any, ...]) -> None:
    tool = streaming_call(("start", {}), last)
    assert (tool.output, tool.error, tool.status) == expected


def test_result_takes_precedence_over_events() -> None:
    assert streaming_call(("complete", {"books": 3}), result={"books": 4}).output == {"books": 4}
    failed = streaming_call(("complete", {"books": 3}), error={"message": "locked"})
    assert (failed.status, failed.error, failed.output) == (StepStatus.ERROR, "locked", None)


def test_run_without_calls_is_imported() -> None:
    run = read({"kurral_id": "k", "tool_calls": [], "inputs": {}, "outputs": {}})
    assert (run.external_id, [step.type for step in run.steps]) == ("k", [StepType.AGENT])


def test_time_to_read_calls_is_linear() -> None:
    calls = [{"id": "c", "tool_name": "find", "input": {"n": number}} for number in range(4_000)]
    interaction = {"inputs": {"interactions": [{"user_input": "go", "response": "done"}]}}
    start = time.thread_time()
    run = read({"kurral_id": "k", "run_id": "r", "tool_calls": calls, **interaction})
    assert time.thread_time() - start < 3
    assert [step.key for step in fixtures.steps(run, StepType.TOOL)][:3] == ["c", "c#2", "c#3"]


CHANGES = {
    "model_name": {"artifact": "gpt-4", "current": "gpt-4o"},
    "temperature": {"artifact": 0.0, "current": 0.9},
    "seed": {"artifact": 42, "current": None},
    "top_p": {"artifact": None, "current": 0.5},
}


@pytest.mark.parametrize(
    ("replay_type", "model", "parameters", "label"),
    [
        ("A", "gpt-4", {"temperature": 0, "seed": 42, "stop": ["END"]}, Label.CACHED),
        ("B", "gpt-4o", {"temperature": 0.9, "top_p": 0.5, "stop": ["END"]}, Label.LIVE),
    ],
)
def test_only_b_replay_used_current_settings(
    replay_type: str, model: str, parameters: dict[str, Any], label: Label
) -> None:
    config = {"model_name": "gpt-4", "provider": "openai", "parameters": {"temperature": 0.0, "seed": 42}}
    replay = {"original_kurral_id": "o", "replay_type": replay_type, "changes_detected": {"llm_config": CHANGES}}
    run = read(
        {
            "kurral_id": "k",
            "inputs": replay,
            "outputs": {"interactions": [{"input": "Is Dune in stock?", "output": "Yes."}]},
            "llm_config": {**config, "stop_sequences": ["END"]},
            "tool_calls": [],
        }
    )
    (step,) = fixtures.steps(run, StepType.MODEL)
    assert isinstance(step.input, dict)
    assert (step.model, step.input["parameters"], step.label) == (model, parameters, label)


def test_other_counts_of_tokens_are_kept() -> None:
    counts = {"prompt_tokens": 50, "completion_tokens": 9, "cached_tokens": 5, "reasoning_tokens": 4, "audio_tokens": 0}
    run = read({"kurral_id": "k", "inputs": {"input": "Any Dune?"}, "outputs": {"output": "3"}, "token_usage": counts})
    session = run.steps[0]
    assert (session.tokens_in, session.tokens_out, session.tokens_cached) == (50, 9, 5)
    assert session.attributes["usage"]["reasoning_tokens"] == 4  # type: ignore[index, call-overload]
