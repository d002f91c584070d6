"""Logs with a model call per line: batches, and Bedrock's invocation log."""

from typing import Any

import orjson
import pytest

from tests.support import importing_fixtures as fixtures
from traces.core.json_access import as_object
from traces.core.recorded_run import RecordedRun, RecordedStep
from traces.core.vocabulary import RunStatus
from traces.importers import registry
from traces.importers.common.model_calls import normalize_usage
from traces.importers.files.errors import BadFile
from traces.importers.files.source import Source
from traces.importers.formats.chats.streamed_answers import join_stream
from traces.payloads.messages import ModelAnswer

QUESTION = {"role": "user", "content": "Is Dune in stock?"}
TEXT_BLOCKS = [{"type": "text", "text": "Yes."}]
MESSAGE = {
    "id": "msg-1",
    "role": "assistant",
    "model": "claude-x",
    "content": TEXT_BLOCKS,
    "stop_reason": "end_turn",
    "usage": {"input_tokens": 11, "output_tokens": 3},
}
ANTHROPIC = [
    {"custom_id": "a", "result": {"type": "succeeded", "message": MESSAGE}},
    {"custom_id": "b", "result": {"type": "errored", "error": {"error": {"message": "too long"}}}},
    {"custom_id": "c", "result": {"type": "expired"}},
]
REQUEST = {"custom_id": "a", "params": {"model": "claude-x", "max_tokens": 9, "messages": [QUESTION]}}
GEMINI_ANSWER = {
    "candidates": [{"content": {"role": "model", "parts": [{"text": "Yes."}]}, "finishReason": "STOP"}],
    "usageMetadata": {"promptTokenCount": 8, "candidatesTokenCount": 4},
    "modelVersion": "gemini-x",
}
GEMINI_REQUEST = {
    "contents": [{"role": "user", "parts": [{"fileData": None, "text": "Is Dune in stock?"}]}],
    "generationConfig": {"temperature": 0.4},
}
BEDROCK: dict[str, Any] = {
    "schemaType": "ModelInvocationLog",
    "timestamp": "2026-03-01T10:00:00Z",
    "modelId": "arn:aws:bedrock:eu-west-1:1:inference-profile/eu.claude-x",
}


def read(*files: list[Any]) -> tuple[list[RecordedRun], list[Source]]:
    sources = [Source(name=f"{number}.jsonl", data=fixtures.json_lines(rows)) for number, rows in enumerate(files)]
    assert {registry.detect(fixtures.sample("upload", source.data)).name for source in sources} == {"call-log"}
    return list(registry.get_importer("call-log").runs(sources)), sources


def call(row: Any) -> RecordedStep:
    ((run,), _) = read([row])
    (step,) = run.steps
    return step


def content(output: Any) -> Any:
    return ModelAnswer(output).message["content"]


def bedrock(request: Any, answer: Any, **counts: int) -> RecordedStep:
    return call({**BEDROCK, "requestId": "r", "input": {"inputBodyJson": request, **counts}, "output": answer})


@pytest.mark.parametrize("requests", [REQUEST, {"requests": [REQUEST]}])
def test_anthropic_results_join_their_requests(requests: Any) -> None:
    runs, _ = read(ANTHROPIC, [requests])
    assert [(run.external_id.split("-")[0], run.status) for run in runs] == [
        ("msg", RunStatus.COMPLETED),
        ("b", RunStatus.FAILED),
        ("c", RunStatus.FAILED),
    ]
    (step,) = runs[0].steps
    assert (step.model, step.tokens_in, step.tokens_out, step.provider) == ("claude-x", 11, 3, "anthropic")
    assert step.input == {"messages": [QUESTION], "parameters": {"max_tokens": 9}}
    assert step.output == {"message": {"role": "assistant", "content": "Yes."}, "finish_reason": "stop"}
    assert [run.steps[0].error for run in runs[1:]] == ["too long", "expired"]
    alone, _ = read(ANTHROPIC)
    assert alone[0].steps[0].input is None, "no input is invented"


def test_requests_without_results_are_refused() -> None:
    with pytest.raises(BadFile, match="a batch of 1 requests without answers"):
        read([REQUEST])


def test_gemini_and_vertex_results_are_calls() -> None:
    step = call({"key": "a", "response": GEMINI_ANSWER})
    assert (step.model, step.tokens_in, step.tokens_out, step.input) == ("gemini-x", 8, 4, None)
    step = call({"status": "", "request": GEMINI_REQUEST, "response": GEMINI_ANSWER, "processed_time": "2026-03-01"})
    assert step.input == {"messages": [QUESTION], "parameters": {"temperature": 0.4}}
    assert step.output == {"message": {"role": "assistant", "content": "Yes."}, "finish_reason": "stop"}
    assert call({"key": "a", "error": {"code": 3, "message": "no such model"}}).error == "no such model"
    assert call({"request": GEMINI_REQUEST, "response": {}, "status": "Bad Request"}).error == "Bad Request"
    blocked = call({"key": "a", "response": {"promptFeedback": {"blockReason": "SAFETY"}}})
    assert (blocked.status, blocked.error) == ("error", "blocked: SAFETY")


