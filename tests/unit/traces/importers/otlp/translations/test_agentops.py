"""AgentOps: spans of its SDK over OTLP, and traces of its API."""

import json
from typing import Any

import pytest

from tests.support import importing_fixtures as fixtures
from traces.core.vocabulary import StepType
from traces.importers import registry
from traces.importers.files.source import Source

TASK = "Is Dune in stock?"
ARGUMENTS = json.dumps({"title": "Dune"})
FUNCTION = {"name": "find", "description": "Finds a book.", "parameters": json.dumps({"type": "object"})}
TIME = "2026-10-01T10:00:0{}Z"


def runs(document: Any) -> Any:
    data = json.dumps(document).encode()
    return registry.detect(fixtures.sample("spans.json", data)).runs([Source(name="spans.json", data=data)])


def sdk_span(number: int, parent: int, name: str, **attributes: Any) -> dict[str, Any]:
    return {
        "name": name,
        "context": {"trace_id": "0xab", "span_id": f"0x0{number}"},
        "parent_id": f"0x0{parent}" if parent else None,
        "start_time": TIME.format(number),
        "end_time": TIME.format(9),
        "attributes": {key.replace("__", "."): value for key, value in attributes.items()},
    }


def sdk_spans() -> list[dict[str, Any]]:
    kind, both = "agentops.span.kind", json.dumps({"args": [], "kwargs": {"title": "Dune"}})
    call = {"tool.name": "find", "tool.parameters": ARGUMENTS, "tool.call.id": "c1", "tool.call.type": "function"}
    return [
        sdk_span(1, 0, "shop.session", **{kind: "session", "agentops.entity.output": "Yes.", "operation.name": "shop"}),
        sdk_span(
            2,
            1,
            "openai.chat.completion",
            **{
                "gen_ai.prompt.0.role": "user",
                "gen_ai.prompt.0.content": TASK,
                "gen_ai.completion.0.role": "assistant",
            },
            **{f"gen_ai.request.functions.0.{name}": value for name, value in FUNCTION.items()},
            **{"gen_ai.request.model": "gpt-x", "gen_ai.usage.prompt_tokens": 30},
        ),
        sdk_span(3, 2, "tool_call.find", **{kind: "AgentOpsSpanKindValues.TOOL", **call}),
        sdk_span(
            4,
            1,
            "find.tool",
            **{kind: "tool", "operation.name": "find", "agentops.tool.input": both, "agentops.tool.output": "3 copies"},
        ),
    ]


def api_trace() -> dict[str, Any]:
    """The same run as the API returns it, with nested attributes and texts for numbers."""

    def span(number: int, parent: int, name: str, kind: str, attributes: dict[str, Any], **fields: Any) -> Any:
        agentops = {"span": {"kind": kind}, **attributes.pop("agentops", {})}
        return {
            **{"span_id": f"0{number}", "parent_span_id": f"0{parent}" if parent else "", "span_name": name},
            **{"span_kind": "Client", "start_time": TIME.format(number), "end_time": TIME.format(9), "attributes": {}},
            **{"status_code": "OK", "span_attributes": {"agentops": agentops, **attributes}, **fields},
        }

    gen_ai = {
        "prompt": [{"role": "user", "content": TASK}],
        "completion": [{"role": "assistant", "tool_calls": [{"id": "c1", "name": "find", "arguments": ARGUMENTS}]}],
        "request": {"model": "gpt-x", "functions": [FUNCTION]},
        "usage": {"prompt_tokens": "30"},
    }
    tool = {"name": "find", "parameters": ARGUMENTS, "result": "3 copies"}
    spans = [
        span(
            1, 0, "shop.workflow", "workflow", {"agentops": {"entity": {"output": "Yes."}}}, metrics={"total_cost": "1"}
        ),
        span(2, 1, "gpt-x.llm", "llm", {"gen_ai": gen_ai}, metrics={"total_cost": "0.5"}),
        span(3, 1, "find.tool", "tool", {"tool": tool}),
    ]
    return {"trace": {"trace_id": "ab", "root_span_name": "shop.workflow", "tags": ["night"]}, "spans": spans}


@pytest.mark.parametrize("document", [sdk_spans(), api_trace()], ids=["sdk", "api"])
def test_calls_tools_and_answers_of_agentops(document: Any) -> None:
    (run,) = runs(document)
    agent, model, tool, answer = run.steps
    assert [step.type for step in run.steps] == [StepType.AGENT, StepType.MODEL, StepType.TOOL, StepType.OUTPUT]
    assert (model.input["messages"], model.tokens_in) == ([{"role": "user", "content": TASK}], 30)
    assert model.input["tools"] == [{**FUNCTION, "parameters": {"type": "object"}}]
    calls = model.output["message"]["tool_calls"]
    assert calls == [{"id": "c1", "name": "find", "arguments": {"title": "Dune"}}]
    assert (tool.tool_name, tool.call_id, tool.input, tool.output) == ("find", "c1", {"title": "Dune"}, "3 copies")
    assert agent.output == answer.output == {"text": "Yes."}


def test_of_agentops_costs_only_calls_count() -> None:
    (run,) = runs(api_trace())
    assert [step.cost_usd for step in run.steps] == [None, 0.5, None, None]
    assert run.tags == ("night",)
