"""Overrides in requests of each API: what they change, and what stays as the agent wrote it."""

from typing import Any

import pytest

from replay.overrides.edits import NO_EDITS, Edits
from replay.overrides.profile import MessageEdit
from replay.reruns.requests.edited_requests import edit_request, replace_results
from replay.reruns.requests.request_formats import CannotEdit
from traces.core.json_access import as_object, as_objects
from traces.core.json_types import JSONObject
from traces.importers.formats.tracing.client_calls import model_request

CACHE_MARK: JSONObject = {"cache_control": {"type": "ephemeral"}}
CHAT: JSONObject = {
    "model": "m1",
    "stream": True,
    "messages": [
        {"role": "developer", "content": "Be brief."},
        {"role": "user", "content": "Time?", "name": "ann"},
        {"role": "assistant", "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "clock"}}]},
        {"role": "tool", "tool_call_id": "c1", "content": "noon"},
    ],
    "max_completion_tokens": 50,
    "user": "u1",
}
RESPONSES: JSONObject = {
    "model": "m1",
    "input": [
        {"role": "user", "content": "Time?"},
        {"type": "function_call", "call_id": "c1", "name": "clock", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": "noon"},
    ],
    "store": False,
}
MESSAGES: JSONObject = {
    "model": "m1",
    "max_tokens": 100,
    "system": [{"type": "text", "text": "Be brief.", **CACHE_MARK}],
    "messages": [
        {"role": "user", "content": [{"type": "text", "text": "Time?", **CACHE_MARK}]},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "clock", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "noon"}]},
    ],
}
GEMINI: JSONObject = {
    "systemInstruction": {"parts": [{"text": "Be brief."}]},
    "contents": [
        {"role": "user", "parts": [{"text": "Time?"}]},
        {
            "role": "model",
            "parts": [{"functionCall": {"id": "c1", "name": "clock", "args": {}}, "thoughtSignature": "s"}],
        },
        {
            "role": "user",
            "parts": [{"functionResponse": {"id": "c1", "name": "clock", "response": {"output": "noon"}}}],
        },
    ],
    "generationConfig": {"maxOutputTokens": 100},
    "safetySettings": [],
}
OLLAMA: JSONObject = {
    "model": "m1",
    "messages": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Time?", "images": ["iVBORw0="]},
        {"role": "assistant", "tool_calls": [{"id": "c1", "function": {"name": "clock", "arguments": {}}}]},
        {"role": "tool", "tool_call_id": "c1", "tool_name": "clock", "content": "noon"},
    ],
    "options": {"num_predict": 50},
    "think": True,
}
BODIES: dict[str, JSONObject] = {
    "openai.chat": CHAT,
    "openai.responses": RESPONSES,
    "anthropic.messages": MESSAGES,
    "google.generate_content": GEMINI,
    "ollama.chat": OLLAMA,
}


def edit(api: str, **edits: Any) -> JSONObject:
    return edit_request(api, BODIES[api], step_input(api, BODIES[api]), Edits(**edits))


def messages_of(api: str, body: JSONObject) -> list[JSONObject]:
    """Return the messages as a step has them."""
    return as_objects(step_input(api, body)["messages"])


def step_input(api: str, body: JSONObject) -> JSONObject:
    return as_object(model_request({"request": body, "api": api}))


@pytest.mark.parametrize("api", BODIES)
def test_system_prompt_is_what_the_model_reads(api: str) -> None:
    body = edit(api, prompt={"system": "Answer in verse."})
    before, after = messages_of(api, BODIES[api]), messages_of(api, body)
    assert after[0] == {"role": "system", "content": "Answer in verse."}
    assert after[-3:] == before[-3:]
    assert messages_of(api, edit(api, prompt={"system": ""})) == before[-3:]


@pytest.mark.parametrize("api", BODIES)
def test_results_are_replaced_by_the_id_of_their_call(api: str) -> None:
    body = replace_results(api, BODIES[api], {"c1": "midnight", "c2": "never"})
    result = messages_of(api, body)[-1]
    contents = ("midnight", '{"result":"midnight"}')
    assert (result["role"], result["tool_call_id"], result["content"] in contents) == ("tool", "c1", True)
    assert replace_results(api, BODIES[api], {"c2": "never"}) == BODIES[api]


