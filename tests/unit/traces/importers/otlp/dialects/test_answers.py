import json
from typing import Any

from tests.unit.traces.importers.otlp.dialects.test_steps import step_of

MODEL = {"openinference.span.kind": "LLM"}
CHAT = {"gen_ai.operation.name": "chat"}


def choice(text: str, reason: str = "stop", **fields: Any) -> Any:
    return {"message": {"role": "assistant", "content": text, **fields}, "finish_reason": reason}


def test_copies_of_answer_are_left_out_only_if_equal() -> None:
    for text in ("Two.", "Three."):
        copy = {"llm.output_messages.0.message.role": "assistant", "llm.output_messages.0.message.content": text}
        step = step_of({**MODEL, "output.value": json.dumps({"choices": [choice("Two.")]}), **copy})
        assert step.output == {"message": {"role": "assistant", "content": "Two."}, "finish_reason": "stop"}
        assert ("llm.output_messages.0.message.content" in step.attributes) is (text == "Three.")


def test_fields_of_response_become_attributes() -> None:
    usage = {"prompt_tokens": 4, "completion_tokens": 3, "completion_tokens_details": {"reasoning_tokens": 2}}
    response = {"id": "r1", "model": "m", "choices": [choice("Two.", refusal=None, reasoning_content="1+1")]}
    step = step_of({**MODEL, "output.value": json.dumps({**response, "usage": usage})})
    assert (step.tokens_in, step.tokens_out) == (4, 3)
    assert step.attributes["usage"] == usage
    assert step.attributes["response"] == {"id": "r1"}
    assert step.attributes["answer"] == {"reasoning_content": "1+1"}


def test_calls_that_geminis_client_made_become_attributes() -> None:
    history = [{"role": "user", "parts": [{"function_response": {"name": "find", "response": {"result": "sent"}}}]}]
    candidate = {"content": {"role": "model", "parts": [{"text": "Two."}]}, "finish_reason": "STOP"}
    response = {"candidates": [candidate], "response_id": "r1", "automatic_function_calling_history": history}
    step = step_of({**MODEL, "output.value": json.dumps(response)})
    assert step.output == {"message": {"role": "assistant", "content": "Two."}, "finish_reason": "stop"}
    assert step.attributes["response"] == {"response_id": "r1", "automatic_function_calling_history": history}


def test_other_choices_become_attributes() -> None:
    response = {"choices": [choice("Two."), choice("Too.", "length")]}
    step = step_of({**MODEL, "output.value": json.dumps(response)})
    assert step.attributes["choices"] == [choice("Too.", "length")]
    parts = [{"role": "assistant", "parts": [{"type": "text", "content": text}]} for text in ("Two.", "Too.")]
    messages = [{**message, "finish_reason": "stop"} for message in parts]
    step = step_of({**CHAT, "gen_ai.output.messages": json.dumps(messages)})
    assert step.output == {"message": {"role": "assistant", "content": "Two."}, "finish_reason": "stop"}
    assert step.attributes["choices"] == [{"message": messages[1], "finish_reason": "stop"}]


def test_reason_of_message_is_recorded() -> None:
    completion = {"gen_ai.completion.0.role": "assistant", "gen_ai.completion.0.content": "Two."}
    step = step_of({"llm.request.type": "chat", **completion, "gen_ai.completion.0.finish_reason": "end_turn"})
    assert step.output == {"message": {"role": "assistant", "content": "Two."}, "finish_reason": "stop"}


def test_reason_of_response_precedes_that_of_tracer() -> None:
    call = {"type": "function_call", "call_id": "c1", "name": "find", "arguments": "{}"}
    response = {"id": "r1", "output": [call], "top_p": 0.9, "error": None, "tools": [{"name": "find"}]}
    step = step_of({**MODEL, "output.value": json.dumps(response), "llm.finish_reason": "stop"})
    assert isinstance(step.output, dict)
    assert step.output["finish_reason"] == "tool_calls"
    assert step.attributes["response"] == {"id": "r1", "top_p": 0.9}


def test_call_without_arguments_is_an_answer() -> None:
    for function in ({"name": "list_orders", "arguments": "{}"}, {"name": "list_orders"}):
        message = {"role": "assistant", "tool_calls": [{"id": "c1", "type": "function", "function": function}]}
        step = step_of({**MODEL, "output.value": json.dumps({"choices": [{"message": message}]})})
        assert (step.output is not None) is ("arguments" in function)


def test_response_in_a_list_is_the_answer() -> None:
    text = {"type": "output_text", "text": "Two."}
    response = {"output": [{"type": "message", "role": "assistant", "content": [text]}], "usage": {"input_tokens": 4}}
    step = step_of({**MODEL, "output.value": json.dumps([response])})
    assert step.output == {"message": {"role": "assistant", "content": "Two."}, "finish_reason": "stop"}
    assert step.tokens_in == 4


def test_plain_responses_are_read_like_those_with_other_fields() -> None:
    """A plain response is read in a quicker way, which must not show."""
    call = {"id": "c1", "type": "function", "function": {"name": "find", "arguments": '{"id": 2}'}}
    texts = [choice("Two."), choice("", "length"), choice("", "tool_calls", tool_calls=[call])]
    usages: list[Any] = [
        {"prompt_tokens": 4, "completion_tokens": 3, "total_tokens": 7},
        {"input_tokens": 4, "output_tokens": 3, "cached_tokens": 2},
        {"prompt_tokens": None, "completion_tokens": "3"},
        {"prompt_tokens": 4, "prompt_tokens_details": {"cached_tokens": 1}, "completion_tokens": 3},
    ]
    for text in texts:
        for usage in usages:
            response = {"id": "r1", "model": "m", "system_fingerprint": None, "choices": [text], "usage": usage}
            plain = step_of({**MODEL, "output.value": json.dumps(response)})
            other = step_of(
                {**MODEL, "output.value": json.dumps({**response, "choices": [{**text, "content_filter": {}}]})}
            )
            assert plain == other