def test_gemini_thoughts_are_counted_and_separate() -> None:
    parts = [{"text": "Look it up.", "thought": True}, {"text": "Yes.", "thoughtSignature": "c2ln"}]
    usage = {"promptTokenCount": 8, "candidatesTokenCount": 2, "thoughtsTokenCount": 5}
    sources = {"groundingMetadata": {"webSearchQueries": ["Dune"]}}
    step = call({"candidates": [{"content": {"role": "model", "parts": parts}, **sources}], "usageMetadata": usage})
    assert content(step.output) == [
        {"type": "thinking", "thinking": "Look it up."},
        {"type": "text", "text": "Yes."},
    ]
    assert (step.tokens_out, step.attributes["groundingMetadata"]) == (7, sources["groundingMetadata"])
    assert step.attributes["continuation"] == [{"part": 1, "thoughtSignature": "c2ln"}]


def test_tools_of_the_provider_are_steps() -> None:
    def use(id: str, **fields: Any) -> dict[str, Any]:
        return {"type": "server_tool_use", "id": id, "name": "web_search", "input": {"query": id}} | fields

    def result(id: str, content: Any, **fields: Any) -> dict[str, Any]:
        return {"type": "web_search_tool_result", "tool_use_id": id, "content": content} | fields

    pages = [{"type": "web_search_result", "url": "https://shop.example", "title": "Shop"}]
    text = {"type": "text", "text": "Yes.", "citations": [{"url": "https://shop.example", "cited_text": "Dune"}]}
    blocks = [
        *(use("a"), result("a", pages)),
        *(use("b"), result("b", {"type": "web_search_tool_result_error", "error_code": "max_uses_exceeded"})),
        *(use("c", name="bash_code_execution"), result("c", {"stdout": "", "return_code": 2})),
        *(use("d", type="mcp_tool_use", server_name="shop"), result("d", [{"text": "no till"}], is_error=True)),
        *(use("e"), text),
    ]
    ((run,), _) = read([{"type": "message", "role": "assistant", "id": "m", "content": blocks}])
    model, *tools = run.steps
    assert run.status == "completed"
    assert [(step.input, step.status.value, step.error, step.links) for step in tools] == [
        ({"query": "a"}, "ok", "", (model.key,)),
        ({"query": "b"}, "error", "max_uses_exceeded", (model.key,)),
        ({"query": "c"}, "error", "return code 2", (model.key,)),
        ({"query": "d"}, "error", "no till", (model.key,)),
        ({"query": "e"}, "partial", "", (model.key,)),
    ]
    assert (tools[0].output, content(model.output)[-1]) == (pages, text)


def test_bedrock_converse_has_calls_and_tools() -> None:
    use = {"toolUse": {"toolUseId": "t1", "name": "find_book", "input": {"title": "Dune"}}}
    tool = {"toolSpec": {"name": "find_book", "inputSchema": {"json": {"type": "object"}}}}
    request = {
        "system": [{"text": "Be brief."}],
        "messages": [{"role": "user", "content": [{"text": "Is Dune in stock?"}]}],
        "inferenceConfig": {"maxTokens": 9},
        "toolConfig": {"tools": [tool]},
    }
    answer = {"output": {"message": {"content": [use]}}, "stopReason": "tool_use", "metrics": {"latencyMs": 1500}}
    step = bedrock(request, {"outputBodyJson": answer, "outputTokenCount": 5}, inputTokenCount=7)
    assert step.input == {
        "messages": [{"role": "system", "content": "Be brief."}, QUESTION],
        "tools": [{"name": "find_book", "parameters": {"type": "object"}}],
        "parameters": {"max_tokens": 9},
    }
    assert ModelAnswer(step.output).calls == [{"id": "t1", "name": "find_book", "arguments": {"title": "Dune"}}]
    assert (step.model, step.tokens_in, step.tokens_out) == ("eu.claude-x", 7, 5)
    assert step.started_at is not None
    assert step.ended_at is not None
    assert (step.ended_at - step.started_at).total_seconds() == 1.5
    failed = call({**BEDROCK, "requestId": "r", "errorCode": "ThrottlingException"})
    assert (failed.status, failed.error) == ("error", "ThrottlingException")


