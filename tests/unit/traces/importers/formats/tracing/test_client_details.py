"""Details of model calls that tracers send and a step has no columns for."""

import orjson

from tests.support.langsmith_records import TRACE, call, root
from traces.core.json_types import JSONObject
from traces.core.recorded_run import RecordedStep
from traces.importers.assembly import SegmentContent, assemble

_USAGE: JSONObject = {"input_tokens": 42, "output_tokens": 9, "output_token_details": {"reasoning": 3}}


def _langsmith_call(**fields: object) -> RecordedStep:
    data = orjson.dumps({"post": [root(), call(**fields)]})
    assembly = assemble(TRACE, [SegmentContent(format="langsmith", file="", read=lambda: data)])
    assert assembly.run is not None
    return assembly.run.steps[1]


def _langfuse_call(*updates: JSONObject) -> RecordedStep:
    start: JSONObject = {"id": "g1", "traceId": "t1", "startTime": "2026-03-01T10:00:00Z", "model": "m1", "input": "Hi"}
    bodies = [("generation-create", start), *(("generation-update", {"id": "g1", **update}) for update in updates)]
    data = orjson.dumps({"batch": [{"type": type, "timestamp": "", "body": body} for type, body in bodies]})
    assembly = assemble("t1", [SegmentContent(format="langfuse", file="", read=lambda: data)])
    assert assembly.run is not None
    return assembly.run.steps[0]


def test_reasoning_tokens_are_kept() -> None:
    step = _langsmith_call(outputs={"role": "assistant", "content": "Hello.", "usage_metadata": _USAGE})
    assert step.attributes["usage"] == _USAGE
    assert _langfuse_call({"usageDetails": _USAGE}).attributes["usage"] == _USAGE


def test_usage_with_columns_only_is_no_attribute() -> None:
    cached: JSONObject = {"input_tokens": 42, "output_tokens": 9, "input_token_details": {"cache_read": 16}}
    step = _langsmith_call(outputs={"role": "assistant", "content": "Hello.", "usage_metadata": cached})
    assert (step.tokens_cached, "usage" in step.attributes) == (16, False)


def test_requested_model_is_kept_beside_the_one_that_answered() -> None:
    step = _langfuse_call({"model": "m1-2026-01-01", "output": "Hello."})
    assert (step.model, step.attributes["requestedModel"]) == ("m1-2026-01-01", "m1")


def test_finish_reason_of_a_langchain_generation() -> None:
    generation: JSONObject = {"text": "Hello.", "generation_info": {"finish_reason": "length"}}
    step = _langsmith_call(outputs={"generations": [[generation]]})
    assert step.output == {"message": {"role": "assistant", "content": "Hello."}, "finish_reason": "length"}


def test_failed_call_has_no_output() -> None:
    step = _langsmith_call(outputs={"output": None}, error="BadRequestError")
    assert (step.output, step.error) == (None, "BadRequestError")


def test_parameters_of_a_langchain_model() -> None:
    invocation: JSONObject = {"max_completion_tokens": 100, "seed": 7, "parallel_tool_calls": False, "_type": "chat"}
    step = _langsmith_call(inputs={"messages": ["user", "Hi"]}, extra={"invocation_params": invocation})
    assert isinstance(step.input, dict)
    assert step.input["parameters"] == {"max_tokens": 100, "seed": 7, "parallel_tool_calls": False}
