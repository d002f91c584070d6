import json
from typing import Any

import pytest

from tests.support import importing_fixtures as fixtures
from traces.core.recorded_run import RecordedRun
from traces.core.vocabulary import StepType
from traces.importers import registry
from traces.importers.files.source import Source

MODEL = {
    "entity.1.type": "inference.azure_openai",
    "entity.1.provider_name": "api.openai.com",
    "entity.2.type": "model.llm.gpt-4o",
    "entity.2.name": "gpt-4o",
}
TOOL = {"entity.1.type": "tool.langgraph", "entity.1.name": "find", "entity.1.description": "finds books"}
COUNTS = {"prompt_tokens": 30, "completion_tokens": 5, "total_tokens": 35, "finish_reason": "stop"}
PRINTED = "[{'system': 'You keep a bookshop.'}, {Role(value='user'): 'Is Dune in stock?'}]"
TEXTS = ['{"system": "You keep a bookshop."}', "{'user': 'Is Dune in stock?'}"]


def document(number: int, kind: str, entities: dict[str, str], request: Any, response: Any, **facts: Any) -> Any:
    contents = {"data.input": {"input": request}, "data.output": {"response": response}, "metadata": facts}
    return {
        "name": "invoke",
        "context": {"trace_id": "0xab", "span_id": f"0x0{number}"},
        "parent_id": "0x01" if number > 1 else None,
        "start_time": f"2026-10-01T10:00:0{number}Z",
        "end_time": f"2026-10-01T10:00:0{number + 1}Z",
        "attributes": {
            "monocle_apptrace.version": "0.7.0",
            "span.type": kind,
            "scope.agentic.session": "s-1",
            **entities,
        },
        "events": [{"name": name, "attributes": body} for name, body in contents.items()],
    }


def run_of(*documents: Any) -> RecordedRun:
    data = json.dumps(documents).encode()
    (run,) = registry.detect(fixtures.sample("spans", data)).runs([Source(name="spans", data=data)])
    return run


@pytest.mark.parametrize("request_form", [PRINTED, TEXTS])
def test_calls_have_their_messages_and_counts(request_form: Any) -> None:
    run = run_of(document(1, "inference", MODEL, request_form, '{"assistant": "Yes."}', **COUNTS))
    (step,) = run.steps
    request: Any = step.input
    assert request["messages"] == [{"role": "system", "content": "You keep a bookshop."}, fixtures.REQUEST]
    assert step.output == {"message": {"role": "assistant", "content": "Yes."}, "finish_reason": "stop"}
    assert (step.type, step.model, step.provider) == (StepType.MODEL, "gpt-4o", "openai")
    assert (step.tokens_in, step.tokens_out, "events" in step.attributes) == (30, 5, False)
    assert run.metadata["scope.agentic.session"] == "s-1"


def test_agents_and_tools_have_names_and_results() -> None:
    call = {"tool_id": '["run_1", "call_1"]', "tool_name": "find", "tool_arguments": {"title": "Dune"}}
    agent = {"entity.1.type": "agent.langgraph", "entity.1.name": "Clerk"}
    clerk, model, tool, answer = run_of(
        document(1, "agentic.invocation", agent, ["Is Dune in stock?"], "Yes."),
        document(2, "inference.framework", MODEL, TEXTS, json.dumps({"tools": [call]}), total_tokens=0),
        document(3, "agentic.tool.invocation", TOOL, "{'title': 'Dune'}", "3 copies"),
    ).steps
    output: Any = model.output
    assert output["message"]["tool_calls"] == [{"id": "call_1", "name": "find", "arguments": {"title": "Dune"}}]
    assert (model.tokens_in, tool.type, tool.tool_name, tool.call_id) == (None, StepType.TOOL, "find", "call_1")
    assert (tool.input, tool.output) == ({"title": "Dune"}, "3 copies")
    assert (clerk.name, clerk.input, clerk.output) == ("Clerk", {"task": "Is Dune in stock?"}, {"text": "Yes."})
    assert (answer.type, answer.output) == (StepType.OUTPUT, clerk.output)


def test_other_texts_stay_as_they_are() -> None:
    (step,) = run_of(document(1, "inference", MODEL, "Is Dune in stock?", "Yes.")).steps
    assert (fixtures.request_contents(step), step.output) == (
        ["Is Dune in stock?"],
        {"message": {"role": "assistant", "content": "Yes."}},
    )
