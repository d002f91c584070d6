"""Model calls as the providers' clients sent them: every field has a place in the step."""

from typing import Any

import pytest

from traces.core.json_access import as_object
from traces.core.recorded_run import RecordedStep
from traces.core.vocabulary import StepType
from traces.importers.formats.tracing.client_calls import client_attributes, model_answer, model_request
from traces.importers.formats.tracing.stored_conversations import link_conversations

TOOL: dict[str, Any] = {"name": "get_order", "description": "Find an order.", "parameters": {"type": "object"}}
USER = {"role": "user", "content": "Where is order 7?"}
SYSTEM = {"role": "system", "content": "Be brief."}
CALL = {"id": "c1", "name": "get_order", "arguments": {"id": 7}}
ASKS = {"role": "assistant", "content": None, "tool_calls": [CALL]}


def payload(api: str, request: Any, response: Any = None) -> Any:
    return {"api": api, "request": request, "response": response}


def test_chat_request_and_answer() -> None:
    function = {"type": "function", "function": TOOL}
    body = {"model": "m1", "messages": [SYSTEM, USER], "tools": [function], "seed": 7, "max_completion_tokens": 9}
    call = {"id": "c1", "type": "function", "function": {"name": "get_order", "arguments": '{"id": 7}'}}
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    usage = {"prompt_tokens": 9, "completion_tokens": 2, "completion_tokens_details": {"reasoning_tokens": 1}}
    response = {"id": "r", "choices": [{"message": message, "finish_reason": "tool_calls"}], "usage": usage}
    event = payload("openai.chat", {**body, "stream": True, "user": "mira"}, response)
    assert model_request(event) == {
        "messages": [SYSTEM, USER],
        "tools": [TOOL],
        "parameters": {"seed": 7, "max_tokens": 9},
    }
    answer = model_answer(event)
    assert (answer.output, answer.usage.tokens_in) == ({"message": ASKS, "finish_reason": "tool_calls"}, 9)
    assert client_attributes(event) == {
        "request": {"stream": True, "user": "mira"},
        "response": {"id": "r"},
        "usage": usage,
    }


def test_responses_with_parallel_calls() -> None:
    items = [{"type": "function_call", "call_id": id, "name": "get_order", "arguments": '{"id": 7}'} for id in "ab"]
    body = {"model": "m1", "input": [USER], "instructions": "Be brief.", "tools": [{"type": "function", **TOOL}]}
    event = payload("openai.responses", {**body, "store": False}, {"id": "r", "output": items, "status": "completed"})
    assert model_request(event) == {"messages": [SYSTEM, USER], "tools": [TOOL]}
    output: Any = model_answer(event).output
    assert [call["id"] for call in output["message"]["tool_calls"]] == ["a", "b"]
    assert client_attributes(event)["request"] == {"store": False}


def test_anthropic_request_and_answer() -> None:
    schema = {"name": TOOL["name"], "description": TOOL["description"], "input_schema": TOOL["parameters"]}
    body = {"model": "m1", "system": "Be brief.", "messages": [USER], "tools": [schema], "max_tokens": 9}
    use = {"type": "tool_use", "id": "c1", "name": "get_order", "input": {"id": 7}}
    usage = {"input_tokens": 5, "cache_read_input_tokens": 4, "cache_creation_input_tokens": 0, "output_tokens": 2}
    event = payload("anthropic.messages", body, {"content": [use], "stop_reason": "tool_use", "usage": usage})
    assert model_request(event) == {"messages": [SYSTEM, USER], "tools": [TOOL], "parameters": {"max_tokens": 9}}
    answer = model_answer(event)
    assert answer.output == {"message": ASKS, "finish_reason": "tool_calls"}
    assert (answer.usage.tokens_in, answer.usage.tokens_cached) == (9, 4)


def test_gemini_request_and_answer() -> None:
    declaration = {"name": TOOL["name"], "description": TOOL["description"], "parametersJsonSchema": TOOL["parameters"]}
    body = {
        "contents": [{"role": "user", "parts": [{"text": "Where is order 7?"}]}],
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "tools": [{"functionDeclarations": [declaration]}],
        "generationConfig": {"temperature": 0.2, "maxOutputTokens": 9, "responseSchema": {"type": "object"}},
    }
    parts = [{"functionCall": {"id": "c1", "name": "get_order", "args": {"id": 7}}}]
    usage = {"promptTokenCount": 9, "candidatesTokenCount": 2, "cachedContentTokenCount": 4}
    candidate = {"content": {"role": "model", "parts": parts}, "finishReason": "STOP"}
    event = payload("google.generate_content", body, {"candidates": [candidate], "usageMetadata": usage})
    assert model_request(event) == {
        "messages": [SYSTEM, USER],
        "tools": [TOOL],
        "parameters": {"temperature": 0.2, "max_tokens": 9},
        "response_format": {"type": "object"},
    }
    answer = model_answer(event)
    assert answer.output == {"message": ASKS, "finish_reason": "stop"}
    assert (answer.usage.tokens_in, answer.usage.tokens_out, answer.usage.tokens_cached) == (9, 2, 4)


