import json
from typing import Any

import pytest

from tests.support import importing_fixtures as fixtures
from traces.core.recorded_run import RecordedRun
from traces.core.vocabulary import StepType
from traces.importers import registry
from traces.importers.files.source import Source

META = {
    "model": "gpt-4o-mini",
    "finish_reason": "tool_calls",
    "usage": {"prompt_tokens": 30, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 8}},
}
CALL = {"id": "c1", "tool_name": "find", "arguments": {"title": "Dune"}, "extra": None}
THOUGHT = {"reasoning": {"reasoning_text": "I look.", "extra": {"signature": "s"}}}
REPLY = {"role": "assistant", "meta": META, "name": None, "content": [THOUGHT, {"tool_call": CALL}]}
QUESTION: Any = {"role": "user", "meta": {}, "name": None, "content": [{"text": "Is Dune in stock?"}]}
TOOL = {"name": "find", "description": "finds books", "parameters": {"type": "object"}}
SET = {"type": "haystack.tools.toolset.Toolset", "data": {"tools": [{"type": "Tool", "data": TOOL}]}}
REQUEST = {"messages": [QUESTION], "tools": SET, "generation_kwargs": {"temperature": 0, "seed": None}, "files": ["a"]}
COMPONENT = "haystack.component"


def document(number: int, name: str, attributes: Any) -> Any:
    texts = {key: json.dumps(value) if isinstance(value, dict) else value for key, value in attributes.items()}
    return {
        "name": name,
        "context": {"trace_id": "0xab", "span_id": f"0x0{number}"},
        "parent_id": "0x01" if number > 1 else None,
        "start_time": f"2026-10-01T10:00:0{number}Z",
        "end_time": f"2026-10-01T10:00:0{number + 1}Z",
        "attributes": texts,
    }


def component(number: int, type: str, name: str, request: Any, answer: Any) -> Any:
    names = {f"{COMPONENT}.type": type, f"{COMPONENT}.name": name}
    contents = {f"{COMPONENT}.input": request, f"{COMPONENT}.output": answer}
    return document(number, f"{COMPONENT}.run", names | contents)


def run_of(*documents: Any) -> RecordedRun:
    data = json.dumps(documents).encode()
    (run,) = registry.detect(fixtures.sample("spans", data)).runs([Source(name="spans", data=data)])
    return run


def old_names(message: Any) -> Any:
    return {f"_{name}": value for name, value in message.items()}


@pytest.mark.parametrize("form", ["component", "agent", "underscores"])
def test_model_calls_have_messages_tools_and_counts(form: str) -> None:
    if form == "agent":
        contents = {"haystack.agent.step.llm.input": REQUEST, "haystack.agent.step.llm.output": {"replies": [REPLY]}}
        span = document(1, "haystack.agent.step.llm", contents)
    elif form == "component":
        span = component(1, "OpenAIChatGenerator", "llm", REQUEST, {"replies": [REPLY]})
    else:
        request = {**REQUEST, "messages": [old_names(QUESTION)]}
        span = component(1, "OpenAIChatGenerator", "llm", request, {"replies": [old_names(REPLY)]})
    (step,) = run_of(span).steps
    request_messages = [{"role": "user", "content": "Is Dune in stock?"}]
    assert step.input == {"messages": request_messages, "tools": [TOOL], "parameters": {"temperature": 0}}
    answer: Any = step.output
    call = {"id": "c1", "name": "find", "arguments": {"title": "Dune"}}
    assert (answer["message"]["tool_calls"], answer["finish_reason"]) == ([call], "tool_calls")
    assert answer["message"]["content"][0]["thinking"] == "I look."
    assert (step.model, step.tokens_in, step.tokens_out, step.tokens_cached) == ("gpt-4o-mini", 30, 5, 8)
    name = "haystack.agent.step.llm" if form == "agent" else "llm"
    assert (step.name, step.attributes[f"{name if form == 'agent' else COMPONENT}.input"]) == (name, {"files": ["a"]})


