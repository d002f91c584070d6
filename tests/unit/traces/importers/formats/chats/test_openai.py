"""OpenAI recordings: Agents SDK traces, responses, batches."""

from typing import Any

import pytest

from tests.support import importing_fixtures as fixtures
from traces.core.recorded_run import RecordedRun
from traces.core.vocabulary import RunStatus, StepStatus, StepType
from traces.importers import registry
from traces.importers.files.errors import BadFile
from traces.importers.files.source import Source
from traces.importers.formats.chats.openai_items import normalize_items


def read(*values: Any) -> tuple[list[RecordedRun], list[str]]:
    """Read a file with one value per line; return its runs and problems."""
    source = Source(name="lines", data=fixtures.json_lines(values))
    runs = list(registry.detect(fixtures.sample("lines", source.data)).runs([source]))
    return runs, [str(problem) for problem in source.problems]


def test_agents_trace_has_same_tree() -> None:
    run = fixtures.run("openai_agents.jsonl")
    assert (run.external_id, run.app, run.metadata["session_id"]) == ("trace_1", "Bookshop", "chat-7")
    assert [(step.type.value, step.name, step.parent) for step in run.steps] == [
        ("agent", "clerk", None),
        ("tool", "tools/list", "span_a"),
        ("safety", "no spoilers", "span_a"),
        ("agent", "turn 1", "span_a"),
        ("model", "gpt-4o-mini", "span_turn"),
        ("tool", "find_book", "span_turn"),
        ("planner", "handoff to cashier", "span_a"),
        ("agent", "cashier", None),
        ("model", "gpt-4o-mini-2024", "span_b"),
        ("model", "response", "span_b"),
        ("tool", "open_till", "span_b"),
    ]


def test_agents_models_have_requests_and_answers() -> None:
    first, second, unrecorded = fixtures.steps(fixtures.run("openai_agents.jsonl"), StepType.MODEL)
    assert first.input == {
        "messages": [fixtures.SYSTEM, fixtures.REQUEST],
        "parameters": {"temperature": 0.2},
    }
    assert first.output == {"message": fixtures.CALL}
    assert (first.tokens_in, first.tokens_out) == (42, 9)
    assert first.attributes == {"base_url": "https://api.example.org/v1/"}
    request: Any = second.input
    assert request["messages"] == [fixtures.SYSTEM, fixtures.REQUEST, fixtures.CALL, fixtures.RESULT]
    assert request["tools"][0]["name"] == "find_book"
    assert second.output == {
        "message": {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "Three on the shelf."},
                {"type": "text", "text": "Yes, three copies."},
            ],
        },
        "finish_reason": "stop",
    }
    assert (second.tokens_in, second.tokens_cached, second.provider) == (60, 16, "openai")
    assert (unrecorded.input, unrecorded.output, unrecorded.attributes["response_id"]) == (None, None, "resp_2")


def test_generation_of_items_has_all_calls() -> None:
    rows: Any = [record.value for record in fixtures.source("openai_agents.jsonl").records()]
    calls = [
        {"type": "function_call", "call_id": f"call_{number}", "name": "find_book", "arguments": "{}"}
        for number in (1, 2)
    ]
    generation = {**rows[3], "span_data": {**rows[3]["span_data"], "output": calls}}
    (run,), _ = read(rows[0], generation)
    output: Any = run.steps[0].output
    assert [call["id"] for call in output["message"]["tool_calls"]] == ["call_1", "call_2"]


def test_agents_tool_error_is_recorded() -> None:
    success, failure = fixtures.steps(fixtures.run("openai_agents.jsonl"), StepType.TOOL)[1:]
    assert (success.input, success.output, success.call_id) == ({"title": "Dune"}, "3 copies", "call_1")
    assert (failure.status, failure.error) == (StepStatus.ERROR, "Error running tool (non-fatal)")
    assert failure.attributes["error_data"] == {"tool_name": "open_till", "error": "the till is stuck"}


def test_trace_in_one_document_is_equal() -> None:
    rows = [record.value for record in fixtures.source("openai_agents.jsonl").records()]
    trace: Any = rows[0]
    for document in (rows, {"data": rows}, {**trace, "spans": rows[1:]}):
        (run,), problems = read(document)
        assert (run.steps, problems) == (fixtures.run("openai_agents.jsonl").steps, [])


