import json
from typing import Any

from tests.support import importing_fixtures as fixtures
from traces.core.recorded_run import RecordedStep
from traces.core.vocabulary import StepType


def step_of(**attributes: Any) -> RecordedStep:
    span = {
        "name": "spring",
        "context": {"trace_id": "ab", "span_id": "01"},
        "start_time": "2026-10-01T10:00:00Z",
        "attributes": {name.replace("__", "."): value for name, value in attributes.items()},
    }
    ((run,), _) = fixtures.detect_and_read("otlp", fixtures.json_lines([span]))
    return run.steps[0]


def test_tool_has_its_call_and_result() -> None:
    names = {"definition.name": "find_book", "definition.schema": '{"type": "object", "properties": {"title": {}}}'}
    call = {"call.id": "c1", "call.arguments": '{"title": "Dune"}', "call.result": '"B-7"'}
    fields = {f"spring.ai.tool.{name}": value for name, value in {**names, **call}.items()}
    step = step_of(spring__ai__kind="tool_call", gen_ai__operation__name="framework", **fields)
    assert (step.type, step.tool_name, step.call_id) == (StepType.TOOL, "find_book", "c1")
    assert (step.input, step.output) == ({"title": "Dune"}, "B-7")


def test_search_has_its_query_and_documents() -> None:
    names = {"content": "Dune", "top_k": "4", "response.documents": json.dumps(["3 copies"])}
    step = step_of(spring__ai__kind="vector_store", **{f"db.vector.query.{name}": names[name] for name in names})
    assert (step.type, step.input) == (StepType.RETRIEVAL, {"query": "Dune", "top_k": 4})
    assert step.output == {"documents": [{"id": "1", "content": "3 copies"}]}


def test_reasons_may_be_a_text() -> None:
    reasons = {"gen_ai.response.finish_reasons": '["LENGTH"]', "gen_ai.completion": '["B-7"]'}
    step = step_of(gen_ai__operation__name="chat", gen_ai__request__model="m", **reasons)
    assert step.output == {"message": {"role": "assistant", "content": "B-7"}, "finish_reason": "LENGTH"}
