"""States of runs of the OpenAI Agents SDK, in the spellings of JavaScript and Python."""

import orjson

from tests.support import importing_fixtures as fixtures
from traces.core.json_access import as_objects
from traces.core.vocabulary import RunStatus, StepStatus, StepType


def test_state_of_a_run_that_waits_for_an_approval() -> None:
    run = fixtures.run("agents_run_state.json")
    first, second = fixtures.steps(run, StepType.MODEL)
    stock, reserve = fixtures.steps(run, StepType.TOOL)
    assert (run.external_id, run.app, run.status) == ("resp_1", "shop", RunStatus.PARTIAL)
    assert (first.tokens_in, first.tokens_out, first.tokens_cached) == (40, 9, 8)
    assert (first.attributes["speaker"], first.attributes["response_id"]) == ("Clerk", "resp_1")
    assert [mark["id"] for mark in as_objects(first.attributes["continuation"])] == ["rs_1", "fc_1"]
    assert (stock.call_id, stock.input, stock.output) == ("c1", {"title": "Dune"}, "3 copies")
    assert (reserve.call_id, reserve.status) == ("c2", StepStatus.PARTIAL)
    assert fixtures.request_contents(second)[-1] == "3 copies"
    assert run.metadata["context"] == {"context": {"user": "ann"}, "approvals": {}}


def test_state_of_python_has_handoffs() -> None:
    call = {"type": "function_call", "call_id": "c1", "name": "transfer_to_buyer", "arguments": "{}"}
    result = {"type": "function_call_output", "call_id": "c1", "output": '{"assistant": "Buyer"}'}
    answer = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Ordered."}]}
    usage = {"requests": 1, "input_tokens": 20, "output_tokens": 4, "input_tokens_details": [{"cached_tokens": 0}]}
    body = {
        "$schemaVersion": "1.4",
        "current_agent": {"name": "Buyer"},
        "original_input": [{"role": "user", "content": "Order Dune."}],
        "model_responses": [
            {"usage": usage, "output": [call], "response_id": "r1"},
            {"usage": usage, "output": [answer], "response_id": "r2"},
        ],
        "generated_items": [
            {"type": "handoff_call_item", "raw_item": call, "agent": {"name": "Clerk"}},
            {"type": "handoff_output_item", "raw_item": result, "agent": {"name": "Clerk"}},
        ],
        "current_step": None,
    }
    (run,), problems = fixtures.detect_and_read("agents-run-state", orjson.dumps(body), "state.json")
    (tool,) = fixtures.steps(run, StepType.TOOL)
    assert (run.status, tool.name, tool.output, problems) == (
        RunStatus.COMPLETED,
        "transfer_to_buyer",
        '{"assistant": "Buyer"}',
        [],
    )
    assert fixtures.steps(run, StepType.MODEL)[0].attributes["speaker"] == "Clerk"
    assert fixtures.answer_contents(run) == [None, "Ordered."]


def test_items_of_odd_types_are_read_past() -> None:
    body = fixtures.source("agents_run_state.json").value
    assert isinstance(body, dict)
    for item in as_objects(body["generatedItems"]):
        item["type"] = [{}]
    (run,), problems = fixtures.detect_and_read("agents-run-state", orjson.dumps(body), "state.json")
    assert ([step.status for step in fixtures.steps(run, StepType.TOOL)], problems) == ([StepStatus.PARTIAL] * 2, [])