def test_trace_without_spans_is_rejected() -> None:
    runs, problems = read({"object": "trace", "id": "trace_9", "workflow_name": "Bookshop", "group_id": None})
    assert (runs, problems) == ([], ["no span of this trace is recorded (trace trace_9)"])


def test_items_of_one_answer_are_one_message() -> None:
    call = {"type": "function_call", "call_id": "call_1", "name": "find_book", "arguments": '{"title": "Dune"}'}
    answer = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "I look."}]}
    output = {"type": "function_call_output", "call_id": "call_1", "output": "3 copies"}
    items: Any = [{"role": "user", "content": "Is Dune in stock?"}, answer, call, output]
    assert normalize_items(items) == [fixtures.REQUEST, {**fixtures.CALL, "content": "I look."}, fixtures.RESULT]


RESPONSE: dict[str, Any] = {
    "id": "resp_1",
    "object": "response",
    "created_at": 1790000000,
    "status": "completed",
    "model": "gpt-4o-mini",
    "instructions": "You keep a bookshop.",
    "temperature": 0.2,
    "tools": [],
    "text": {"format": {"type": "text"}},
    "output": [
        {
            "type": "function_call",
            "id": "fc_1",
            "call_id": "call_1",
            "name": "find_book",
            "arguments": '{"title":"Dune"}',
        }
    ],
    "usage": {"input_tokens": 42, "output_tokens": 9},
}
FINAL: dict[str, Any] = {
    **RESPONSE,
    "id": "resp_2",
    "created_at": 1790000002,
    "previous_response_id": "resp_1",
    "output": [
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Yes, three copies."}]}
    ],
}
FIRST_REQUEST = {"model": "gpt-4o-mini", "input": "Is Dune in stock?", "instructions": "You keep a bookshop."}
RESULT_ITEM = {"type": "function_call_output", "call_id": "call_1", "output": "3 copies"}


def test_single_response_has_no_input() -> None:
    (run,), problems = read(RESPONSE)
    (step,) = run.steps
    assert (run.external_id, step.input, problems) == ("resp_1", None, [])
    assert step.attributes["instructions"] == "You keep a bookshop."
    assert step.output == {"message": fixtures.CALL, "finish_reason": "tool_calls"}
    assert (step.tokens_in, step.model, step.provider) == (42, "gpt-4o-mini", "openai")


def test_chained_responses_are_one_run() -> None:
    (run,), problems = read(
        {"request": {"model": "gpt-4o-mini", "input": [RESULT_ITEM]}, "response": FINAL},
        {"request": FIRST_REQUEST, "response": RESPONSE},
    )
    assert ([step.type.value for step in run.steps], problems) == (
        ["agent", "turn", "model", "tool", "model", "output"],
        [],
    )
    last: Any = fixtures.steps(run, StepType.MODEL)[1].input
    assert last["messages"] == [fixtures.SYSTEM, fixtures.REQUEST, fixtures.CALL, fixtures.RESULT]
    (tool,) = fixtures.steps(run, StepType.TOOL)
    assert (tool.input, tool.output, tool.call_id) == ({"title": "Dune"}, "3 copies", "call_1")


@pytest.mark.parametrize(
    "more_responses", [[], [{"id": "resp_3", "object": "response", "output": [], "previous_response_id": "resp_2"}]]
)
def test_cycle_of_responses_is_rejected(more_responses: list[Any]) -> None:
    with pytest.raises(BadFile, match=r"response resp_\d follows itself"):
        read({**RESPONSE, "previous_response_id": "resp_2"}, FINAL, *more_responses)