def test_litellm_usage_counts_cached_tokens_once() -> None:
    usage = {"prompt_tokens": 9, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 4}}
    message = {"role": "assistant", "content": "Shipped."}
    response: Any = {"choices": [{"message": message}], "usage": {**usage, "cache_read_input_tokens": 4}}
    counts = model_answer(payload("anthropic.messages", {}, response)).usage
    assert (counts.tokens_in, counts.tokens_cached) == (9, 4)


def test_steps_recorded_by_hand_keep_their_form() -> None:
    request: Any = {"messages": [USER], "tools": [TOOL], "parameters": {"temperature": 0}}
    assert model_request({"request": request}) == request
    assert model_request({"request": "Where is order 7?"}) == "Where is order 7?"
    assert client_attributes({"request": request}) == {}


def test_event_written_by_hand_keeps_all_of_its_request() -> None:
    body: Any = {"system": "Be brief.", "messages": [USER], "top_k": 5, "temperature": 0.5, "user": "u1"}
    event: Any = {"request": body, "temperature": 0, "top_p": 0.9, "max_tokens": 64, "seed": 7, "finish_reason": "stop"}
    parameters = {"top_k": 5, "temperature": 0.5, "top_p": 0.9, "max_tokens": 64, "seed": 7}
    assert model_request(event) == {"messages": [SYSTEM, USER], "parameters": parameters}
    assert client_attributes(event) == {"request": {"user": "u1"}}
    answer = as_object(model_answer({**event, "response": "In Berlin."}).output)
    assert (answer["message"], answer["finish_reason"]) == ({"role": "assistant", "content": "In Berlin."}, "stop")


def test_content_that_the_provider_stores() -> None:
    """The answer depends on it, so requests that name other content are not the same call."""
    stored = {"previous_response_id": "resp_1", "truncation": "auto", "store": True}
    request = model_request(payload("openai.responses", {"model": "m1", "input": "And now?", **stored}))
    assert as_object(request)["parameters"] == {"previous_response_id": "resp_1", "truncation": "auto"}
    gemini = {"contents": [{"parts": [{"text": "Hi"}]}], "cachedContent": "c1", "generationConfig": {"seed": 7}}
    request = model_request(payload("google.generate_content", gemini))
    assert as_object(request)["parameters"] == {"seed": 7, "cachedContent": "c1"}


@pytest.mark.parametrize(
    "previous",
    [{"previous_response_id": "resp_1"}, {"thread": {"type": "continue", "previous_message_id": "resp_1"}}],
)
def test_stored_conversation_is_linked(previous: Any) -> None:
    first = RecordedStep(key="1", type=StepType.MODEL, name="m1", attributes={"response": {"id": "resp_1"}})
    request: Any = {"messages": [USER], "parameters": previous}
    steps = link_conversations([first, RecordedStep(key="2", type=StepType.MODEL, name="m1", input=request)])
    assert [step.links for step in steps] == [(), ("1",)]


def test_ollama_request_and_answer() -> None:
    function = {"type": "function", "function": TOOL}
    messages = [
        {"role": "user", "content": USER["content"], "images": ["/9j/4A"]},
        {"role": "assistant", "content": "", "thinking": "Hm.", "tool_calls": [{"function": CALL}]},
        {"role": "tool", "tool_name": "get_order", "content": "sent"},
    ]
    body = {"model": "m1", "messages": messages, "tools": [function], "think": True, "keep_alive": "5m"}
    options = {"options": {"num_predict": 9, "top_k": 3}, "format": {"type": "object"}}
    response = {
        "model": "m1",
        "message": {"role": "assistant", "content": "Sent.", "thinking": "Hm."},
        **{"done": True, "done_reason": "length", "total_duration": 5, "prompt_eval_count": 3, "eval_count": 2},
    }
    event = payload("ollama.chat", {**body, **options}, response)
    image = {"type": "image_url", "image_url": {"url": "data:image/jpeg;base64,/9j/4A"}}
    thought = {"type": "thinking", "thinking": "Hm."}
    assert model_request(event) == {
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": USER["content"]}, image]},
            {"role": "assistant", "content": [thought], "tool_calls": [CALL]},
            {"role": "tool", "content": "sent", "name": "get_order"},
        ],
        "tools": [TOOL],
        "parameters": {"think": True, "top_k": 3, "max_tokens": 9},
        "response_format": {"type": "json_schema", "json_schema": {"name": "answer", "schema": {"type": "object"}}},
    }
    answer = model_answer(event)
    message = {"role": "assistant", "content": [thought, {"type": "text", "text": "Sent."}]}
    assert answer.output == {"message": message, "finish_reason": "length"}
    assert (answer.usage.tokens_in, answer.usage.tokens_out) == (3, 2)
    assert client_attributes(event) == {"request": {"keep_alive": "5m"}, "usage": {"total_duration": 5}}


def test_ollama_completion_of_a_prompt() -> None:
    body = {"model": "m1", "system": "Be brief.", "prompt": USER["content"], "format": "json"}
    event = payload("ollama.generate", body, {"model": "m1", "response": "No.", "done": True, "done_reason": "stop"})
    assert model_request(event) == {"messages": [SYSTEM, USER], "response_format": {"type": "json_object"}}
    answer = model_answer(event)
    assert answer.output == {"message": {"role": "assistant", "content": "No."}, "finish_reason": "stop"}
