import csv
import io
from decimal import Decimal
from typing import Any

import orjson
import pytest

from tests.support import importing_fixtures as fixtures
from traces.core.json_access import as_object
from traces.core.vocabulary import RunStatus
from traces.importers.files.source import Source
from traces.importers.formats.tracing.langsmith import parse


@pytest.mark.parametrize("name", ["session_id", "thread_id", "conversation_id"])
def test_metadata_name_session_and_user(name: str) -> None:
    metadata = {name: "s1", "user_id": "u1"}
    run = {"id": "r1", "trace_id": "r1", "name": "agent", "run_type": "chain", "extra": {"metadata": metadata}}
    [trace] = parse([Source(name="batch.json", data=orjson.dumps({"post": [run]}))])
    assert (trace.metadata["session_id"], trace.metadata["user_id"]) == ("s1", "u1")


def test_result_of_javascript_is_unwrapped() -> None:
    run = {"id": "r1", "trace_id": "r1", "name": "find", "run_type": "tool", "outputs": {"outputs": "3 copies"}}
    [trace] = parse([Source(name="batch.json", data=orjson.dumps({"post": [run]}))])
    assert trace.steps[0].output == "3 copies"


# Before version 1.3.3, LangChain wrote the arguments as `str()` does; in JavaScript, they are JSON in a text.
@pytest.mark.parametrize("text", ["{'title': \"Dune's\", 'exact': True}", '{"title": "Dune\'s", "exact": true}'])
@pytest.mark.parametrize("status", ["success", "error"])
def test_tools_of_langchain_have_arguments_and_results(text: str, status: str) -> None:
    call = {"id": "call_1", "name": "find", "args": {"title": "Dune's", "exact": True}}
    fields = {"content": "3 copies", "tool_call_id": "call_1", "status": status, "artifact": [3]}
    results = [{"type": "tool", **fields}, {"lc": 1, "id": ["ToolMessage"], "kwargs": fields}, None]
    runs = [{"id": "r0", "trace_id": "r0", "name": "chat", "run_type": "llm", "outputs": {"tool_calls": [call]}}]
    for number, result in enumerate(results, 1):
        tool = {"id": f"r{number}", "trace_id": "r0", "parent_run_id": "r0", "name": "find", "run_type": "tool"}
        outcome = {"outputs": {"output": result}} if result else {"error": "ValueError"}
        trace, *_ = parse(
            [Source(name="x", data=orjson.dumps([*runs, {**tool, "inputs": {"input": text}, **outcome}]))]
        )
        step = trace.steps[-1]
        assert (step.input, step.call_id) == (call["args"], "call_1")
        assert step.output == ("3 copies" if result else None)
        assert step.error == ("ValueError" if not result else "3 copies" if status == "error" else "")
        assert step.attributes.get("result") == ({"artifact": [3]} if result else None)


def test_nested_run_is_below_its_holder() -> None:
    inner = {"id": "r3", "name": "find", "run_type": "tool", "error": "not found"}
    middle = {"id": "r2", "name": "desk", "run_type": "chain", "parent_run_id": None, "child_runs": [inner]}
    outer = {"id": "r1", "name": "agent", "run_type": "chain", "child_runs": [middle]}
    [trace] = parse([Source(name="run.json", data=orjson.dumps(outer))])
    assert [(step.key, step.parent) for step in trace.steps] == [("r1", None), ("r2", "r1"), ("r3", "r2")]
    assert all("child_runs" not in step.attributes for step in trace.steps)


def test_table_of_runs_has_objects_in_either_form() -> None:
    question = {"messages": [{"role": "user", "content": "Is it here?"}]}
    for cell in (orjson.dumps(question).decode(), str(question)):
        table = io.StringIO()
        csv.writer(table).writerows([["id", "run_type", "inputs", "error"], ["r1", "llm", cell, ""]])
        (run,), problems = fixtures.detect_and_read("langsmith", table.getvalue().encode(), "runs.csv")
        assert (fixtures.request_contents(run.steps[0]), problems) == (["Is it here?"], [])


def test_answer_in_messages_has_its_calls() -> None:
    call = {"id": "c-1", "type": "function", "function": {"name": "find", "arguments": '{"title": "Dune"}'}}
    outputs = {"messages": [{"role": "assistant", "content": "", "tool_calls": [call]}]}
    data = fixtures.json_lines([{"id": "r1", "trace_id": "r1", "run_type": "llm", "outputs": outputs}])
    ((run,), _) = fixtures.detect_and_read("langsmith", data)
    output: Any = run.steps[0].output
    assert output["message"]["tool_calls"] == [{"id": "c-1", "name": "find", "arguments": {"title": "Dune"}}]


