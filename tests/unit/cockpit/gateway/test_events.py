"""Calls through the gateway as steps of a run."""

import gzip
import json
from dataclasses import replace
from typing import Any

import pytest

from cockpit.gateway.answers import UnreadableBody
from cockpit.gateway.events import (
    LAST_NUMBER,
    Call,
    Outcome,
    called_tools,
    content_digest,
    end_line,
    event_line,
    request_body,
    start_lines,
)
from cockpit.gateway.routes import Operation
from tests.support.redactions import redaction, secrets
from traces.core.json_access import as_object
from traces.core.recorded_run import RecordedRun
from traces.core.vocabulary import StepType
from traces.importers.files.source import Source
from traces.importers.formats.tracing import forkpoint_events
from traces.ingest.redaction import redact as redact_run
from traces.recordings.segment_redaction import redact_data
from traces.redaction.raw_responses import RAW_RESPONSE

LIMIT = 1_000_000
CHAT = Operation(path="/chat/completions", api="openai.chat")
CHUNKS = [
    {"choices": [{"index": 0, "delta": {"role": "assistant", "content": "Hé"}}]},
    {"choices": [{"index": 0, "delta": {"content": "llo"}}]},
    {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
    {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 2}},
]


def make_call(body: Any, *, id: str = "c1", at: float = 1.0, operation: Operation = CHAT, encoding: str = "") -> Call:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return Call(
        run_id="r1",
        id=id,
        provider="openai",
        protocol="openai",
        operation=operation,
        run_start=0,
        start=at,
        body=data,
        encoding=encoding,
    )


def make_stream(*events: Any, end: str = "data: [DONE]\n\n") -> bytes:
    return ("".join(f"data: {json.dumps(event, ensure_ascii=False)}\r\n\r\n" for event in events) + end).encode()


def read_run(*lines: bytes) -> RecordedRun:
    source = Source(name="events", data=b"".join(lines))
    [run] = forkpoint_events.parse([source])
    assert not source.problems
    return run


def conversation(*, result: str = "21 °C") -> list[dict[str, Any]]:
    function = {"name": "get_weather", "arguments": '{"city": "Lima"}'}
    return [
        {"role": "user", "content": "Weather?"},
        {"role": "assistant", "tool_calls": [{"id": "t1", "type": "function", "function": function}]},
        {"role": "tool", "tool_call_id": "t1", "content": result},
    ]


def test_stream_becomes_the_answer() -> None:
    call = make_call({"model": "m1", "messages": [{"role": "user", "content": "Hi"}], "stream": True})
    outcome = Outcome(end=3.5, status=200, body=make_stream(*CHUNKS), is_stream=True)
    [step] = read_run(start_lines(call, limit=LIMIT), end_line(call, outcome, limit=LIMIT)).steps
    assert (step.model, step.provider, step.status) == ("m1", "openai", "ok")
    assert step.output == {"message": {"role": "assistant", "content": "Héllo"}, "finish_reason": "stop"}
    assert (step.tokens_in, step.tokens_out) == (3, 2)
    assert step.ended_at is not None
    assert step.started_at is not None
    assert (step.ended_at - step.started_at).total_seconds() == 2.5


@pytest.mark.parametrize("length", range(0, 140, 7))
def test_stream_may_be_cut_off_anywhere(length: int) -> None:
    call = make_call({"model": "m1", "messages": []})
    outcome = Outcome(end=2, status=200, body=make_stream(*CHUNKS)[:length], is_stream=True)
    [step] = read_run(start_lines(call, limit=LIMIT), end_line(call, outcome, limit=LIMIT)).steps
    assert (step.status, step.error) == ("error", "the stream was cut off")


def test_tool_calls_are_read_from_the_conversation_once() -> None:
    first = make_call({"model": "m1", "messages": conversation()}, id="c1", at=1)
    again = make_call({"model": "m1", "messages": conversation()}, id="c2", at=2)
    steps = read_run(start_lines(first, limit=LIMIT), start_lines(again, limit=LIMIT)).steps
    assert [step.type for step in steps] == ["tool", "model", "model"]
    assert (steps[0].tool_name, steps[0].call_id) == ("get_weather", "t1")
    assert (steps[0].input, steps[0].output) == ({"city": "Lima"}, "21 °C")


def test_results_of_earlier_turns_are_no_new_tool_calls() -> None:
    messages = [*conversation(), {"role": "assistant", "content": "Warm."}, {"role": "user", "content": "And now?"}]
    [step] = read_run(start_lines(make_call({"model": "m1", "messages": messages}), limit=LIMIT)).steps
    assert step.type == "model"