def test_provider_tools_are_steps() -> None:
    calls = [
        {
            "type": "mcp_call",
            "id": "mcp_1",
            "server_label": "shop",
            "name": "find_book",
            "arguments": '{"title": "Dune"}',
            "output": "3 copies",
        },
        {"type": "mcp_call", "id": "mcp_2", "name": "open_till", "arguments": "{}", "error": "the till is stuck"},
        {
            "type": "mcp_call",
            "name": "ring_bell",
            "arguments": "{}",
            "error": {"type": "mcp_tool_execution_error", "content": [{"type": "text", "text": "no bell"}]},
        },
        {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "Dune"}},
        {"type": "program", "id": "pr_1", "call_id": "cp_1", "code": "1 + 1"},
        {"type": "program_output", "id": "po_1", "call_id": "cp_1", "result": "2"},
        {"type": "image_generation_call", "id": "ig_1", "revised_prompt": "A cover", "result": "aGk="},
    ]
    facts = {"safety_identifier": "user-7", "prompt_cache_key": "shop"}
    (run,), _ = read({**FINAL, **facts, "status": "completed", "output": [*calls, *FINAL["output"]]})
    assert facts.items() <= fixtures.steps(run, StepType.MODEL)[0].attributes.items()
    assert run.status is RunStatus.COMPLETED, "the model handled the errors"
    tools = fixtures.steps(run, StepType.TOOL)
    assert [(step.name, step.status, step.error) for step in tools] == [
        ("find_book", StepStatus.OK, ""),
        ("open_till", StepStatus.ERROR, "the till is stuck"),
        ("ring_bell", StepStatus.ERROR, "no bell"),
        ("web_search", StepStatus.OK, ""),
        ("program", StepStatus.OK, ""),
        ("image_generation", StepStatus.OK, ""),
    ]
    assert (tools[-2].input, tools[-2].output) == ({"code": "1 + 1"}, "2")
    assert (tools[-1].input, tools[-1].output) == ({"prompt": "A cover"}, "aGk=")
    assert tools[0].attributes["server"] == "shop"
    assert (tools[0].input, tools[0].output) == ({"title": "Dune"}, "3 copies")


def test_failed_response_fails_its_run() -> None:
    (run,), _ = read(
        {**RESPONSE, "status": "failed", "output": [], "error": {"code": "server_error", "message": "try again"}}
    )
    assert (run.status, run.steps[0].error, run.steps[0].output) == (RunStatus.FAILED, "try again", None)


def batch_line(custom_id: str, **answer: Any) -> dict[str, Any]:
    return {"id": f"batch_req_{custom_id}", "custom_id": custom_id, "response": None, "error": None, **answer}


REQUESTS = [
    {
        "custom_id": "q1",
        "method": "POST",
        "url": "/v1/chat/completions",
        "body": {
            "model": "gpt-4o-mini",
            "temperature": 0.2,
            "messages": [{"role": "user", "content": "Is Dune in stock?"}],
        },
    },
    {"custom_id": "q2", "method": "POST", "url": "/v1/responses", "body": FIRST_REQUEST},
]
COMPLETION = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 1790000000,
    "model": "gpt-4o-mini-2024",
    "choices": [
        {"index": 0, "message": {"role": "assistant", "content": "Yes, three copies."}, "finish_reason": "stop"}
    ],
    "usage": {"prompt_tokens": 11, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 4}},
}
ANSWERS = [
    batch_line("q2", response={"status_code": 200, "request_id": "r2", "body": RESPONSE}),
    batch_line("q1", response={"status_code": 200, "request_id": "r1", "body": COMPLETION}),
    batch_line("q3", error={"code": "batch_expired", "message": "This request expired."}),
    batch_line("q4", response={"status_code": 429, "request_id": "r4", "body": {"error": {"message": "slow down"}}}),
]


def test_errors_and_settings_of_answers_are_kept() -> None:
    settings: dict[str, Any] = {
        "reasoning": {"effort": "high"},
        "text": {"verbosity": "low"},
        "parallel_tool_calls": True,
    }
    refusal = {"message": "slow down", "type": "rate_limit", "code": "too_many", "param": None}
    runs, _ = read(
        batch_line("q1", response={"status_code": 200, "body": {**RESPONSE, **settings}}),
        batch_line("q2", response={"status_code": 429, "body": {"error": refusal}}),
        batch_line("q3", error={"code": "batch_expired", "message": "This request expired."}),
    )
    answer, refused, expired = (run.steps[0] for run in runs)
    assert {name: answer.attributes[name] for name in settings} == settings
    assert refused.attributes["error"] == {"type": "rate_limit", "code": "too_many"}
    assert (expired.error, expired.attributes["error"]) == ("This request expired.", {"code": "batch_expired"})


def test_batch_joins_answers_and_requests() -> None:
    runs, problems = read(*REQUESTS, *ANSWERS)
    assert problems == []
    assert [(run.external_id, run.status, run.metadata["custom_id"]) for run in runs] == [
        ("batch_req_q2", RunStatus.COMPLETED, "q2"),
        ("batch_req_q1", RunStatus.COMPLETED, "q1"),
        ("batch_req_q3", RunStatus.FAILED, "q3"),
        ("batch_req_q4", RunStatus.FAILED, "q4"),
    ]
    (step,) = runs[1].steps
    assert step.input == {"messages": [fixtures.REQUEST], "parameters": {"temperature": 0.2}}
    assert step.output == {"message": fixtures.ANSWER, "finish_reason": "stop"}
    assert (step.tokens_in, step.tokens_cached, step.tokens_out) == (11, 4, 5)
    assert runs[0].steps[0].input == {"messages": [fixtures.SYSTEM, fixtures.REQUEST]}
    assert [run.steps[0].error for run in runs[2:]] == ["This request expired.", "slow down"]