def test_exported_run_has_costs_and_cached_tokens() -> None:
    usage = {"input_tokens": 42, "output_tokens": 9, "input_token_details": {"cache_read": 16}}
    answer = {"id": ["AIMessage"], "lc": 1, "kwargs": {"content": "Yes.", "usage_metadata": usage}}
    counts = {"prompt_tokens": 42, "completion_tokens": 9, "total_cost": 0.004}
    outputs = {"generations": [[{"message": answer}]], "llm_output": {"token_usage": {"prompt_tokens": 42}}}
    run = {"id": "r1", "name": "chat", "run_type": "llm", "inputs": {"messages": ["Hi"]}, **counts}
    stats = {"feedback_stats": {"helpful": {"n": 2, "avg": 0.5, "comments": ["too short"]}}}
    # A bulk export has objects as texts.
    texts = {name: orjson.dumps(value).decode() for name, value in {"outputs": outputs, **stats}.items()}
    for fields, cached in (({"outputs": outputs, **stats}, 16), (texts, 16), ({"outputs": {"output": "Yes."}}, None)):
        [trace] = parse([Source(name="run.json", data=orjson.dumps({**run, **fields}))])
        (step,) = trace.steps
        assert (step.tokens_in, step.tokens_out, step.tokens_cached) == (42, 9, cached)
        assert step.cost_usd == Decimal("0.004")
        assert [item.text for item in trace.judgements] == (
            ["average of 2; too short"] if "feedback_stats" in fields else []
        )


@pytest.mark.parametrize("fields", [{}, {"outputs": {"output": "Yes."}}, {"end_time": "2026-03-01T10:00:01Z"}])
def test_pending_run_is_partial(fields: dict[str, object]) -> None:
    run = {"id": "r1", "name": "agent", "run_type": "chain", "start_time": "2026-03-01T10:00:00Z", "inputs": {"q": "?"}}
    [trace] = parse([Source(name="x", data=orjson.dumps({**run, **fields}))])
    assert trace.status is (RunStatus.COMPLETED if fields else RunStatus.PARTIAL)


def test_runs_that_name_only_their_parent_are_one_trace() -> None:
    links = {"root": None, "chain": "root", "call": "chain", "other": None, "lost": "elsewhere"}
    records = [
        {"id": id, "parent_run_id": parent, "name": id, "run_type": "chain"} for id, parent in reversed(links.items())
    ]
    runs = {run.external_id: run for run in parse([Source(name="runs.json", data=orjson.dumps({"runs": records}))])}
    assert runs.keys() == {"root", "other", "lost"}
    assert {step.key: step.parent for step in runs["root"].steps} == {"root": None, "chain": "root", "call": "chain"}


def test_listed_feedback_is_read_with_its_runs() -> None:
    run = {"id": "r1", "name": "agent", "run_type": "chain", "outputs": {"answer": "B-7"}}
    feedback = {"id": "f1", "run_id": "r1", "key": "helpful", "score": 0.8, "value": None, "comment": "kind"}
    (trace,) = fixtures.read("langsmith", [run], [feedback])
    assert [(score.name, score.value, score.text) for score in trace.judgements] == [("helpful", 0.8, "kind")]
    _, problems = fixtures.detect_and_read("langsmith", fixtures.json_lines([feedback]))
    assert ["is not in these files" in problem for problem in problems] == [True]


def test_categories_of_feedback_are_notes() -> None:
    stats = {"tone": {"n": 3, "avg": None, "values": {"warm": 2, "cold": 1}}}
    (trace,) = fixtures.read("langsmith", [{"id": "r1", "run_type": "chain", "error": "late", "feedback_stats": stats}])
    assert [(score.name, score.text) for score in trace.judgements] == [("tone", "warm: 2, cold: 1")]


@pytest.mark.parametrize(
    "outputs",
    [
        {"message": {"role": "assistant", "content": "B-7", "stop_reason": "max_tokens"}},
        {
            "generations": [
                [{"message": {"kwargs": {"content": "B-7", "response_metadata": {"stop_reason": "max_tokens"}}}}]
            ]
        },
    ],
)
def test_answer_has_the_reason_of_its_message(outputs: Any) -> None:
    (trace,) = fixtures.read("langsmith", [{"id": "r1", "run_type": "llm", "outputs": outputs}])
    assert as_object(trace.steps[0].output)["finish_reason"] == "length"


def test_embedding_has_its_tokens_and_costs() -> None:
    run = {"id": "r1", "run_type": "embedding", "prompt_tokens": 9, "total_cost": "0.25", "outputs": {"size": 3}}
    (trace,) = fixtures.read("langsmith", [run])
    assert (trace.steps[0].tokens_in, trace.steps[0].cost_usd) == (9, Decimal("0.25"))
