"""Streams of the Vercel AI SDK."""

from typing import Any

import orjson

from tests.support import importing_fixtures as fixtures
from traces.core.vocabulary import RunStatus, StepStatus, StepType

FORMAT = "ui-stream"
CALL = {"toolCallId": "c1", "toolName": "find"}


def events(*parts: dict[str, Any]) -> bytes:
    return b"".join(b"data: %b\n\n" % orjson.dumps(part) for part in parts)


def test_parts_of_later_versions_are_steps() -> None:
    data = events(
        {"type": "start", "messageId": "m1"},
        {"type": "start-step"},
        {"type": "reasoning-delta", "id": "r", "delta": "I look."},
        {"type": "text-start", "id": "t"},
        {"type": "text-delta", "id": "t", "delta": "One "},
        {"type": "text-delta", "id": "t", "delta": "moment."},
        {"type": "tool-input-delta", "toolCallId": "c1", "inputTextDelta": "{"},
        {"type": "tool-input-available", **CALL, "input": {"title": "Dune"}},
        {"type": "tool-output-error", "toolCallId": "c1", "errorText": "no stock"},
        {"type": "finish-step"},
        {"type": "start-step"},
        {"type": "data-note", "data": {"shelf": 3}},
        {"type": "text-delta", "id": "u", "delta": "None."},
        {"type": "finish", "finishReason": "stop"},
    )
    ((run,), problems) = fixtures.detect_and_read(FORMAT, data + b"data: [DONE]\n\n", "stream.txt")
    (call,) = fixtures.steps(run, StepType.TOOL)
    thought, text = {"type": "thinking", "thinking": "I look."}, {"type": "text", "text": "One moment."}
    assert (run.external_id, run.status, problems) == ("m1", RunStatus.COMPLETED, [])
    assert fixtures.answer_contents(run) == [[thought, text], "None."]
    assert (call.name, call.input, call.error, call.status) == (
        "find",
        {"title": "Dune"},
        "no stock",
        StepStatus.ERROR,
    )
    assert run.metadata["parts"] == [{"type": "data-note", "data": {"shelf": 3}}]
    ((failed,), _) = fixtures.detect_and_read(FORMAT, data + events({"type": "error", "errorText": "quota"}))
    assert (failed.status, failed.metadata["error"]) == (RunStatus.FAILED, "quota")
    ((cut_off,), problems) = fixtures.detect_and_read(FORMAT, data[: data.index(b"None.")])
    assert (cut_off.status, len(problems)) == (RunStatus.PARTIAL, 1)


def test_codes_of_version_4_have_usage_per_step() -> None:
    usages = [{"promptTokens": 10, "completionTokens": 5}, {"promptTokens": 20, "completionTokens": 3}]
    lines = [
        ("f", {"messageId": "m4"}),
        ("0", "One "),
        ("0", "moment."),
        ("9", {**CALL, "args": {"title": "Dune"}}),
        ("a", {"toolCallId": "c1", "result": {"copies": 3}}),
        ("e", {"finishReason": "tool-calls", "usage": usages[0], "isContinued": False}),
        ("f", {"messageId": "m4"}),
        ("0", "Three."),
        ("e", {"finishReason": "stop", "usage": usages[1]}),
        ("d", {"finishReason": "stop", "usage": {"promptTokens": 30, "completionTokens": 8}}),
    ]
    data = b"".join(b"%b:%b\n" % (code.encode(), orjson.dumps(value)) for code, value in lines)
    ((run,), problems) = fixtures.detect_and_read(FORMAT, data, "stream.txt")
    models = fixtures.steps(run, StepType.MODEL)
    (call,) = fixtures.steps(run, StepType.TOOL)
    assert (run.external_id, problems) == ("m4", [])
    assert fixtures.answer_contents(run) == ["One moment.", "Three."]
    assert [(step.tokens_in, step.tokens_out) for step in models] == [(10, 5), (20, 3)]
    assert (call.input, call.output) == ({"title": "Dune"}, '{"copies":3}')


def test_restarted_step_and_steering_message() -> None:
    data = events(
        {"type": "start", "messageId": "m1"},
        {"type": "text-delta", "id": "t", "delta": "Half"},
        {"type": "reset-step"},
        {"type": "text-delta", "id": "t", "delta": "One moment."},
        {"type": "start-step"},
        {"type": "steering-message", "id": "s1", "parts": [{"type": "text", "text": "Be brief."}]},
        {"type": "text-delta", "id": "t", "delta": "No."},
        {"type": "finish", "finishReason": "stop"},
    )
    ((run,), problems) = fixtures.detect_and_read(FORMAT, data)
    assert (fixtures.answer_contents(run), problems) == (["One moment.", "No."], [])
    assert [step.name for step in fixtures.steps(run, StepType.TURN)] == ["Be brief."]
    assert "Half" in str(run.metadata["parts"])
