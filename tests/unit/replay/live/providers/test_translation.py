"""Requests of agents in the protocol of another provider."""

from typing import Any

import pytest

from replay.live.providers.translation import CannotTranslate, input_problem, translate_request
from replay.live.providers.types import ModelCall, Protocol
from traces.core.json_access import as_object
from traces.core.json_types import JSONObject
from traces.importers.formats.tracing.client_calls import model_request

FUNCTION: Any = {"name": "look", "parameters": {"type": "object"}}


def input_of(api: str, body: Any) -> JSONObject:
    return as_object(model_request({"request": body, "api": api}))


def translate(api: str, body: Any, protocol: Protocol) -> Any:
    call = ModelCall(provider="other", model="m3", input=input_of(api, body))
    return translate_request(body, call, protocol)


def test_calls_of_gemini_get_ids() -> None:
    call, result = (
        {"functionCall": {"name": "look", "args": {}}},
        {"functionResponse": {"name": "look", "response": {}}},
    )
    contents = [{"role": "user", "parts": [{"text": "hi"}]}]
    contents += [{"role": "model", "parts": [call, call]}, {"role": "user", "parts": [result, result]}]
    config = {"topP": 1, "stopSequences": ["x"], "candidateCount": 1}
    choice = {"functionCallingConfig": {"mode": "ANY"}}
    tools = [{"functionDeclarations": [FUNCTION]}]
    body = {"contents": contents, "generationConfig": config, "tools": tools, "toolConfig": choice}
    request = translate("google.generate_content", body, "openai")
    ids = [item["id"] for message in request["messages"] for item in message.get("tool_calls", ())]
    assert ids == [message["tool_call_id"] for message in request["messages"] if message["role"] == "tool"]
    assert len({*ids}) == 2
    assert (request["tool_choice"], request["stop"], request["top_p"]) == ("required", ["x"], 1)


@pytest.mark.parametrize(
    ("choice", "translation"),
    [
        ({"type": "any"}, "required"),
        ({"type": "auto"}, "auto"),
        ({"type": "tool", "name": "look"}, {"type": "function", "function": {"name": "look"}}),
    ],
)
def test_choice_of_a_tool_is_translated(choice: Any, translation: Any) -> None:
    tools = [{"name": "look", "input_schema": {"type": "object"}}]
    body = {"max_tokens": 5, "messages": [{"role": "user", "content": "hi"}], "tools": tools, "tool_choice": choice}
    assert translate("anthropic.messages", body, "openai")["tool_choice"] == translation


@pytest.mark.parametrize(
    ("api", "change", "protocol", "problem"),
    [
        ("anthropic.messages", {"tools": [{"type": "web_search_1", "name": "web_search"}]}, "openai", "web_search_1"),
        (
            "anthropic.messages",
            {"system": [{"type": "text", "text": "s", "cache_control": {}}]},
            "openai",
            "cache_control",
        ),
        ("anthropic.messages", {"top_k": 3}, "openai", "settings top_k"),
        ("openai.chat", {"n": 2}, "anthropic", "settings n"),
        ("openai.responses", {"input": [{"type": "reasoning", "encrypted_content": "x"}]}, "anthropic", "encrypted"),
        ("openai.responses", {"previous_response_id": "r"}, "anthropic", "conversation that it stores"),
        ("anthropic.messages", {"thread": {"type": "create"}}, "openai", "conversation that it stores"),
        ("google.generate_content", {"tools": [{"googleSearch": {}}]}, "openai", "googleSearch"),
    ],
)
def test_what_is_of_one_provider_is_refused(api: str, change: Any, protocol: Protocol, problem: str) -> None:
    name = {"openai.responses": "input", "google.generate_content": "contents"}.get(api, "messages")
    contents: Any = (
        [{"role": "user", "parts": [{"text": "hi"}]}] if name == "contents" else [{"role": "user", "content": "hi"}]
    )
    with pytest.raises(CannotTranslate, match=problem):
        translate(api, {name: contents, **change}, protocol)


def test_arguments_of_tools_may_have_any_member() -> None:
    use = {"type": "tool_use", "id": "t", "name": "look", "input": {"cache_control": "max-age=1"}}
    messages: Any = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": [use]}]
    request = translate("anthropic.messages", {"max_tokens": 5, "messages": messages}, "openai")
    assert "max-age" in request["messages"][1]["tool_calls"][0]["function"]["arguments"]


def test_plan_names_content_of_one_provider() -> None:
    document = {"type": "document", "source": {}}
    body = {"messages": [{"role": "user", "content": [{"type": "text", "text": "hi"}, document]}]}
    assert input_problem(input_of("anthropic.messages", body)) == "content of the kind document"


IMAGE: Any = {"type": "base64", "media_type": "image/png", "data": "AA=="}


@pytest.mark.parametrize(
    ("api", "part"),
    [
        ("anthropic.messages", {"type": "image", "source": IMAGE}),
        ("openai.responses", {"type": "input_image", "image_url": "data:image/png;base64,AA=="}),
        ("google.generate_content", {"inlineData": {"mimeType": "image/png", "data": "AA=="}}),
        ("openai.chat", {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}),
    ],
)
def test_images_reach_any_protocol(api: str, part: Any) -> None:
    message: Any = {"role": "user", "content": [part]}
    body: Any = {"messages": [message], "max_tokens": 5}
    if api == "openai.responses":
        body = {"input": body["messages"]}
    elif api == "google.generate_content":
        body = {"contents": [{"role": "user", "parts": [part]}]}
    assert input_problem(input_of(api, body)) == ""
    [chat] = translate(api, body, "openai")["messages"]
    assert chat["content"][0]["image_url"]["url"] == "data:image/png;base64,AA=="
    [message] = translate(api, body, "anthropic")["messages"]
    assert message["content"] == [{"type": "image", "source": IMAGE}]
    result: JSONObject = {"role": "tool", "tool_call_id": "t", "content": [{"type": "image", "source": IMAGE}]}
    assert input_problem({"messages": [result]}) == "content of the kind image_url"