def test_equal_call_ids_of_two_conversations_are_two_steps() -> None:
    other: list[Any] = [{"role": "system", "content": "Other"}, *conversation()]
    calls: list[Call] = [
        make_call({"messages": conversation()}, id="c1"),
        make_call({"messages": other}, id="c2", at=2),
    ]
    steps = read_run(*(start_lines(call, limit=LIMIT) for call in calls)).steps
    assert [step.type for step in steps].count(StepType.TOOL) == 2


def test_gemini_results_belong_to_calls_by_position() -> None:
    calls: list[dict[str, Any]] = [{"functionCall": {"name": name, "args": {}}} for name in ("first", "second")]
    results = [{"functionResponse": {"name": name, "response": {"of": name}}} for name in ("first", "second")]
    contents = [{"role": "user", "parts": [{"text": "Go"}]}, {"role": "model", "parts": calls}]
    contents.append({"role": "user", "parts": results})
    operation = Operation(path="/x", api="google.generate_content", model="g1")
    steps = read_run(start_lines(make_call({"contents": contents}, operation=operation), limit=LIMIT)).steps
    assert [(step.tool_name, step.output) for step in steps[:2]] == [
        ("first", '{"of":"first"}'),
        ("second", '{"of":"second"}'),
    ]
    assert steps[2].model == "g1"


def test_error_of_the_provider() -> None:
    call = make_call({"model": "m1", "messages": []})
    body = json.dumps({"error": {"message": "slow down"}}).encode()
    [step] = read_run(
        start_lines(call, limit=LIMIT), end_line(call, Outcome(end=2, status=429, body=body), limit=LIMIT)
    ).steps
    assert (step.status, step.error) == ("error", "HTTP 429: slow down")
    assert step.output is None


def test_compressed_request_is_read_and_a_bomb_is_not() -> None:
    body = gzip.compress(json.dumps({"model": "m1", "messages": [{"role": "user", "content": "Hi"}]}).encode())
    [step] = read_run(start_lines(make_call(body, encoding="gzip"), limit=LIMIT)).steps
    assert step.model == "m1"
    bomb = make_call(gzip.compress(b" " * 2 * LIMIT), encoding="gzip")
    [step] = read_run(start_lines(bomb, limit=LIMIT)).steps
    assert "larger than" in str(step.attributes["unreadable_request"])
    # Also if the provider refused it: the error has attributes, too.
    refusal = end_line(bomb, Outcome(end=2, status=413, body=b"{}"), limit=LIMIT)
    [step] = read_run(start_lines(bomb, limit=LIMIT), refusal).steps
    assert ("unreadable_request" in step.attributes, step.attributes["http_status"]) == (True, 413)


def test_end_of_a_run_comes_after_answers_that_arrive_later() -> None:
    call = make_call({"model": "m1", "messages": []}, at=10)
    end = event_line("r1", None, LAST_NUMBER, "run_completed", 11, {})
    late = end_line(call, Outcome(end=3600, status=200, body=b'{"choices": []}'), limit=LIMIT)
    assert len(read_run(end, start_lines(call, limit=LIMIT), late).steps) == 1


def test_raw_response_is_kept_with_its_timing() -> None:
    call = make_call({"model": "m1", "messages": [], "stream": True})
    body = make_stream(*CHUNKS)
    outcome = Outcome(
        end=2,
        status=200,
        headers=(
            ("Content-Type", "text/event-stream"),
            ("X-Request-Id", "r-1"),
            ("openai-organization", "acme"),
            ("X-RateLimit-Remaining-Requests", "0"),
        ),
        body=body,
        is_stream=True,
        # Three pieces at once, one after a pause.
        marks=[(0, 30), (5, 31), (9, 45), (40, 120)],
    )
    [step] = read_run(start_lines(call, limit=LIMIT), end_line(call, outcome, limit=LIMIT)).steps
    assert step.attributes[RAW_RESPONSE] == {
        "api": "openai.chat",
        "status": 200,
        "headers": [
            ["content-type", "text/event-stream"],
            ["x-request-id", "r-1"],
            ["x-ratelimit-remaining-requests", "0"],
        ],
        "text": body.decode(),
        "marks": [[0, 30], [40, 120]],
    }


def test_raw_response_that_is_cut_inside_a_character_is_kept() -> None:
    outcome = Outcome(end=2, status=200, body=b"\xff\x00", is_cut=True)
    call = make_call({"model": "m1", "messages": []})
    [step] = read_run(start_lines(call, limit=LIMIT), end_line(call, outcome, limit=LIMIT)).steps
    assert step.attributes[RAW_RESPONSE] == {
        "api": "openai.chat",
        "status": 200,
        "headers": [],
        "base64": "/wA=",
        "marks": [],
        "is_cut": True,
    }


