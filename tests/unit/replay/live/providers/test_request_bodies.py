"""Bodies of requests to the APIs of Gemini, of Ollama, and of OpenAI's responses, and answers of the first two."""

from typing import Any

import httpx2
import orjson
import pytest

from replay.live.providers import (
    ModelCall,
    Provider,
    anthropic_protocol,
    gemini_protocol,
    ollama_protocol,
    openai_protocol,
    responses_protocol,
)
from replay.live.providers.failures import Interruption, classify
from replay.live.providers.json_streams import EventStream, HttpFailure
from replay.live.providers.types import ProviderError
from traces.core.json_access import as_objects
from traces.core.json_types import JSONObject, JSONValue

IMAGE = "data:image/png;base64,iVBORw0="
SCHEMA: JSONObject = {"type": "object", "properties": {"city": {"type": "string"}}}
MESSAGES: list[JSONValue] = [
    {
        "role": "user",
        "content": [{"type": "text", "text": "Which?"}, {"type": "image_url", "image_url": {"url": IMAGE}}],
    },
    {
        "role": "assistant",
        "content": [{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": "Both."}],
        "tool_calls": [{"id": "1", "name": "f", "arguments": {"a": 1}}, {"id": "2", "name": "g", "arguments": None}],
    },
    {"role": "tool", "tool_call_id": "1", "content": '{"ok": true}'},
    {"role": "tool", "tool_call_id": "2", "content": "fine"},
]


def gemini_request(input: JSONObject, model: str = "gemini-2.5-flash") -> tuple[dict[str, Any], tuple[str, ...]]:
    return gemini_protocol.request(ModelCall(provider="google", model=model, input=input))


def test_gemini_joins_parts_of_a_role() -> None:
    body, left_out = gemini_request({"messages": MESSAGES, "parameters": {"logprobs": 1}})
    assert body == {
        "contents": [
            {
                "role": "user",
                "parts": [{"text": "Which?"}, {"inlineData": {"mimeType": "image/png", "data": "iVBORw0="}}],
            },
            {
                "role": "model",
                "parts": [
                    {"text": "Both."},
                    {"functionCall": {"id": "1", "name": "f", "args": {"a": 1}}},
                    {"functionCall": {"id": "2", "name": "g", "args": {}}},
                ],
            },
            {
                "role": "user",
                "parts": [
                    {"functionResponse": {"id": "1", "name": "f", "response": {"ok": True}}},
                    {"functionResponse": {"id": "2", "name": "g", "response": {"result": "fine"}}},
                ],
            },
        ]
    }
    assert left_out == ("logprobs",)


def test_gemini_settings() -> None:
    response_format: JSONObject = {"type": "json_schema", "json_schema": {"name": "city", "schema": SCHEMA}}
    choice: JSONObject = {"type": "function", "function": {"name": "f"}}
    parameters: JSONObject = {"max_tokens": 9, "top_p": 0.5, "stop": "END", "tool_choice": choice}
    tools: list[JSONValue] = [{"name": "f", "parameters": {"type": "OBJECT"}}, {"name": "g", "parameters": SCHEMA}]
    tools += [{"googleSearch": {}}]
    body, left_out = gemini_request({"tools": tools, "parameters": parameters, "response_format": response_format})
    assert body["generationConfig"] == {
        "maxOutputTokens": 9,
        "topP": 0.5,
        "stopSequences": ["END"],
        "responseMimeType": "application/json",
        "responseJsonSchema": SCHEMA,
    }
    assert body["toolConfig"] == {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["f"]}}
    declarations = [{"name": "f", "parameters": {"type": "OBJECT"}}, {"name": "g", "parametersJsonSchema": SCHEMA}]
    assert body["tools"] == [{"functionDeclarations": declarations}, {"googleSearch": {}}]
    assert left_out == ()


def test_gemini_three_gets_a_mark_for_calls_that_it_did_not_sign() -> None:
    body, _ = gemini_request({"messages": MESSAGES}, "gemini-3-pro")
    parts = as_objects(as_objects(body["contents"])[1]["parts"])
    assert ["thoughtSignature" in part for part in parts] == [False, True, False]


def test_ollama_request() -> None:
    response_format: JSONObject = {"type": "json_schema", "json_schema": {"name": "city", "schema": SCHEMA}}
    parameters: JSONObject = {"max_tokens": 9, "stop": "END", "num_ctx": 99, "think": True, "raw": True}
    tools: list[JSONValue] = [{"name": "f", "parameters": SCHEMA}]
    input: JSONObject = {"messages": MESSAGES, "tools": tools, "parameters": parameters}
    call = ModelCall(provider="ollama", model="m", input={**input, "response_format": response_format})
    assert ollama_protocol.request(call) == (
        {
            "model": "m",
            "messages": [
                {"role": "user", "content": "Which?", "images": ["iVBORw0="]},
                {
                    "role": "assistant",
                    "content": "Both.",
                    "thinking": "Hm.",
                    "tool_calls": [
                        {"id": "1", "function": {"name": "f", "arguments": {"a": 1}}},
                        {"id": "2", "function": {"name": "g", "arguments": {}}},
                    ],
                },
                {"role": "tool", "content": '{"ok": true}', "tool_name": "f", "tool_call_id": "1"},
                {"role": "tool", "content": "fine", "tool_name": "g", "tool_call_id": "2"},
            ],
            "tools": [{"type": "function", "function": {"name": "f", "parameters": SCHEMA}}],
            "options": {"num_predict": 9, "stop": ["END"], "num_ctx": 99},
            "think": True,
            "format": SCHEMA,
        },
        ("raw",),
    )


NO_IDS: list[JSONValue] = [
    {"role": "assistant", "content": None, "tool_calls": [{"id": "", "name": name, "arguments": {}} for name in "fg"]},
    {"role": "tool", "content": "1"},
    {"role": "tool", "content": "2"},
]


def test_results_without_ids_are_those_of_the_calls_in_order() -> None:
    call = ModelCall(provider="p", model="m", input={"messages": NO_IDS})
    bodies = [protocol.request(call)[0] for protocol in (openai_protocol, anthropic_protocol, responses_protocol)]
    ids = [
        [message["tool_call_id"] for message in bodies[0]["messages"][1:]],
        [block["tool_use_id"] for block in bodies[1]["messages"][1]["content"]],
        [item["call_id"] for item in bodies[2]["input"][2:]],
    ]
    assert ids == [["call_1", "call_2"]] * 3
    parts = gemini_protocol.request(call)[0]["contents"][1]["parts"]
    assert [part["functionResponse"]["name"] for part in parts] == ["f", "g"]
    assert [message.get("tool_name") for message in ollama_protocol.request(call)[0]["messages"]] == [None, "f", "g"]


def test_results_that_name_their_tools_are_those_of_its_calls() -> None:
    results: list[JSONValue] = [{"role": "tool", "content": name, "name": name} for name in "gf"]
    body, _ = openai_protocol.request(ModelCall(provider="p", model="m", input={"messages": [NO_IDS[0], *results]}))
    assert [message["tool_call_id"] for message in body["messages"][1:]] == ["call_2", "call_1"]


PROVIDER = Provider(name="p", protocol="ollama", base_url="http://127.0.0.1:1")
GEMINI_CHUNKS: list[JSONObject] = [
    {"candidates": [{"content": {"parts": [{"text": "Hm.", "thought": True}, {"text": "Bo"}]}}]},
    {"candidates": [{"content": {"parts": [{"text": "th"}, {"functionCall": {"name": "f", "args": {"a": 1}}}]}}]},
    {
        "candidates": [{"content": {"parts": []}, "finishReason": "STOP"}],
        "usageMetadata": {"promptTokenCount": 3, "candidatesTokenCount": 2},
    },
]
OLLAMA_LINES: list[JSONObject] = [
    {"model": "m", "message": {"role": "assistant", "content": "", "thinking": "Hm."}, "done": False},
    {"model": "m", "message": {"role": "assistant", "content": "Bo"}, "done": False},
    {
        "model": "m",
        "message": {
            "role": "assistant",
            "content": "th",
            "tool_calls": [{"function": {"name": "f", "arguments": {"a": 1}}}],
        },
        "done": False,
    },
    {
        "model": "m",
        "message": {"content": ""},
        "done": True,
        "done_reason": "stop",
        "prompt_eval_count": 3,
        "eval_count": 2,
    },
]


def stream(*lines: bytes) -> EventStream:
    return EventStream(httpx2.Response(200, content=b"\n".join(lines)))


@pytest.mark.parametrize(
    ("protocol", "head", "events"), [(gemini_protocol, b"data: ", GEMINI_CHUNKS), (ollama_protocol, b"", OLLAMA_LINES)]
)
def test_answer_is_assembled_from_its_events(protocol: Any, head: bytes, events: list[JSONObject]) -> None:
    texts: list[str] = []
    assembly = protocol.Assembly(PROVIDER, texts.append)
    for event in stream(*(head + orjson.dumps(event) for event in events[:-1])):
        assembly.add(event)
    with pytest.raises(ProviderError, match="before it was complete"):
        assembly.result(is_whole=False)
    assembly.add(events[-1])
    result = assembly.result(is_whole=False)
    assert (texts, result.finish_reason) == (["Bo", "th"], "stop")
    assert (result.usage.tokens_in, result.usage.tokens_out) == (3, 2)
    assert result.message["content"] == [{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": "Both"}]
    assert result.message["tool_calls"] == [{"id": "", "name": "f", "arguments": {"a": 1}}]


def test_errors_of_servers_without_an_sdk_are_classified() -> None:
    with pytest.raises(Interruption) as error_info:
        [*stream(b'{"error": "out of memory"}')]
    assert "out of memory" in str(classify(error_info.value, PROVIDER, ""))
    problem = classify(HttpFailure(httpx2.Response(404, json={"error": "model 'm' not found"})), PROVIDER, "")
    assert (problem.status, problem.retryable) == (404, False)
    assert "model 'm' not found" in str(problem)
    details = {"error": {"code": 429, "message": "slow down", "status": "RESOURCE_EXHAUSTED"}}
    problem = classify(HttpFailure(httpx2.Response(429, json=details)), PROVIDER, "")
    assert ("slow down" in str(problem), problem.retryable) == (True, True)


def test_response_items() -> None:
    input: JSONObject = {"messages": MESSAGES, "parameters": {"max_tokens": 9, "n": 2}}
    body, left_out = responses_protocol.request(ModelCall(provider="openai", model="m", input=input))
    assert body == {
        "model": "m",
        "input": [
            {
                "role": "user",
                "content": [{"type": "input_text", "text": "Which?"}, {"type": "input_image", "image_url": IMAGE}],
            },
            {"role": "assistant", "content": [{"type": "output_text", "text": "Both."}]},
            {"type": "function_call", "call_id": "1", "name": "f", "arguments": '{"a": 1}'},
            {"type": "function_call", "call_id": "2", "name": "g", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "1", "output": '{"ok": true}'},
            {"type": "function_call_output", "call_id": "2", "output": "fine"},
        ],
        "max_output_tokens": 9,
    }
    assert left_out == ("n",)


def test_response_settings() -> None:
    chat_format: JSONObject = {"type": "json_schema", "json_schema": {"name": "city", "schema": SCHEMA}}
    choice: JSONObject = {"type": "function", "function": {"name": "f"}}
    parameters: JSONObject = {"reasoning_effort": "low", "verbosity": "low", "tool_choice": choice}
    request: JSONObject = {"parameters": parameters, "response_format": chat_format}
    input: JSONObject = {**request, "tools": [{"name": "f", "description": None}]}
    body, _ = responses_protocol.request(ModelCall(provider="openai", model="m", input=input))
    assert body == {
        "model": "m",
        "tools": [{"type": "function", "name": "f"}],
        "tool_choice": {"type": "function", "name": "f"},
        "reasoning": {"effort": "low"},
        "text": {"verbosity": "low", "format": {"type": "json_schema", "name": "city", "schema": SCHEMA}},
    }
