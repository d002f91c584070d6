import json
from typing import Any

import pytest

from tests.support.importing_fixtures import trace_run
from tests.unit.traces.importers.otlp.test_batches import json_body, json_span
from traces.core.recorded_run import RecordedRun

CHAT = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "claude-opus-5"}
USER = {"role": "user", "parts": [{"type": "text", "content": "Hi"}]}
MESSAGES = {"gen_ai.input.messages": json.dumps([USER]), "gen_ai.usage.output_tokens": "9"}


def span(number: int, scope: str, attributes: dict[str, str], *, parent: int = 1, start: int = 0, end: int = 9) -> Any:
    pairs = [{"key": key, "value": {"stringValue": value}} for key, value in attributes.items()]
    times = {"startTimeUnixNano": 10**18 + start * 10**6, "endTimeUnixNano": 10**18 + end * 10**6}
    parents = {"parentSpanId": f"{parent:016x}"} if parent else {}
    return scope, json_span(number, **parents, **times, attributes=pairs)


def run_of(*spans: Any) -> RecordedRun:
    body = json.loads(json_body())
    body["resourceSpans"][0]["scopeSpans"] = [{"scope": {"name": scope}, "spans": [value]} for scope, value in spans]
    return trace_run(json.dumps(body).encode())


ROOT = span(1, "app", {}, parent=0)


@pytest.mark.parametrize("parent", [1, 2])
def test_span_of_client_is_a_part_of_the_call(parent: int) -> None:
    call = span(2, "tracer", {**CHAT, **MESSAGES}, start=1, end=6)
    client = span(3, "client", {**CHAT, "gen_ai.usage.output_tokens": "8", "url.path": "/v1"}, parent=parent, start=2)
    inside = span(4, "client", {}, parent=3, start=3)
    agent, model, request = run_of(ROOT, call, client, inside).steps
    assert [step.key[-1] for step in (agent, model, request)] == ["1", "2", "4"]
    part: Any = model.attributes["client_span"]
    assert (model.tokens_out, part["tokens"]["out"], part["attributes"]["url.path"]) == (9, 8, "/v1")
    assert request.parent == model.key


def test_client_span_belongs_to_call_with_same_response() -> None:
    first, second = (
        span(no, "tracer", {**CHAT, **MESSAGES, "gen_ai.response.id": f"r{no}"}, start=no) for no in (2, 3)
    )
    client = span(4, "client", {**CHAT, "gen_ai.response.id": "r2"}, start=4)
    _, call, other = run_of(ROOT, first, second, client).steps
    assert "client_span" in call.attributes
    assert "client_span" not in other.attributes


@pytest.mark.parametrize(
    "client",
    [
        span(3, "tracer", CHAT, start=2),
        span(3, "client", CHAT, start=8),
        span(3, "client", {**CHAT, "gen_ai.request.model": "gpt-5"}, start=2),
        span(3, "client", {**CHAT, **MESSAGES}, start=2),
    ],
    ids=["same tracer", "later", "another model", "with messages"],
)
def test_other_calls_stay_steps(client: Any) -> None:
    assert len(run_of(ROOT, span(2, "tracer", {**CHAT, **MESSAGES}, start=1, end=6), client).steps) == 3


def test_calls_without_messages_stay_steps() -> None:
    assert len(run_of(ROOT, span(2, "tracer", CHAT), span(3, "client", CHAT, start=2)).steps) == 3


RESPONSE = {"gen_ai.response.id": "r1"}
ANSWER = json.dumps([{"role": "assistant", "parts": [{"type": "text", "content": "Hello"}], "finish_reason": "stop"}])


@pytest.mark.parametrize(
    "outer",
    [{**MESSAGES, **RESPONSE, "gen_ai.output.messages": ANSWER}, MESSAGES],
    ids=["same response", "no response"],
)
def test_span_inside_a_span_of_the_same_call_is_its_part(outer: dict[str, str]) -> None:
    call = span(2, "tracer", {**CHAT, **outer}, start=1, end=6)
    settings = {"gen_ai.request.seed": "7", "gen_ai.output.messages": ANSWER}
    client = span(3, "client", {**CHAT, **MESSAGES, **RESPONSE, **settings}, parent=2, start=2)
    _, model = run_of(ROOT, call, client).steps
    assert (model.tokens_out, model.key[-1]) == (9, "2")
    assert model.input == {"messages": [{"role": "user", "content": "Hi"}], "parameters": {"seed": 7}}
    assert model.output == {"message": {"role": "assistant", "content": "Hello"}, "finish_reason": "stop"}


@pytest.mark.parametrize(
    ("outer", "inner"),
    [
        (RESPONSE, {"gen_ai.response.id": "r2"}),
        ({"gen_ai.output.messages": ANSWER}, RESPONSE),
        (RESPONSE, {**RESPONSE, "gen_ai.input.messages": json.dumps([USER, USER])}),
    ],
    ids=["another response", "unknown response", "other messages"],
)
def test_model_calls_inside_others_stay_steps(outer: dict[str, str], inner: dict[str, str]) -> None:
    call = span(2, "tracer", {**CHAT, **MESSAGES, **outer}, start=1, end=6)
    assert len(run_of(ROOT, call, span(3, "client", {**CHAT, **MESSAGES, **inner}, parent=2, start=2)).steps) == 3


def test_retries_inside_a_call_stay_steps() -> None:
    call = span(2, "tracer", {**CHAT, **MESSAGES}, start=1, end=6)
    retries = [span(number, "client", {**CHAT, **MESSAGES}, parent=2, start=number) for number in (3, 4)]
    assert len(run_of(ROOT, call, *retries).steps) == 4
    bare = [span(number, "client", CHAT, parent=2, start=number) for number in (3, 4)]
    _, model, retry = run_of(ROOT, call, *bare).steps
    part: Any = model.attributes["client_span"]
    assert (part["span_id"][-1], retry.key[-1]) == ("4", "3")


def test_last_retry_is_the_last_in_time() -> None:
    call = span(2, "tracer", {**CHAT, **MESSAGES}, start=1, end=6)
    bare = [span(number, "client", CHAT, parent=2, start=8 - number) for number in (3, 4)]
    _, model, _ = run_of(ROOT, call, *bare).steps
    part: Any = model.attributes["client_span"]
    assert part["span_id"][-1] == "3"