def test_settings_keep_the_spelling_of_the_request() -> None:
    model = {"model": "m2", "max_tokens": 7, "stop": ["END"], "parameters": {"top_k": 3}, "unset": ["user"]}
    chat = edit("openai.chat", model=model)
    assert chat == {**without(CHAT, "user"), "model": "m2", "max_completion_tokens": 7, "stop": ["END"], "top_k": 3}
    assert edit("openai.responses", model=model) == {
        **RESPONSES,
        **{"model": "m2", "max_output_tokens": 7, "stop": ["END"], "top_k": 3},
    }
    assert edit("anthropic.messages", model=model) == {
        **MESSAGES,
        **{"model": "m2", "max_tokens": 7, "stop_sequences": ["END"], "top_k": 3},
    }
    config = {"maxOutputTokens": 7, "stopSequences": ["END"], "top_k": 3}
    assert edit("google.generate_content", model=model) == {**GEMINI, "model": "m2", "generationConfig": config}


def test_settings_of_ollama_are_options_or_beside_them() -> None:
    model = {"model": "m2", "max_tokens": 7, "parameters": {"think": False, "top_k": 3}}
    body = edit("ollama.chat", model={**model, "response_format": {"type": "json_object"}})
    assert body == {
        **OLLAMA,
        **{"model": "m2", "options": {"num_predict": 7, "top_k": 3}, "think": False, "format": "json"},
    }
    assert edit("ollama.chat", model={"unset": ["think", "max_tokens"]}) == without(without(OLLAMA, "think"), "options")


def test_prompt_of_a_completion_is_edited() -> None:
    body: JSONObject = {"model": "m1", "system": "Be brief.", "prompt": "Time?", "images": ["iVBORw0="]}
    input = step_input("ollama.generate", body)
    edits = Edits(prompt={"system": "Be long."}, messages=(MessageEdit(op="replace", index=1, content="Date?"),))
    assert edit_request("ollama.generate", body, input, edits) == {
        **without(body, "images"),
        **{"system": "Be long.", "prompt": "Date?"},
    }
    insertion = Edits(messages=(MessageEdit(op="insert", index=1, content="Now?"),))
    with pytest.raises(CannotEdit, match="one prompt"):
        edit_request("ollama.generate", body, input, insertion)


def test_tools_are_offered_in_the_form_of_the_api() -> None:
    tools = {"tools": [{"name": "clock", "parameters": {"type": "object"}}]}
    assert edit("openai.chat", model=tools)["tools"] == [
        {"type": "function", "function": {"name": "clock", "parameters": {"type": "object"}}}
    ]
    assert edit("openai.responses", model=tools)["tools"] == [
        {"type": "function", "strict": False, "name": "clock", "parameters": {"type": "object"}}
    ]
    assert edit("anthropic.messages", model=tools)["tools"] == [{"name": "clock", "input_schema": {"type": "object"}}]
    assert edit("google.generate_content", model=tools)["tools"] == [
        {"functionDeclarations": [{"name": "clock", "parametersJsonSchema": {"type": "object"}}]}
    ]


@pytest.mark.parametrize("api", BODIES)
def test_messages_are_edited_in_place(api: str) -> None:
    before = messages_of(api, BODIES[api])
    at = next(index for index, message in enumerate(before) if message["role"] == "user")
    edits = (MessageEdit(op="replace", index=at, content="Date?"),)
    after = messages_of(api, edit(api, messages=edits))
    assert after[at]["content"] in ("Date?", [{"type": "text", "text": "Date?"}])
    assert (after[at + 1 :], after[:at], len(after)) == (before[at + 1 :], before[:at], len(before))


@pytest.mark.parametrize(("api", "place"), [("openai.responses", "input"), ("google.generate_content", "contents")])
def test_other_items_of_a_conversation_stay_as_they_came(api: str, place: str) -> None:
    insertion = MessageEdit(op="insert", index=9, content="Now?")
    body = edit(api, messages=(insertion,), prompt={"system": "Answer in verse."})
    before, after = as_objects(BODIES[api][place]), as_objects(body[place])
    assert (after[:-1], messages_of(api, body)[0]) == (before, {"role": "system", "content": "Answer in verse."})
    assert messages_of(api, body)[-1] == {"role": "user", "content": "Now?"}
    answer = {"role": "assistant", "content": "Wait.", "tool_calls": [{"id": "c1", "name": "clock", "arguments": {}}]}
    index = len(messages_of(api, BODIES[api])) - 2
    body = edit(api, messages=(MessageEdit(op="replace", index=index, message=answer),))
    assert messages_of(api, body)[index] | {"tool_calls": None} == answer | {"tool_calls": None}
    assert as_objects(messages_of(api, body)[index]["tool_calls"])[0]["name"] == "clock"
    assert as_objects(body[place])[-1] == before[-1]


