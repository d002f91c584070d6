"""Agents of the OpenInference tracer for the Claude Agent SDK, which writes no spans of model calls."""

from decimal import Decimal
from typing import Any

from tests.support.importing_fixtures import trace_run
from tests.unit.traces.importers.otlp.test_batches import protobuf, span
from traces.core.recorded_run import RecordedRun
from traces.importers.unions import unite

ANSWERS = "llm.output_messages."
CALL = f"{ANSWERS}1.message.tool_calls.0.tool_call."
AGENT = {
    "openinference.span.kind": "AGENT",
    "llm.system": "anthropic",
    "llm.model_name": "claude-sonnet-5",
    "input.value": "Which invoices are open?",
    "output.value": "B-7 is open.",
    "llm.token_count.prompt": "12",
    "llm.token_count.completion": "80",
    "llm.token_count.prompt_details.cache_read": "900",
    "llm.token_count.prompt_details.cache_write": "30",
    "llm.cost.total": "0.0125",
    f"{ANSWERS}0.message.role": "assistant",
    f"{ANSWERS}0.message.content.0": "I list them.",
    f"{ANSWERS}1.message.role": "assistant",
    f"{CALL}id": "c1",
    f"{CALL}function.name": "Bash",
    f"{CALL}function.arguments": '{"command": "ls"}',
    f"{ANSWERS}2.message.role": "assistant",
    f"{ANSWERS}2.message.content.0": "B-7 is open.",
}
TOOL = {"openinference.span.kind": "TOOL", "tool.name": "Bash", "tool.id": "c1", "output.value": "B-7"}
MODEL = {"openinference.span.kind": "LLM", "llm.token_count.prompt": "5", "output.value": "B-7 is open."}
TASK = {"role": "user", "content": "Which invoices are open?"}
FIRST = {
    "role": "assistant",
    "content": "I list them.",
    "tool_calls": [{"id": "c1", "name": "Bash", "arguments": {"command": "ls"}}],
}


def agent(**changes: str) -> Any:
    return span(1, attributes={**AGENT, **changes})


def tool(call: str = "c1") -> Any:
    return span(2, parent=1, attributes={**TOOL, "tool.id": call})


def model() -> Any:
    return span(3, parent=1, attributes={**MODEL})


def kinds(run: RecordedRun) -> list[str]:
    return [step.type.value for step in run.steps]


def test_answers_of_agent_are_model_calls_around_its_tools() -> None:
    run = trace_run(protobuf(agent(), tool()))
    root, first, call, last = run.steps
    assert kinds(run) == ["agent", "model", "tool", "model"]
    assert (root.tokens_in, root.tokens_out, root.tokens_cached, root.cost_usd) == (942, 80, 900, Decimal("0.0125"))
    assert {(step.parent, step.model, step.provider) for step in (first, last)} == {
        (root.key, "claude-sonnet-5", "anthropic")
    }
    assert (first.input, first.output) == ({"messages": [TASK]}, {"message": FIRST})
    result = {"role": "tool", "content": "B-7", "tool_call_id": call.call_id}
    assert last.input == {"messages": [TASK, FIRST, result]}
    assert last.output == {"message": {"role": "assistant", "content": "B-7 is open."}}


def test_agent_with_some_of_its_answers_has_no_model_calls() -> None:
    assert kinds(trace_run(protobuf(agent(), tool("c2")))) == ["agent", "tool"]


def test_agent_inside_another_is_counted_with_it() -> None:
    inner = span(3, parent=2, attributes={"openinference.span.kind": "AGENT", "llm.token_count.prompt": "7"})
    run = trace_run(protobuf(agent(), tool(), inner))
    assert sum(step.tokens_in or 0 for step in run.steps) == 942


def test_spans_of_model_calls_count_instead_of_agent() -> None:
    whole = trace_run(protobuf(agent(), tool(), model()))
    assert sorted(kinds(whole)) == ["agent", "model", "tool"]
    assert [step.tokens_in for step in whole.steps if step.tokens_in] == [5]
    for parts in ((protobuf(agent(), tool()), protobuf(model())), (protobuf(tool(), model()), protobuf(agent()))):
        united = unite(*map(trace_run, parts))
        assert united is not None
        assert sorted(map(str, united.steps)) == sorted(map(str, whole.steps))


def test_parts_of_agent_are_united_with_its_answers() -> None:
    united = unite(trace_run(protobuf(tool())), trace_run(protobuf(agent())))
    assert united is not None
    assert kinds(united) == ["agent", "model", "tool", "model"]
    assert united.steps[1].output == {"message": FIRST}