@pytest.mark.parametrize(
    ("request_body", "answer"),
    [
        ({"prompt": "Is Dune in stock?"}, {"generation": "Yes."}),
        ({"inputText": "Is Dune in stock?"}, {"results": [{"outputText": "Yes."}]}),
        ({"message": "Is Dune in stock?"}, {"text": "Yes."}),
        ('{"messages": [{"role": "user", "content": "Is Dune in stock?"}]}', {"role": "assistant", **MESSAGE}),
        ({"prompt": "Is Dune in stock?"}, [{"completion": "Ye"}, {"completion": "s.", "stop_reason": "stop"}]),
    ],
)
def test_bodies_of_all_models_are_read(request_body: Any, answer: Any) -> None:
    step = bedrock(request_body, {"outputBodyJson": answer})
    assert (fixtures.request_contents(step), ModelAnswer(step.output).text) == (["Is Dune in stock?"], "Yes.")


@pytest.mark.parametrize(
    "events",
    [
        [
            {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
            {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Let me "}},
            {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "look."}},
            {"type": "content_block_start", "index": 1, "content_block": {"type": "tool_use", "id": "t", "name": "f"}},
            {"type": "content_block_delta", "index": 1, "delta": {"partial_json": '{"n"'}},
            {"type": "content_block_delta", "index": 1, "delta": {"partial_json": ": 3}"}},
            {"type": "message_delta", "delta": {"stop_reason": "tool_use"}},
        ],
        [
            {"messageStart": {"role": "assistant"}},
            {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": "Let me look."}}},
            {"contentBlockStart": {"contentBlockIndex": 1, "start": {"toolUse": {"toolUseId": "t", "name": "f"}}}},
            {"contentBlockDelta": {"contentBlockIndex": 1, "delta": {"toolUse": {"input": '{"n": 3}'}}}},
            {"messageStop": {"stopReason": "tool_use"}},
        ],
    ],
)
def test_streamed_answer_is_joined(events: list[Any]) -> None:
    answer = join_stream(events)
    text, use = blocks(answer)
    assert (text["text"], use["id"], use["name"], use["input"]) == ("Let me look.", "t", "f", '{"n": 3}')
    assert answer["stop_reason"] == "tool_use"


def blocks(answer: Any) -> list[Any]:
    return list(answer["content"])


def test_single_answer_is_call() -> None:
    assert call({"type": "message", **MESSAGE}).output == call(ANTHROPIC[0]).output
    assert call(GEMINI_ANSWER).tokens_in == 8


def test_bedrock_choice_of_tools_and_thoughts_are_kept() -> None:
    choice = {"tool": {"name": "find_book"}}
    thought = {"reasoningContent": {"reasoningText": {"text": "Both.", "signature": "s1"}}}
    request = {"messages": [{"role": "user", "content": [{"text": "Dune?"}]}], "toolConfig": {"toolChoice": choice}}
    answer = {"output": {"message": {"content": [thought, {"text": "Yes."}]}}}
    step = bedrock(request, {"outputBodyJson": answer})
    assert as_object(step.input)["parameters"] == {"tool_choice": choice}
    block = {"type": "thinking", "thinking": "Both.", "signature": "s1"}
    assert ModelAnswer(step.output).message["content"] == [block, {"type": "text", "text": "Yes."}]


def test_log_events_of_cloudwatch_contain_the_log_of_bedrock() -> None:
    record = {**BEDROCK, "requestId": "r", "input": {"inputBodyJson": {"prompt": "Dune?"}}}
    message = orjson.dumps(record).decode()
    page = {"events": [{"timestamp": 1_772_359_200_000, "message": message}]}
    query = {"results": [[{"field": "@timestamp", "value": "t"}, {"field": "@message", "value": message}]]}
    for value in (page, query):
        ((run,), problems) = fixtures.detect_and_read("call-log", fixtures.json_lines([value]))
        assert (run.external_id, fixtures.request_contents(run.steps[0]), problems) == ("r", ["Dune?"], [])


def test_rows_of_the_log_of_vertex_are_calls() -> None:
    payloads = {"full_request": GEMINI_REQUEST, "full_response": GEMINI_ANSWER}
    row = {name: orjson.dumps(payload).decode() for name, payload in payloads.items()}
    row |= {"logging_time": "2026-03-01 10:00:00.5 UTC", "request_id": "r-1", "api_method": "generateContent"}
    ((run,), problems) = fixtures.detect_and_read("call-log", fixtures.json_lines([row]))
    assert (run.external_id, fixtures.answer_contents(run), problems) == ("r-1", ["Yes."], [])
    assert fixtures.request_contents(run.steps[0]) == ["Is Dune in stock?"]
    assert run.steps[0].started_at is not None


def test_cached_tokens_of_converse_are_part_of_the_input() -> None:
    usage = normalize_usage({"inputTokens": 5, "cacheReadInputTokens": 100, "cacheWriteInputTokens": 7}, "/usage")
    assert (usage.tokens_in, usage.tokens_cached) == (112, 100)
