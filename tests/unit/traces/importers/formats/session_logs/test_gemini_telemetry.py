"""Telemetry of Gemini CLI as log records."""

from datetime import UTC, datetime
from typing import Any

import orjson

from tests.support import importing_fixtures as fixtures
from traces.core.vocabulary import StepStatus, StepType
from traces.payloads.messages import ModelAnswer

MODEL = "gemini-2.5-pro"


def record(name: str, second: int, **attributes: Any) -> bytes:
    time = f"2026-03-01T10:00:{second:02}.000Z"
    names = {"session.id": "s1", "event.name": f"gemini_cli.{name}", "event.timestamp": time}
    body = {"hrTime": [1, 0], "_body": name, "attributes": {**names, **attributes}}
    return orjson.dumps(body, option=orjson.OPT_INDENT_2) + b"\n"


def as_json(value: Any) -> str:
    return orjson.dumps(value).decode()


def content(role: str, *parts: dict[str, Any]) -> dict[str, Any]:
    return {"role": role, "parts": [*parts]}


def response(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"candidates": [{"content": content("model", *parts)}]}


def read(*records: bytes) -> Any:
    ((run,), problems) = fixtures.detect_and_read("gemini-telemetry", b"".join(records), "telemetry.log")
    return run, problems


def test_responses_have_requests_calls_and_outputs() -> None:
    call = {"functionCall": {"name": "read_file", "args": {"path": "stock"}}}
    question = content("user", {"text": "How many copies?"})
    output = content("user", {"functionResponse": {"name": "read_file", "response": {"output": "Dune 3"}}})
    pieces = as_json([response({"text": "I look.", "thought": True}), response(call)])
    counts = {"input_token_count": 100, "output_token_count": 20, "cached_content_token_count": 40}
    run, problems = read(
        record("config", 0, model=MODEL, sandbox_enabled=False),
        record("user_prompt", 1, prompt="How many copies?", prompt_id="p1"),
        record("api_request", 2, model=MODEL, request_text=as_json([question])),
        record("api_response", 4, model=MODEL, duration_ms=1_500, response_text=pieces, **counts),
        record("tool_call", 5, function_name="read_file", duration_ms=12, success=True, decision="auto_accept"),
        record("api_request", 6, model=MODEL, request_text=as_json([question, content("model", call), output])),
        record("api_error", 7, model=MODEL, error_message="quota", status_code=429),
        record("api_response", 9, model=MODEL, response_text=as_json(response({"text": "Three."}))),
    )
    first, failed, last = fixtures.steps(run, StepType.MODEL)
    (tool,) = fixtures.steps(run, StepType.TOOL)
    assert (run.external_id, run.name, problems) == ("s1", "How many copies?", [])
    assert fixtures.request_contents(first) == ["How many copies?"]
    assert (first.tokens_in, first.tokens_out, first.tokens_cached) == (100, 20, 40)
    assert first.started_at == datetime(2026, 3, 1, 10, 0, 2, 500_000, UTC)
    assert ModelAnswer(first.output).calls[0]["arguments"] == {"path": "stock"}
    assert (tool.input, tool.output, tool.attributes["duration_ms"]) == ({"path": "stock"}, '{"output":"Dune 3"}', 12)
    assert (failed.error, failed.output, failed.attributes["status_code"]) == ("quota", None, 429)
    assert ModelAnswer(last.output).message == {"role": "assistant", "content": "Three."}
    assert run.metadata["events"][0]["sandbox_enabled"] is False


def test_calls_without_logged_prompts_are_steps_of_their_answer() -> None:
    arguments = as_json({"path": "stock"})
    run, problems = read(
        record("api_response", 1, model=MODEL, input_token_count=9),
        record("tool_call", 2, function_name="read_file", function_args=arguments, success=False, error="no file"),
        record("tool_call", 3, function_name="shell", function_args="{}", success=False, decision="reject"),
        b'{\n"attributes": {"event.na',
    )
    (model,) = fixtures.steps(run, StepType.MODEL)
    failed, denied = fixtures.steps(run, StepType.TOOL)
    assert (model.tokens_in, failed.input, failed.error) == (9, {"path": "stock"}, "no file")
    assert (failed.links, denied.status) == ((model.key,), StepStatus.DENIED)
    assert len(problems) == 1