@pytest.mark.parametrize("redact", ["records", "run"])
def test_raw_response_is_not_kept_where_something_is_redacted(redact: str) -> None:
    secret = secrets()["GitHub"]
    pieces = [secret[index : index + 7] for index in range(0, len(secret), 7)]
    chunks = [{"choices": [{"index": 0, "delta": {"content": piece}}]} for piece in pieces]
    call = make_call({"model": "m1", "messages": [], "stream": True})
    outcome = Outcome(end=2, status=200, body=make_stream(*chunks), is_stream=True)
    lines = start_lines(call, limit=LIMIT), end_line(call, outcome, limit=LIMIT)
    assert pieces[2].encode() in lines[1]
    run = (
        read_run(redact_data(b"".join(lines), redaction()).data)
        if redact == "records"
        else redact_run(read_run(*lines), redaction())
    )
    assert "[redacted:" in str(run.steps[0].output)
    assert pieces[2] not in str(run)


def test_tool_that_the_sdk_reports_replaces_the_inferred_one() -> None:
    def reported(key: str, number: int, type: str, parent: str | None = None, **payload: Any) -> bytes:
        record = json.loads(event_line("r1", key, number, type, 1.5, {"tool_name": "get_weather", **payload}))
        return json.dumps({**record, "actor_type": "sdk", "parent_step_id": parent}).encode() + b"\n"

    city = {"city": "Lima"}
    outer = [reported("s1", 1, "tool_called", args=city), reported("s1", 4, "tool_result", result={"degrees": 21})]
    inner = [reported("s2", 2, "tool_called", "s1", args=city), reported("s2", 3, "tool_result", "s1", result="21")]
    cut_off = [reported("s3", 5, "tool_called", call_id="t1", args=city)]
    late = start_lines(make_call({"model": "m1", "messages": conversation()}), limit=LIMIT)
    run = read_run(*outer, *inner, *cut_off, late)
    tools = [step for step in run.steps if step.type is StepType.TOOL]
    inferred = read_run(late).steps[0]
    assert [(step.key, step.parent, step.call_id) for step in tools] == [
        (inferred.key, None, "t1"),
        ("s2", inferred.key, ""),
        ("s3", None, "t1"),
    ]
    assert [step.output for step in tools] == [{"degrees": 21}, "21", None]


def test_tool_of_an_mcp_server_is_one_step_though_the_model_knows_it_by_a_longer_name() -> None:
    def reported(number: int, type: str, **payload: Any) -> bytes:
        record = json.loads(event_line("r1", "s1", number, type, 1.5, {"tool_name": "get_weather", **payload}))
        return json.dumps({**record, "actor_type": "sdk"}).encode() + b"\n"

    messages = json.loads(json.dumps(conversation()).replace("get_weather", "mcp__desk__get_weather"))
    late = start_lines(make_call({"model": "m1", "messages": messages}), limit=LIMIT)
    report = [reported(1, "tool_called", args={"city": "Lima"}), reported(2, "tool_result", result="21")]
    run = read_run(*report, late)
    tools = [(step.tool_name, step.call_id) for step in run.steps if step.type is StepType.TOOL]
    assert tools == [("get_weather", "t1")]


def test_digest_of_a_request_needs_the_key_and_is_that_of_all_its_answer_depends_on() -> None:
    call = replace(make_call({"model": "m1"}), digest_key=b"secret")
    gemini = Operation(path="/models/g1:streamGenerateContent", api="google.generate_content", model="g1")
    others = [
        replace(call, digest_key=b"another"),
        replace(call, body=call.body + b" "),
        replace(call, encoding="gzip"),
        replace(call, provider="local"),
        replace(call, headers=(("openai-beta", "v2"),)),
        replace(call, operation=gemini),
        replace(call, operation=gemini, query="alt=sse"),
        replace(call, query="api-version=2"),
    ]
    assert len({item.digest for item in (call, *others)}) == len(others) + 1
    # The answer depends on neither.
    assert replace(call, id="c2", run_id="r2", start=9.0, query="key=secret").digest == call.digest
    assert make_call({"model": "m1"}).digest == ""
    outcome = Outcome(end=2, status=200, body=b'{"choices": []}')
    [step] = read_run(start_lines(call, limit=LIMIT), end_line(call, outcome, limit=LIMIT)).steps
    raw: Any = step.attributes[RAW_RESPONSE]
    assert (raw["request"], raw["content"]) == (call.digest, content_digest(call, request_body(call, limit=LIMIT)))


