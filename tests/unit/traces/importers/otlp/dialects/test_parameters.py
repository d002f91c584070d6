import json
from typing import Any

from tests.unit.traces.importers.otlp.dialects.test_steps import step_of

USER: Any = {"role": "user", "content": "Hi"}
MODEL = {"openinference.span.kind": "LLM"}


def parameters(attributes: dict[str, str]) -> Any:
    step = step_of(attributes)
    assert isinstance(step.input, dict)
    return step.input.get("parameters"), step.attributes


def test_fields_that_shape_no_answer_are_no_parameters() -> None:
    request = {"model": "m", "messages": [USER], "seed": 7, "stream": True, "user": "u1"}
    invocation = {"model": "m", "seed": 7, "stream": True, "user": "u1"}
    attributes = {"input.value": json.dumps(request), "llm.invocation_parameters": json.dumps(invocation)}
    recorded, rest = parameters({**MODEL, **attributes})
    assert recorded == {"seed": 7}
    assert rest["request"] == {"stream": True, "user": "u1"}
    assert "llm.invocation_parameters" not in rest


def test_other_invocation_parameters_are_retained() -> None:
    request = {"model": "m", "messages": [USER], "temperature": 0.5}
    invocation = json.dumps({"temperature": 1, "top_k": 3})
    attributes = {"input.value": json.dumps(request), "llm.invocation_parameters": invocation}
    recorded, rest = parameters({**MODEL, **attributes})
    assert recorded == {"temperature": 0.5, "top_k": 3}
    assert rest["llm.invocation_parameters"] == invocation


def test_fields_of_response_are_no_parameters() -> None:
    invocation = {"id": "r1", "created_at": 1.0, "instructions": "Be brief.", "top_p": 1.0, "base_url": "http://x"}
    attributes = {"input.value": json.dumps([USER]), "llm.invocation_parameters": json.dumps(invocation)}
    recorded, rest = parameters({**MODEL, **attributes})
    assert recorded == {"top_p": 1.0}
    assert rest["request"] == {"id": "r1", "created_at": 1.0, "base_url": "http://x"}


def test_formats_of_responses_are_response_formats() -> None:
    schema = {"type": "json_schema", "name": "place", "schema": {"type": "object"}}
    request = {"model": "m", "input": [USER], "text": {"format": schema, "verbosity": "low"}, "store": False}
    step = step_of({**MODEL, "input.value": json.dumps(request)})
    assert isinstance(step.input, dict)
    assert (step.input["response_format"], step.input["parameters"]) == (schema, {"verbosity": "low"})
    assert step.attributes["request"] == {"store": False}


def test_settings_of_conventions_have_common_names() -> None:
    names = {"choice.count": "2", "stop_sequences": "END", "max_tokens": "9", "reasoning_effort": "low"}
    attributes = {f"gen_ai.request.{name}": value for name, value in names.items()} | {
        "gen_ai.openai.request.seed": "7"
    }
    messages = json.dumps([{"role": "user", "parts": [{"type": "text", "content": "Hi"}]}])
    recorded, _ = parameters({"gen_ai.operation.name": "chat", "gen_ai.input.messages": messages, **attributes})
    assert recorded == {"n": 2, "stop": "END", "max_tokens": 9, "reasoning_effort": "low", "seed": 7}


def test_settings_of_tools_are_attributes() -> None:
    function = {"name": "find", "parameters": {"type": "object"}, "strict": True}
    request = {"model": "m", "messages": [USER], "tools": [{"type": "function", "function": function}]}
    definition = {"type": "function", "name": "find", "parameters": {"type": "object"}, "strict": True}
    parts = [{"role": "user", "parts": [{"type": "text", "content": "Hi"}]}]
    written = {"gen_ai.tool.definitions": json.dumps([definition]), "gen_ai.input.messages": json.dumps(parts)}
    for attributes in ({**MODEL, "input.value": json.dumps(request)}, {"gen_ai.operation.name": "chat", **written}):
        step = step_of(attributes)
        assert isinstance(step.input, dict)
        assert step.input["tools"] == [{"name": "find", "parameters": {"type": "object"}}]
        assert step.attributes["tools"] == {"find": {"strict": True}}


def test_request_of_gemini() -> None:
    tool = {"name": "find", "parameters_json_schema": {"type": "object"}}
    request = {
        "contents": [{"role": "user", "parts": [{"text": "Hi"}]}],
        "system_instruction": {"role": "user", "parts": [{"text": "Be brief."}]},
        "generation_config": {"temperature": 0.2, "max_output_tokens": 100},
        "tools": [{"function_declarations": [tool]}],
    }
    invocation = {"temperature": 0.2, "max_output_tokens": 100}
    attributes = {"input.value": json.dumps(request), "llm.invocation_parameters": json.dumps(invocation)}
    assert step_of({**MODEL, **attributes}).input == {
        "messages": [{"role": "system", "content": "Be brief."}, USER],
        "parameters": {"temperature": 0.2, "max_tokens": 100},
        "tools": [{"name": "find", "parameters": {"type": "object"}}],
    }


def test_kind_of_langchains_model_is_no_parameter() -> None:
    invocation = json.dumps({"_type": "openai-chat", "top_p": 1.0})
    recorded, rest = parameters({**MODEL, "input.value": json.dumps([USER]), "llm.invocation_parameters": invocation})
    assert (recorded, rest["request"]) == ({"top_p": 1.0}, {"_type": "openai-chat"})


def test_tools_of_pydantic_ai() -> None:
    tool = {"name": "find", "parameters_json_schema": {"type": "object"}, "kind": "function"}
    parameters = {"function_tools": [tool], "output_tools": [], "output_mode": "text"}
    parts = [{"role": "user", "parts": [{"type": "text", "content": "Hi"}]}]
    attributes = {"model_request_parameters": json.dumps(parameters), "gen_ai.input.messages": json.dumps(parts)}
    step = step_of({"gen_ai.operation.name": "chat", **attributes})
    assert isinstance(step.input, dict)
    assert step.input["tools"] == [{"name": "find", "parameters": {"type": "object"}}]
