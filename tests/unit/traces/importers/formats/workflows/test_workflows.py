"""Runs of workflows drawn on Dify, n8n and Flowise."""

from decimal import Decimal
from typing import Any

import orjson
import pytest

from tests.support import importing_fixtures as fixtures
from traces.core.recorded_run import RecordedRun
from traces.core.vocabulary import JudgementKind, RunStatus, StepStatus, StepType
from traces.importers import registry
from traces.importers.files.errors import BadFile
from traces.importers.files.source import Source

ASK = "Is Dune in stock?"
START = 1_767_225_600


def import_values(*values: Any) -> list[RecordedRun]:
    data = b"\n".join(map(orjson.dumps, values))
    source = Source(name="export", data=data)
    runs = list(registry.detect(fixtures.sample("export", data)).runs([source]))
    assert not source.problems
    return runs


def node(number: int, kind: str, **members: Any) -> dict[str, Any]:
    return {
        "id": f"e{number}",
        "node_id": f"n{number}",
        "node_type": kind,
        "title": kind,
        "index": number,
        "status": "succeeded",
        "created_at": START + number,
        "elapsed_time": 0.25,
        **members,
    }


def dify_nodes() -> list[dict[str, Any]]:
    prompts = [{"role": "user", "text": ASK, "files": []}]
    usage = {"prompt_tokens": 20, "completion_tokens": 7, "total_price": "0.002", "currency": "USD"}
    return [
        node(3, "tool", predecessor_node_id="n2", status="failed", error="no shop", iteration_id="n2"),
        node(
            1,
            "llm",
            process_data={"prompts": prompts, "model_name": "gpt-4o", "model_provider": "langgenius/openai/openai"},
            outputs={"text": "Yes", "usage": usage, "finish_reason": "stop"},
        ),
        node(2, "iteration", predecessor_node_id="n1", inputs={"shelves": [7]}),
    ]


@pytest.mark.parametrize("has_events", [False, True])
def test_dify_nodes_become_steps(has_events: bool) -> None:
    nodes = dify_nodes()
    events = [{"event": "node_finished", "task_id": "t", "workflow_run_id": "w1", "data": item} for item in nodes]
    finish = {"status": "failed", "error": "no shop", "inputs": {"query": ASK}, "created_at": START}
    end = {"event": "workflow_finished", "task_id": "t", "workflow_run_id": "w1", "data": finish}
    (run,) = import_values(*events, end) if has_events else import_values({"data": nodes})
    model, loop, tool = run.steps[-3:]
    assert (model.type, model.model, model.provider, model.tokens_in) == (StepType.MODEL, "gpt-4o", "openai", 20)
    assert (model.cost_usd, model.output) == (
        Decimal("0.002"),
        {"message": {"role": "assistant", "content": "Yes"}, "finish_reason": "stop"},
    )
    assert model.input == {"messages": [{"role": "user", "content": ASK}]}
    assert (loop.links, tool.parent, tool.status, tool.error) == (("e1",), "e2", StepStatus.ERROR, "no shop")
    assert (run.status, run.external_id == "w1") == (
        (RunStatus.FAILED, True) if has_events else (RunStatus.COMPLETED, False)
    )


def test_dify_cost_in_other_currency_stays_attribute() -> None:
    nodes = dify_nodes()
    nodes[1]["outputs"]["usage"]["currency"] = "RMB"
    (run,) = import_values({"data": nodes})
    (model,) = fixtures.steps(run, StepType.MODEL)
    assert model.cost_usd is None
    assert "RMB" in str(model.attributes)


def test_dify_messages_form_conversations() -> None:
    thought = {"id": "t1", "thought": "I look", "tool": "stock", "tool_input": '{"stock": {"title": "Dune"}}'}
    message = {
        "id": "m1",
        "conversation_id": "c1",
        "query": ASK,
        "answer": "Yes, 3.",
        "created_at": START,
        "feedback": {"rating": "dislike"},
        "agent_thoughts": [{**thought, "observation": '{"stock": "3 copies"}', "created_at": START + 1}],
        "metadata": {"usage": {"prompt_tokens": 9, "completion_tokens": 2, "latency": 3.5}},
    }
    (run,) = import_values({"limit": 20, "data": [message]})
    call, answer = fixtures.steps(run, StepType.MODEL)
    (tool,) = fixtures.steps(run, StepType.TOOL)
    assert (tool.tool_name, tool.input, tool.output) == ("stock", {"title": "Dune"}, "3 copies")
    assert (call.tokens_in, answer.tokens_in, answer.tokens_out) == (None, 9, 2)
    assert [(mark.name, mark.kind, mark.step) for mark in run.judgements] == [
        ("feedback", JudgementKind.FAIL, answer.key)
    ]