def test_batch_without_answers_is_rejected() -> None:
    with pytest.raises(BadFile, match="a batch of 2 requests without answers"):
        read(*REQUESTS)


def test_equal_answers_are_separate_runs() -> None:
    lines = [{"custom_id": key, "response": {"body": {**COMPLETION, "id": None}}} for key in ("q1", "q2")]
    runs, _ = read(*lines)
    assert len({run.external_id for run in runs}) == 2


def test_saved_completions_are_read() -> None:
    (run,), _ = read({"object": "list", "data": [COMPLETION], "has_more": False})
    assert (run.external_id, run.steps[0].output) == (
        "chatcmpl-1",
        {"message": fixtures.ANSWER, "finish_reason": "stop"},
    )


def test_metadata_of_a_request_is_that_of_the_run() -> None:
    request = {"model": "gpt-4o", "messages": [fixtures.REQUEST], "metadata": {"shop": "north"}}
    completion = {"object": "chat.completion", "id": "c-1", "choices": [{"message": fixtures.ANSWER}]}
    (run,), _ = read({"request": request, "response": completion})
    assert run.metadata["metadata"] == {"shop": "north"}


def test_refused_line_of_a_batch_has_no_answer() -> None:
    body = {"error": {"message": "Unknown model", "type": "invalid_request_error"}}
    line = {"id": "b-1", "custom_id": "r-1", "response": {"status_code": 400, "body": body}, "error": None}
    (run,), problems = read(line)
    (step,) = run.steps
    assert problems == []
    assert (run.status, step.status, step.error, step.output) == (
        RunStatus.FAILED,
        StepStatus.ERROR,
        "Unknown model",
        None,
    )


def test_further_choices_and_citations_are_attributes() -> None:
    choices = [{"index": index, "message": {"role": "assistant", "content": str(index)}} for index in (0, 1)]
    usage = {"prompt_tokens": 3, "completion_tokens": 4, "completion_tokens_details": {"reasoning_tokens": 2}}
    citation = {"type": "url_citation", "url": "https://shop.example"}
    text = {"type": "output_text", "text": "Yes.", "annotations": [citation]}
    response = {
        "id": "r",
        "object": "response",
        "output": [{"type": "message", "role": "assistant", "content": [text]}],
    }
    (completion, cited), _ = read(
        {"id": "c", "object": "chat.completion", "choices": choices, "usage": usage}, response
    )
    assert completion.steps[0].attributes == {"other_choices": choices[1:], "usage": usage}
    assert cited.steps[0].attributes["annotations"] == [citation]


def test_stored_completion_keeps_its_settings_and_user() -> None:
    answer = {"index": 0, "message": {"role": "assistant", "content": "Yes."}, "finish_reason": "stop"}
    facts = {"request_id": "req_1", "input_user": "u1", "seed": 42}
    completion = {"object": "chat.completion", "id": "c1", "model": "gpt-x", "choices": [answer], **facts}
    ((run,), _) = read({"object": "list", "data": [completion], "has_more": False})
    assert facts.items() <= run.steps[0].attributes.items()


def test_embeddings_of_a_batch_are_searches() -> None:
    vectors = [{"object": "embedding", "index": 0, "embedding": [0.5]}]
    body = {"object": "list", "data": vectors, "model": "embed-3", "usage": {"prompt_tokens": 8, "total_tokens": 8}}
    lines = [
        {"custom_id": "r1", "url": "/v1/embeddings", "body": {"model": "embed-3", "input": "Dune", "dimensions": 1}},
        {"id": "b1", "custom_id": "r1", "response": {"status_code": 200, "body": body}},
    ]
    (run,) = fixtures.read("openai", *([line] for line in lines))
    (step,) = run.steps
    assert (step.type, step.input, step.output) == (StepType.RETRIEVAL, {"query": "Dune"}, {"embeddings": vectors})
    assert (step.tokens_in, step.attributes) == (8, {"model": "embed-3", "dimensions": 1})
