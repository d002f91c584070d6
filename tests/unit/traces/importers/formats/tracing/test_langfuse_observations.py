"""Observations of Langfuse that came from spans of OpenTelemetry."""

from typing import Any, Final

from tests.support import importing_fixtures as fixtures
from traces.core.json_access import as_object
from traces.core.recorded_run import RecordedRun
from traces.core.vocabulary import StepType

TIMES: Final = {"startTime": "2026-03-01T10:00:00Z", "endTime": "2026-03-01T10:00:01Z"}
# Langfuse parses what looks like JSON, also an id.
ID: Final = ["run_1", "call_1"]
CALL: Final = {"type": "tool_call", "id": ID, "name": "find_book", "arguments": {}}
MODEL: Final = {"type": "GENERATION", "model": "gpt-4o", "input": "Dune?"}


def run_of(*observations: dict[str, Any]) -> RecordedRun:
    (run,) = fixtures.read("langfuse", [{"trace": {"id": "spans"}, "observations": [*observations]}])
    return run


def test_attributes_state_tools_reasons_and_calls() -> None:
    attributes = {
        "gen_ai.tool.definitions": '[{"type": "function", "function": {"name": "find_book"}}]',
        "gen_ai.response.finish_reasons": ["tool_calls"],
    }
    tool_attributes = {"gen_ai.tool.name": "find_book", "gen_ai.tool.call.id": ID}
    answer = [{"role": "assistant", "parts": [CALL]}]
    run = run_of(
        {"id": "m", **TIMES, **MODEL, "output": answer, "metadata": {"attributes": attributes}},
        {"id": "t", **TIMES, "type": "SPAN", "name": "tool.find_book", "metadata": {"attributes": tool_attributes}},
    )
    model, tool = run.steps[1:]
    id = '["run_1","call_1"]'
    calls = [{"id": id, "name": "find_book", "arguments": {}}]
    assert as_object(model.input)["tools"] == [{"name": "find_book"}]
    assert model.output == {
        "message": {"role": "assistant", "content": None, "tool_calls": calls},
        "finish_reason": "tool_calls",
    }
    assert (tool.type, tool.tool_name, tool.call_id) == (StepType.TOOL, "find_book", id)


def test_calls_inside_the_content_are_those_of_an_answer() -> None:
    call = {"id": "call_1", "type": "function", "function": {"name": "find_book", "arguments": {"title": "Dune"}}}
    result = {"role": "tool", "content": "3 copies"}
    request = [{"role": "tool", "content": [call]}, result]
    model = run_of({"id": "m", **TIMES, **MODEL, "input": request, "output": "Yes"}).steps[1]
    calls = [{"id": "call_1", "name": "find_book", "arguments": {"title": "Dune"}}]
    answer = {"role": "assistant", "content": None, "tool_calls": calls}
    assert [*as_object(model.input)["messages"]] == [answer, result]


def test_download_that_lists_observations_twice_keeps_their_payloads() -> None:
    listed = {"id": "m", **TIMES, "type": "GENERATION", "model": "gpt-4o", "input": None, "output": None}
    tool = '{"description": "Finds", "parameters": "{\\"type\\": \\"object\\"}"}'
    whole = {**listed, "input": "Dune?", "output": "Yes", "toolDefinitions": {"find_book": tool}}
    export = {"trace": {"id": "t", "observations": [listed]}, "observations": [whole]}
    (run,) = fixtures.read("langfuse", [export])
    (model,) = fixtures.steps(run, StepType.MODEL)
    assert as_object(model.input) == {
        "messages": [{"role": "user", "content": "Dune?"}],
        "tools": [{"name": "find_book", "description": "Finds", "parameters": {"type": "object"}}],
    }
    assert model.output == {"message": {"role": "assistant", "content": "Yes"}}
