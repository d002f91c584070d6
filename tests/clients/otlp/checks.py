"""What every run that a tracer sent must show, compared with what the model server received and answered."""

import json
import re
from typing import Any, Final

from tests.clients.model_server import ANSWER, CALLS
from tests.clients.otlp.nothing_lost import check_nothing_lost
from tests.clients.otlp.traced_runs import Client, Desk, TracedRun
from traces.core.json_access import as_object
from traces.importers.formats.tracing.client_calls import model_request

# Where a tracer that sends a field would have it: in the name of an attribute, or in a value.
_SIGNS: Final = {
    "tools": r'properties\\*"',
    "seed": "seed",
    "temperature": "temperature",
    "cached": r'cached_tokens\\*"|cache_read',
    "reasoning": r'reasoning_tokens\\*"|details\.reasoning',
    "reason": r'finish_reasons?\\*"',
}
_APIS: Final = {"/v1/chat/completions": "openai.chat", "/v1/responses": "openai.responses"}
_OUTPUTS: Final = {"get_weather": "21 degrees in {}", "get_time": "noon in {}"}
_REASONS: Final = ("tool_calls", "tool_calls", "stop")


def check_run(desk: Desk, run: TracedRun, client: Client) -> None:
    """Check a run of the sample agent, field by field, and replay it."""
    check_model_calls(desk, run, client)
    check_tools(run)
    check_nothing_lost(desk.tap.spans(), run.trace)
    desk.check_replay(run)


def check_model_calls(desk: Desk, run: TracedRun, client: Client) -> None:
    """Compare each request and answer; fields that the client lacks must not have been sent."""
    steps = run.of_type("model")
    assert len(steps) == len(desk.model.requests) == 3
    for name in client.lacks & _SIGNS.keys():
        assert not any(re.search(_SIGNS[name], text) for text in _texts(desk)), f"the client does send {name}"
    for number, (step, (path, body)) in enumerate(zip(steps, desk.model.requests, strict=True)):
        _check_request(step["input"], as_object(model_request({"api": _APIS.get(path, path), "request": body})), client)
        _check_answer(step["output"], number, client)
        expected = (30, client.tokens_out, None if "cached" in client.lacks else 4)
        tokens = (step["tokens_in"], step["tokens_out"], step["tokens_cached"])
        assert tokens == ((None, None, None) if "tokens" in client.lacks else expected)
        assert step["model"] == body["model"]
        assert "reasoning" in client.lacks or _has_reasoning(step["attributes"]), step["attributes"]


def check_tools(run: TracedRun) -> None:
    """Check each tool call: its arguments, its result, and that it is the call which the model requested."""
    steps = run.of_type("tool")
    calls = sorted(call for turn in CALLS for call in turn)
    assert sorted((step["tool_name"], step["input"]["city"]) for step in steps) == calls
    for step in steps:
        assert step["output"] == _OUTPUTS[step["tool_name"]].format(step["input"]["city"])
    requested_ids = [
        call["id"] for step in run.of_type("model") for call in step["output"]["message"].get("tool_calls", ())
    ]
    assert sorted(step["call_id"] for step in steps) == sorted(requested_ids)


def check_failure(desk: Desk, run: TracedRun, client: Client) -> None:
    """Check a run whose only model call was refused."""
    [step] = run.of_type("model")
    [(path, body)] = desk.model.requests
    request = as_object(model_request({"api": _APIS.get(path, path), "request": body}))
    if "failed request" in client.lacks:
        assert step["input"] is None
        assert run.trace.steps[0]["input"].get("messages") in (None, request["messages"])
    else:
        _check_request(step["input"], request, client)
    assert (step["status"], step["output"]) == ("error", None)
    assert "this fails" in step["error"]
    check_nothing_lost(desk.tap.spans(), run.trace)
    if "failed request" in client.lacks:
        desk.check_nothing_to_replay(run)
    else:
        desk.check_replay(run)


def _check_request(recorded: Any, request: Any, client: Client) -> None:
    messages = [_plain(message, client) for message in recorded["messages"]]
    assert messages == [_plain(message, client) for message in request["messages"]]
    assert recorded.get("tools", []) == ([] if "tools" in client.lacks else request.get("tools", []))
    sent = {name: value for name, value in request.get("parameters", {}).items() if name not in client.lacks}
    parameters = recorded.get("parameters", {})
    assert {name: value for name, value in parameters.items() if name not in client.echoes} == sent
    assert recorded.get("response_format") == request.get("response_format")


def _plain(message: Any, client: Client) -> dict[str, Any]:
    """Leave out the fields of a message and its calls that a client does not send, or sends under another id."""
    fields = {name: value for name, value in {"content": None, **message}.items() if name not in client.lacks}
    if "tool_calls" in fields:
        fields["tool_calls"] = [
            {name: value for name, value in call.items() if name not in client.lacks} for call in fields["tool_calls"]
        ]
    return fields


def _check_answer(output: Any, number: int, client: Client) -> None:
    message = output["message"]
    if number < len(CALLS):
        calls = [(call["name"], call["arguments"]["city"]) for call in message["tool_calls"]]
        assert (calls, message["content"]) == (list(CALLS[number]), None)
    else:
        assert message["content"] == ANSWER
    assert output.get("finish_reason") == (None if "reason" in client.lacks else _REASONS[number])


def _texts(desk: Desk) -> list[str]:
    """Return what the tracer sent with the names of the fields."""
    spans = [span for span in desk.tap.spans() if "llm" in json.dumps(span.attributes).lower() or "chat" in span.name]
    return [json.dumps([span.attributes, span.events]) for span in spans]


def _has_reasoning(attributes: dict[str, Any]) -> bool:
    return any("reasoning" in name and value == 2 for name, value in _numbers(attributes))


def _numbers(value: Any, name: str = "") -> list[tuple[str, Any]]:
    if isinstance(value, dict):
        return [number for key, item in value.items() for number in _numbers(item, key)]
    return [(name, value)] if isinstance(value, int | float) else []