def n8n_execution() -> dict[str, Any]:
    def run(start: int, **members: Any) -> list[dict[str, Any]]:
        return [{"startTime": (START + start) * 1000, "executionTime": 500, "executionStatus": "success", **members}]

    secret = {"lc": 1, "type": "secret", "id": ["OPENAI_API_KEY"]}
    request = {"json": {"messages": [f"System: sell\nHuman: {ASK}"], "options": {"model": "gpt-4o", "api_key": secret}}}
    generation = {"text": "", "generationInfo": {"finish_reason": "tool_calls"}}
    answer = {"response": {"generations": [[generation]]}, "tokenUsage": {"promptTokens": 80, "completionTokens": 15}}
    target = [{"previousNode": "Agent"}]
    return {
        "id": 7,
        "status": "error",
        "data": {
            "resultData": {
                "error": {"message": "no shop"},
                "runData": {
                    "Chat": run(0, source=[], data={"main": [[{"json": {"chatInput": ASK}}]]}),
                    "Model": run(
                        2,
                        source=target,
                        inputOverride={"ai_languageModel": [[request]]},
                        data={"ai_languageModel": [[{"json": answer}]]},
                    ),
                    "Stock": run(
                        3,
                        source=[None],
                        error={"message": "no shop"},
                        inputOverride={"ai_tool": [[{"json": {"query": {"title": "Dune"}}}]]},
                    ),
                    "Agent": run(
                        1, source=[{"previousNode": "Chat"}], data={"main": [[{"json": {"output": "Sorry"}}]]}
                    ),
                },
            }
        },
        "workflowData": {
            "name": "Shop",
            "nodes": [{"name": "Agent", "type": "@n8n/n8n-nodes-langchain.agent", "parameters": {"text": "x"}}],
            "connections": {"Stock": {"ai_tool": [[{"node": "Agent", "type": "ai_tool"}]]}},
        },
    }


def test_n8n_nodes_are_below_agent() -> None:
    (run,) = import_values(n8n_execution())
    root, _, agent, model, tool = run.steps
    assert (run.external_id, run.name, run.app, run.status) == ("7", ASK, "Shop", RunStatus.FAILED)
    assert (root.error, agent.output, agent.links) == ("no shop", {"text": "Sorry"}, ("Chat#0",))
    assert (model.parent, model.model, model.tokens_in, model.tokens_out) == (agent.key, "gpt-4o", 80, 15)
    assert model.input == {
        "messages": [{"role": "system", "content": "sell"}, {"role": "user", "content": ASK}],
    }
    assert model.output == {"message": {"role": "assistant", "content": None}, "finish_reason": "tool_calls"}
    assert (tool.type, tool.parent, tool.input, tool.error) == (StepType.TOOL, agent.key, {"title": "Dune"}, "no shop")


def test_flowise_agents_contain_their_tools() -> None:
    call = {"tool": "stock", "toolInput": {"title": "Dune"}, "toolOutput": "3 copies"}
    clock = {"start": START * 1000, "end": START * 1000 + 1500}
    usage = {"input_tokens": 40, "output_tokens": 9}

    def flow_node(name: str, *earlier: str, **data: Any) -> dict[str, Any]:
        return {
            "nodeId": f"{name}_0",
            "nodeLabel": name,
            "data": {"name": name, **data},
            "previousNodeIds": list(earlier),
            "status": "FINISHED",
        }

    output = {"content": "Yes", "timeMetadata": clock, "usageMetadata": usage}
    (run,) = import_values(
        {
            "executionId": "x1",
            "question": ASK,
            "text": "Yes",
            "agentFlowExecutedData": [
                flow_node("startAgentflow", output={"question": ASK}),
                flow_node("agentAgentflow", "startAgentflow_0", output={**output, "usedTools": [call]}),
                flow_node("llmAgentflow", input={"messages": [{"role": "user", "content": ASK}]}, output=output),
            ],
        }
    )
    _, start, agent, tool, model = run.steps
    assert (run.external_id, run.name, agent.links, agent.attributes["usage"]) == ("x1", ASK, (start.key,), usage)
    assert (tool.parent, tool.tool_name, tool.input, tool.output) == (agent.key, "stock", {"title": "Dune"}, "3 copies")
    assert (model.tokens_in, model.tokens_out, model.input) == (
        40,
        9,
        {"messages": [{"role": "user", "content": ASK}]},
    )


def test_executions_without_data_are_refused() -> None:
    with pytest.raises(BadFile, match="no known format has an object with the keys"):
        registry.detect(fixtures.sample("export", orjson.dumps({"id": 7, "status": "error", "workflowId": "w"})))


def test_messages_of_langflow_have_the_calls_of_their_agents() -> None:
    call = {"type": "tool_use", "name": "find", "tool_input": {"title": "Dune"}, "output": "3", "duration": 12}
    failed_call: Any = {"type": "tool_use", "name": "order", "input": {}, "output": None, "error": "no stock"}
    note = {"type": "text", "text": "3 copies", "header": {"title": "Output"}}
    ids = {"session_id": "s1", "flow_id": "f1"}
    answer = {
        **ids,
        "sender": "Machine",
        "text": "3 copies",
        "timestamp": "2026-02-01 10:00:05.123456 UTC",
        "properties": {"source": {"source": "gpt-4o"}, "usage": {"input_tokens": 20, "output_tokens": 4}},
        "content_blocks": [{"title": "Agent Steps", "contents": [call, failed_call, note]}],
    }
    request = {**ids, "sender": "User", "text": "Is Dune in stock?", "timestamp": "2026-02-01 10:00:00 UTC"}
    output = {"inputs": {"input_value": request["text"]}, "outputs": [{"results": {"message": {"data": answer}}}]}
    for value in ([request, answer], {"session_id": "s1", "outputs": [output]}):
        ((run,), problems) = fixtures.detect_and_read("langflow", orjson.dumps(value))
        assert (run.external_id, run.name, problems) == ("s1", "Is Dune in stock?", [])
        tool, failed_tool = fixtures.steps(run, StepType.TOOL)
        assert (tool.input, tool.output, tool.attributes["duration"]) == ({"title": "Dune"}, "3", 12)
        assert (failed_tool.tool_name, failed_tool.error) == ("order", "no stock")
        model = fixtures.steps(run, StepType.MODEL)[-1]
        assert (model.model, model.tokens_in, str(model.ended_at)[17:19]) == ("gpt-4o", 20, "05")
        assert model.attributes["contents"] == [note]