def test_content_of_a_request_is_what_its_answer_depends_on() -> None:
    def digest(**fields: Any) -> str:
        call = replace(make_call({"model": "m1", **fields}), digest_key=b"secret")
        return content_digest(call, request_body(call, limit=LIMIT))

    result = {"type": "tool_result", "tool_use_id": "t1", "content": "no"}
    assert digest(messages=[result]) != digest(messages=[{**result, "is_error": True}])
    mark = {"cache_control": {"type": "ephemeral"}}
    assert digest(messages=[{**result, **mark}], stream=True, user="mira") == digest(messages=[result])
    assert content_digest(make_call({"model": "m1"}), {"model": "m1"}) == ""
    seed = replace(make_call({}), digest_key=b"secret", body=b'{"seed": 2}')
    others = [replace(seed, body=b'{"seed": 1, "seed": 2}'), replace(seed, query="api-version=2")]
    assert len({content_digest(call, request_body(call, limit=LIMIT)) for call in (seed, *others)}) == 3


def test_model_in_the_address_is_no_content() -> None:
    """The agent of a fork that is started again sends what an override with another model had changed before."""
    operation = Operation(path="/models/g1:generateContent", api="google.generate_content", model="g1")
    call = replace(make_call({"contents": []}, operation=operation), digest_key=b"secret")
    assert content_digest(call, {"contents": [], "model": "g2"}) == content_digest(call, {"contents": []})


def test_names_of_messages_are_no_content() -> None:
    def digest(*items: Any) -> str:
        operation = Operation(path="/responses", api="openai.responses")
        call = replace(make_call({"input": items}, operation=operation), digest_key=b"secret")
        return content_digest(call, request_body(call, limit=LIMIT))

    message = {"type": "message", "role": "user", "content": "hi"}
    assert digest({**message, "id": "msg_1"}) == digest({**message, "id": "msg_2"})
    assert digest({"type": "item_reference", "id": "msg_1"}) != digest({"type": "item_reference", "id": "msg_2"})


def test_request_may_be_left_out_but_not_its_tool_calls() -> None:
    call = make_call({"model": "m1", "messages": conversation()})
    lines = start_lines(call, limit=LIMIT, has_body=False)
    tool, model = read_run(lines).steps
    assert (tool.tool_name, tool.output) == ("get_weather", "21 °C")
    assert (model.key, model.model) == ("c1", "m1")
    assert b"Weather?" not in lines


def test_called_tools_are_found_whatever_an_answer_calls_itself() -> None:
    call = {"index": 0, "id": "1", "function": {"name": "erase", "arguments": "{}"}}
    stream = make_stream({"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]})
    whole = json.dumps({"choices": [{"message": {"tool_calls": [call]}}]}).encode()
    # Python's own parser reads it, and so does an agent.
    no_json = whole.replace(b"}]}", b'}], "score": NaN}')
    for body in (stream, whole, no_json, make_stream(*CHUNKS[:1]) + b"data: " + no_json, gzip.compress(whole)):
        encoding = "gzip" if body.startswith(b"\x1f") else ""
        outcome = Outcome(end=2.0, status=200, body=body, encoding=encoding)
        assert called_tools(make_call({}), outcome, limit=10_000) == ["erase"]
    embeddings = make_call({}, operation=Operation(path="/embeddings", api="openai.embeddings"))
    assert called_tools(embeddings, Outcome(end=2.0, status=200, body=b"data: {}\n\n"), limit=10_000) == []
    # A response in the background calls its tools where it is read.
    read = make_call({}, operation=Operation(path="/responses/resp_1", api="openai.stored_response", is_read=True))
    response = {"output": [{"type": "function_call", "call_id": "c1", "name": "erase", "arguments": "{}"}]}
    outcome = Outcome(end=2.0, status=200, body=json.dumps(response).encode())
    assert called_tools(read, outcome, limit=10_000) == ["erase"]


def test_answer_in_another_compression_hides_its_tools() -> None:
    outcome = Outcome(end=2.0, status=200, body=b"\x0b\x02\x80{}\x03", encoding="br")
    with pytest.raises(UnreadableBody, match="compressed as “br”"):
        called_tools(make_call({}), outcome, limit=LIMIT)
    assert called_tools(make_call({}), replace(outcome, status=500), limit=LIMIT) == []
    with pytest.raises(UnreadableBody, match="timeout"):
        called_tools(make_call({}), Outcome(end=2.0, error="timeout"), limit=LIMIT)
    [step] = read_run(start_lines(make_call({}), limit=LIMIT) + end_line(make_call({}), outcome, limit=LIMIT)).steps
    assert (step.status, "compressed as “br”" in step.error) == ("error", True)


def test_stream_is_read_whatever_its_headers_call_it() -> None:
    body = make_stream({"choices": [{"index": 0, "delta": {"content": "Hi"}, "finish_reason": "stop"}]})
    [step] = read_run(
        start_lines(make_call({}), limit=LIMIT)
        + end_line(make_call({}), Outcome(end=2.0, status=200, body=body), limit=LIMIT)
    ).steps
    assert (step.status, as_object(as_object(step.output)["message"])["content"]) == ("ok", "Hi")
