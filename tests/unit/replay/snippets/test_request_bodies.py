"""Bodies of requests to the APIs of Gemini and of OpenAI's responses."""

from replay.live.providers import ModelCall, responses_protocol
from replay.snippets.core import gemini
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


def test_gemini_joins_parts_of_a_role() -> None:
    body, left_out = gemini.body({"messages": MESSAGES, "parameters": {"logprobs": 1}})
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
                    {"functionCall": {"name": "f", "args": {"a": 1}}},
                    {"functionCall": {"name": "g", "args": {}}},
                ],
            },
            {
                "role": "user",
                "parts": [
                    {"functionResponse": {"name": "f", "response": {"ok": True}}},
                    {"functionResponse": {"name": "g", "response": {"result": "fine"}}},
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
    body, left_out = gemini.body({"tools": tools, "parameters": parameters, "response_format": response_format})
    assert body["generationConfig"] == {
        "maxOutputTokens": 9,
        "topP": 0.5,
        "stopSequences": ["END"],
        "responseMimeType": "application/json",
        "responseJsonSchema": SCHEMA,
    }
    assert body["toolConfig"] == {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["f"]}}
    declarations = [{"name": "f", "parameters": {"type": "OBJECT"}}, {"name": "g", "parametersJsonSchema": SCHEMA}]
    assert body["tools"] == [{"functionDeclarations": declarations}]
    assert left_out == ()


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
