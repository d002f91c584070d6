import json
from typing import Any

from tests.support.importing_fixtures import trace_run
from tests.unit.traces.importers.otlp.test_batches import json_body, json_span
from traces.core.recorded_run import RecordedStep

PARTS = [{"type": "text", "content": "Hi"}]
INPUT = [{"role": "user", "parts": PARTS}]
OUTPUT = [{"role": "assistant", "parts": PARTS, "finish_reason": "stop"}]
TOOLS = [{"type": "function", "name": "find", "parameters": {"type": "object"}}]


def pairs(values: dict[str, Any]) -> list[Any]:
    return [{"key": name, "value": encoded(value)} for name, value in values.items()]


def encoded(value: Any) -> Any:
    if isinstance(value, dict):
        return {"kvlistValue": {"values": pairs(value)}}
    if isinstance(value, list):
        return {"arrayValue": {"values": [encoded(item) for item in value]}}
    return {"stringValue": value}


def step_of(attributes: dict[str, Any], *events: tuple[str, dict[str, Any]], scope: str = "test") -> RecordedStep:
    span_events = [{"name": name, "attributes": pairs(values)} for name, values in events]
    span = json_span(1, attributes=pairs({"gen_ai.operation.name": "chat", **attributes}), events=span_events)
    body = json.loads(json_body(span))
    body["resourceSpans"][0]["scopeSpans"][0]["scope"] = {"name": scope}
    (step,) = trace_run(json.dumps(body).encode()).steps
    return step


def details(**other: Any) -> tuple[str, dict[str, Any]]:
    values = {"gen_ai.input.messages": INPUT, "gen_ai.output.messages": OUTPUT, **other}
    return "gen_ai.client.inference.operation.details", values


def test_event_of_whole_call_states_what_span_lacks() -> None:
    definitions = {"gen_ai.tool.definitions": TOOLS, "gen_ai.request.seed": "7"}
    step = step_of({}, details(**definitions))
    tools = [{"name": "find", "parameters": {"type": "object"}}]
    messages = [{"role": "user", "content": "Hi"}]
    assert step.input == {"messages": messages, "tools": tools, "parameters": {"seed": 7}}
    assert step.output == {"message": {"role": "assistant", "content": "Hi"}, "finish_reason": "stop"}
    assert "events" not in step.attributes


def test_event_that_contradicts_span_is_retained() -> None:
    attributes = {"gen_ai.input.messages": json.dumps(INPUT), "gen_ai.output.messages": json.dumps(OUTPUT)}
    assert "events" not in step_of(attributes, details()).attributes
    step = step_of({**attributes, "gen_ai.request.seed": "8"}, details(**{"gen_ai.request.seed": "7"}))
    assert len(body(step.attributes["events"])) == 1
    assert body(step.input)["parameters"] == {"seed": 8}


def body(value: Any) -> Any:
    return value


def test_other_choices_stay_events() -> None:
    prompt = ("gen_ai.user.message", {"content": "Hi"})
    choices = [("gen_ai.choice", {"index": "0", "message": {"content": text}}) for text in ("Hi", "Hello")]
    step = step_of({}, prompt, *choices)
    assert body(step.output)["message"] == {"role": "assistant", "content": "Hi"}
    (event,) = body(step.attributes["events"])
    assert event["attributes"]["message"] == {"content": "Hello"}


def test_events_in_attribute_of_pydantic_ai_are_read() -> None:
    events = [
        {"event.name": "gen_ai.user.message", "content": "Hi", "role": "user"},
        {"event.name": "gen_ai.choice", "index": 0, "message": {"role": "assistant", "content": "Hello"}},
    ]
    step = step_of({"events": json.dumps(events)}, scope="pydantic-ai")
    assert body(step.input)["messages"] == [{"role": "user", "content": "Hi"}]
    assert body(step.output)["message"] == {"role": "assistant", "content": "Hello"}
    assert "events" not in step.attributes
    assert step.key == f"{1:016x}"


def test_messages_of_one_choice_are_joined() -> None:
    calls: Any = [{"type": "tool_call", "id": id, "name": "find", "arguments": {}} for id in ("c1", "c2")]
    messages = [{"role": "assistant", "parts": [call], "finish_reason": "tool_call"} for call in calls]
    output = {"gen_ai.output.messages": json.dumps(messages)}
    one: Any = step_of({**output, "gen_ai.response.finish_reasons": ["tool_call"]}).output
    assert [call["id"] for call in one["message"]["tool_calls"]] == ["c1", "c2"]
    two: Any = step_of({**output, "gen_ai.response.finish_reasons": ["tool_call", "tool_call"]}).output
    assert [call["id"] for call in two["message"]["tool_calls"]] == ["c1"]