def test_generators_of_texts_have_prompts_and_facts_beside_answers() -> None:
    answer = {"replies": ["Yes."], "meta": [{**META, "finish_reason": "stop"}]}
    (step,) = run_of(component(1, "OpenAIGenerator", "llm", {"prompt": "In stock?"}, answer)).steps
    assert step.input == {"messages": [{"role": "user", "content": "In stock?"}]}
    assert step.output == {"message": {"role": "assistant", "content": "Yes."}, "finish_reason": "stop"}
    assert (step.type, step.model, step.tokens_in) == (StepType.MODEL, "gpt-4o-mini", 30)


def test_call_without_an_answer_failed() -> None:
    span = component(1, "OpenAIChatGenerator", "llm", REQUEST, "")
    del span["attributes"][f"{COMPONENT}.output"]
    (step,) = run_of({**span, "status": {"status_code": "ERROR", "description": "no quota"}}).steps
    request: Any = step.input
    assert (step.type, len(request["messages"]), step.output) == (StepType.MODEL, 1, None)
    assert (step.status, step.error) == ("error", "no quota")


def test_components_and_agents_have_their_contents() -> None:
    documents = {"documents": [{"content": "Dune, 2 copies"}]}
    run = run_of(
        document(1, "haystack.pipeline.run", {"haystack.pipeline.input_data": {"q": 1}}),
        document(
            2, "haystack.agent.run", {"haystack.agent.input": {"messages": []}, "haystack.agent.output": {"a": 1}}
        ),
        component(3, "InMemoryBM25Retriever", "search", {"query": "Dune"}, documents),
    )
    pipeline, agent, search = run.steps
    assert (pipeline.input, agent.output) == ({"q": 1}, {"a": 1})
    assert (search.type, search.name, search.input) == (StepType.RETRIEVAL, "search", {"query": "Dune"})
    assert search.output == {"documents": [{"id": "1", "content": "Dune, 2 copies"}]}


def test_tools_have_results_and_failures() -> None:
    names = {"haystack.tool.name": "find", "haystack.tool.description": "finds books"}
    content = "haystack.agent.step.tool"
    good = {f"{content}.input": {"title": "Dune"}, f"{content}.output": "2 copies"}
    bad = {f"{content}.input": {}, f"{content}.output": {"error": "no title"}, "haystack.tool.error": True}
    hook = {"haystack.tool.name": "find", "haystack.agent.hook.human_in_the_loop.strategy.type": "Ask"}
    steps = run_of(
        document(1, content, names | good), document(2, content, names | bad), document(3, content, hook)
    ).steps
    assert [(step.type, step.status, step.output, step.error) for step in steps] == [
        (StepType.TOOL, "ok", "2 copies", ""),
        (StepType.TOOL, "error", None, "no title"),
        (StepType.AGENT, "ok", None, ""),
    ]
    assert [(step.tool_name, step.input) for step in steps[:2]] == [("find", {"title": "Dune"}), ("find", {})]


def test_component_that_runs_tools_has_a_step_for_each_call() -> None:
    results = [
        {"result": "2 copies", "origin": CALL, "error": False},
        {"result": "no title", "origin": {**CALL, "id": "c2", "arguments": {}}, "error": True},
    ]
    messages = [{"role": "tool", "meta": {}, "content": [{"tool_call_result": result}]} for result in results]
    run = run_of(component(1, "ToolInvoker", "tools", {"messages": [REPLY]}, {"tool_messages": messages}))
    holder, *calls = run.steps
    assert (holder.type, holder.name) == (StepType.AGENT, "tools")
    assert [(call.call_id, call.input, call.output, call.error) for call in calls] == [
        ("c1", {"title": "Dune"}, "2 copies", ""),
        ("c2", {}, None, "no title"),
    ]
    assert {call.parent for call in calls} == {holder.key}
