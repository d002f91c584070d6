"""Results of the Vercel AI SDK's `generateText`."""

from typing import Any

import orjson

from tests.support import importing_fixtures as fixtures
from traces.core.vocabulary import StepType
from traces.payloads.messages import ModelRequest

CALL = {"type": "tool-call", "toolCallId": "c1", "toolName": "find"}
QUESTION = {"role": "user", "content": [{"type": "text", "text": "How many?"}]}


def step(content: list[dict[str, Any]], **facts: Any) -> dict[str, Any]:
    response = {"id": "r1", "timestamp": "2026-03-01T10:00:00.000Z", "modelId": "gpt-5-2026", "messages": []}
    common = {"finishReason": "stop", "usage": {}, "warnings": [], "request": {}, "response": response}
    return {**common, "content": content, **facts}


def test_result_has_prompt_and_calls() -> None:
    body = {"model": "gpt-5", "instructions": "You count.", "temperature": 0.5, "input": [QUESTION]}
    usage = {"inputTokens": 10, "outputTokens": 5, "cachedInputTokens": 2, "reasoningTokens": 1}
    result = {**CALL, "type": "tool-result", "output": {"n": 3}}
    first = step([{**CALL, "input": {"q": "a"}}, result], usage=usage, request={"body": body})
    last = step([{"type": "reasoning", "text": "Sum."}, {"type": "text", "text": "Three."}])
    data = orjson.dumps({"steps": [first, last], "totalUsage": usage, "resolvedOutput": {"n": 3}})
    (run,), problems = fixtures.detect_and_read("generate-text", data)
    (model, answer), (tool,) = fixtures.steps(run, StepType.MODEL), fixtures.steps(run, StepType.TOOL)
    assert (model.model, model.attributes["response_model"], model.provider) == ("gpt-5", "gpt-5-2026", "openai")
    assert (model.tokens_in, model.tokens_out, model.tokens_cached) == (10, 5, 2)
    assert ModelRequest(model.input).parameters == {"temperature": 0.5}
    assert fixtures.request_contents(model) == ["You count.", "How many?"]
    assert (tool.call_id, tool.input, tool.output) == ("c1", {"q": "a"}, '{"n":3}')
    assert fixtures.request_contents(answer)[-1] == '{"n":3}'
    assert (run.name, run.metadata, problems) == ("How many?", {"output": {"n": 3}}, [])


def test_steps_by_line_are_runs_by_call() -> None:
    usage = {"inputTokens": 10, "inputTokenDetails": {"cacheReadTokens": 4}, "outputTokens": 5}
    failure = {**CALL, "type": "tool-error", "error": "no shelf"}
    facts = {"model": {"provider": "openai.responses", "modelId": "gpt-5"}, "request": {"messages": [QUESTION]}}
    steps = [step([{**CALL, "input": {}}, failure], callId=id, stepNumber=0, usage=usage, **facts) for id in ("a", "b")]
    runs, _ = fixtures.detect_and_read("generate-text", b"\n".join(map(orjson.dumps, steps)))
    assert [(run.external_id, run.name) for run in runs] == [("a", "How many?"), ("b", "How many?")]
    assert fixtures.steps(runs[0], StepType.MODEL)[0].tokens_cached == 4
    assert fixtures.steps(runs[0], StepType.TOOL)[0].error == "no shelf"


def test_version_4_has_lists_of_calls() -> None:
    calls, results = [{**CALL, "args": {"q": 1}}], [{**CALL, "args": {"q": 1}, "result": "3"}]
    first = step([], text="Let me look.", toolCalls=calls, toolResults=results, usage={"promptTokens": 9})
    del first["content"]
    (run,), _ = fixtures.detect_and_read("generate-text", orjson.dumps({"text": "Three.", "steps": [first]}))
    (tool,) = fixtures.steps(run, StepType.TOOL)
    assert (tool.call_id, tool.input, tool.output) == ("c1", {"q": 1}, "3")
    assert fixtures.answer_contents(run) == ["Let me look."]
    assert fixtures.steps(run, StepType.MODEL)[0].tokens_in == 9


def test_mastra_has_results_beside_the_content() -> None:
    result = {
        "type": "tool-result",
        "from": "AGENT",
        "payload": {"toolCallId": "c1", "result": "none", "isError": True},
    }
    (run,), _ = fixtures.detect_and_read(
        "generate-text",
        orjson.dumps({"runId": "m1", "steps": [step([{**CALL, "input": {}}], toolResults=[result])]}),
    )
    (tool,) = fixtures.steps(run, StepType.TOOL)
    assert (run.external_id, tool.call_id, tool.output, tool.error) == ("m1", "c1", "none", "none")


def test_result_without_usable_id_spoils_nothing_else() -> None:
    content: list[dict[str, Any]] = [{"type": "text", "text": "Three."}, {"type": "tool-result", "toolCallId": ["c1"]}]
    (run,), _ = fixtures.detect_and_read("generate-text", orjson.dumps({"steps": [step(content)]}))
    assert fixtures.answer_contents(run) == ["Three."]


def test_answer_without_prompt_is_a_call() -> None:
    (run,), _ = fixtures.detect_and_read("generate-text", orjson.dumps([step([{"type": "text", "text": "Three."}])]))
    assert fixtures.answer_contents(run) == ["Three."]
