from decimal import Decimal

import orjson
import pytest

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


def test_nested_run_is_below_its_holder() -> None:
    inner = {"id": "r3", "name": "find", "run_type": "tool", "error": "not found"}
    middle = {"id": "r2", "name": "desk", "run_type": "chain", "parent_run_id": None, "child_runs": [inner]}
    outer = {"id": "r1", "name": "agent", "run_type": "chain", "child_runs": [middle]}
    [trace] = parse([Source(name="run.json", data=orjson.dumps(outer))])
    assert [(step.key, step.parent) for step in trace.steps] == [("r1", None), ("r2", "r1"), ("r3", "r2")]


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