def test_what_an_api_does_not_allow_is_refused() -> None:
    image = {"role": "user", "content": [{"type": "image", "url": "x"}]}
    with pytest.raises(CannotEdit):
        edit("openai.responses", messages=(MessageEdit(op="insert", index=0, message=image),))
    with pytest.raises(CannotEdit):
        edit_request("cohere.chat", {}, {}, Edits(prompt={"system": "x"}))
    assert edit_request("cohere.chat", {"contents": []}, {}, NO_EDITS) == {"contents": []}


def without(body: JSONObject, name: str) -> JSONObject:
    return {key: value for key, value in body.items() if key != name}


def test_results_of_builtin_tools_keep_their_form() -> None:
    shell: JSONObject = {"type": "shell_call_output", "call_id": "c1", "output": [{"stdout": "a", "stderr": ""}]}
    local: JSONObject = {"type": "local_shell_call_output", "id": "c2", "output": "b"}
    body: JSONObject = {"input": [shell, local]}
    outputs = [
        item["output"]
        for item in as_objects(replace_results("openai.responses", body, {"c1": "x", "c2": "y"})["input"])
    ]
    assert outputs == [[{"stdout": "x", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}], "y"]
    screenshot: JSONObject = {
        "type": "computer_call_output",
        "call_id": "c3",
        "output": {"type": "computer_screenshot"},
    }
    with pytest.raises(CannotEdit, match="screenshot of a computer call"):
        replace_results("openai.responses", {"input": [screenshot]}, {"c3": "x"})


def test_calls_and_results_in_edited_messages_keep_their_types() -> None:
    """Each is edited, and so is the message with the calls: what is equal stays as it came."""
    custom: JSONObject = {"type": "custom_tool_call", "id": "ctc_1", "call_id": "c1", "name": "query", "input": "a b"}
    shell: JSONObject = {"type": "shell_call", "call_id": "c2", "action": {"commands": ["ls"]}}
    local: JSONObject = {"type": "local_shell_call", "id": "l3", "call_id": "c3", "action": {"command": ["ls"]}}
    patch: JSONObject = {"type": "apply_patch_call", "call_id": "c4", "operation": {"type": "delete_file"}}
    calls = [custom, shell, local, patch]
    results: list[JSONObject] = [
        {"type": "custom_tool_call_output", "call_id": "c1", "output": "1"},
        {"type": "shell_call_output", "call_id": "c2", "output": [{"stdout": "2", "stderr": ""}]},
        {"type": "local_shell_call_output", "id": "c3", "output": "3"},
        {"type": "apply_patch_call_output", "call_id": "c4", "status": "completed"},
    ]
    body: JSONObject = {"model": "m1", "input": [{"role": "user", "content": "Go"}, *calls, *results]}
    input = step_input("openai.responses", body)
    answer = as_objects(input["messages"])[1]
    edits = (
        MessageEdit(op="replace", index=1, message={**answer, "content": "Done soon."}),
        *(MessageEdit(op="replace", index=index, content="new") for index in range(2, 6)),
    )
    items = as_objects(edit_request("openai.responses", body, input, Edits(messages=edits))["input"])
    assert items[1:6] == [{"role": "assistant", "content": "Done soon."}, *calls]
    assert [item["type"] for item in items[6:]] == [item["type"] for item in results]
    outcome: JSONObject = {"type": "exit", "exit_code": 0}
    assert [item["output"] for item in items[6:]] == [
        "new",
        [{"stdout": "new", "stderr": "", "outcome": outcome}],
        "new",
        "new",
    ]
    other_call = {**as_objects(answer["tool_calls"])[0], "arguments": "c d"}
    change = MessageEdit(op="replace", index=1, message={**answer, "tool_calls": [other_call]})
    items = as_objects(edit_request("openai.responses", body, input, Edits(messages=(change,)))["input"])
    assert items[1] == {**custom, "input": "c d"}
    shell_call = {**as_objects(answer["tool_calls"])[1], "arguments": {"commands": ["rm"]}}
    change = MessageEdit(op="replace", index=1, message={**answer, "tool_calls": [shell_call]})
    with pytest.raises(CannotEdit, match="built into the API"):
        edit_request("openai.responses", body, input, Edits(messages=(change,)))
