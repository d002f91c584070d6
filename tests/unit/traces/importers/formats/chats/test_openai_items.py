"""Items of OpenAI's responses: tools built into the API are calls if the agent runs them."""

from typing import Any

import pytest

from traces.core.json_types import JSONValue
from traces.importers.common.model_calls import normalize_request
from traces.importers.common.transcript_messages import continuation
from traces.importers.formats.chats.builtin_tools import agent_tool_names
from traces.importers.formats.chats.openai_items import has_items, normalize_items, normalize_response

CONTAINER = {"type": "container_reference", "container_id": "c1"}


def call_and_result(item: dict[str, Any], result: dict[str, Any]) -> tuple[Any, Any]:
    """Return the call and the result of a conversation that ends with an item and its result."""
    assert has_items([item])
    _, answer, tool_message = normalize_items([{"role": "user", "content": "Go"}, item, result])
    output: Any = normalize_response({"output": [item]}).output
    [call] = output["message"]["tool_calls"]
    assert answer["tool_calls"] == [call]
    return call, tool_message


@pytest.mark.parametrize(
    ("item", "name", "arguments"),
    [
        ({"type": "custom_tool_call", "name": "sql", "input": "select 1"}, "sql", "select 1"),
        ({"type": "shell_call", "action": {"commands": ["ls"]}}, "shell", {"commands": ["ls"]}),
        (
            {"type": "shell_call", "environment": {"type": "local"}, "action": {"commands": ["ls"]}},
            "shell",
            {"commands": ["ls"]},
        ),
        ({"type": "computer_call", "action": {"type": "wait"}}, "computer", {"type": "wait"}),
        ({"type": "computer_call", "actions": [{"type": "wait"}]}, "computer", [{"type": "wait"}]),
        ({"type": "apply_patch_call", "operation": {"path": "a"}}, "apply_patch", {"path": "a"}),
        ({"type": "local_shell_call", "action": {"command": ["ls"]}}, "local_shell", {"command": ["ls"]}),
        (
            {"type": "tool_search_call", "execution": "client", "arguments": {"query": "mail"}},
            "tool_search",
            {"query": "mail"},
        ),
    ],
)
def test_builtin_tools_of_the_agent_are_calls(item: dict[str, Any], name: str, arguments: Any) -> None:
    kind = item["type"].replace("tool_search_call", "tool_search")
    call, result = call_and_result(
        {**item, "id": "x1", "call_id": "k1"}, {"type": f"{kind}_output", "call_id": "k1", "output": "done"}
    )
    assert call == {"id": "k1", "name": name, "arguments": arguments}
    assert result == {"role": "tool", "content": "done", "tool_call_id": "k1"}


def test_results_of_other_forms() -> None:
    shell = {"type": "local_shell_call", "call_id": "k1", "action": {}}
    assert call_and_result(shell, {"type": "local_shell_call_output", "id": "k1", "output": "ok"})[1] == {
        "role": "tool",
        "content": "ok",
        "tool_call_id": "k1",
    }
    patch = {"type": "apply_patch_call", "call_id": "k2", "operation": {}}
    failure = {"type": "apply_patch_call_output", "call_id": "k2", "status": "failed"}
    assert call_and_result(patch, failure)[1]["content"] == "failed"


@pytest.mark.parametrize(
    "item",
    [
        {"type": "shell_call", "environment": CONTAINER, "action": {"commands": ["ls"]}},
        {"type": "tool_search_call", "execution": "server", "arguments": {}},
        {"type": "web_search_call"},
        {"type": "mcp_call", "name": "send", "arguments": "{}"},
    ],
)
def test_tools_that_the_provider_runs_are_no_calls_of_the_agent(item: dict[str, Any]) -> None:
    kind = item["type"].replace("tool_search_call", "tool_search")
    items: list[JSONValue] = [{**item, "call_id": "k1"}, {"type": f"{kind}_output", "call_id": "k1", "output": []}]
    assert not has_items(items)
    [message] = normalize_items(items)
    assert "tool_calls" not in message


def test_custom_tools_of_chat_completions_have_a_name() -> None:
    request = normalize_request(
        {
            "messages": [
                {
                    "role": "assistant",
                    "tool_calls": [{"id": "k1", "type": "custom", "custom": {"name": "sql", "input": "select 1"}}],
                }
            ],
            "tools": [{"type": "custom", "custom": {"name": "sql"}}],
        }
    )
    messages: Any = request["messages"]
    assert messages[0]["tool_calls"] == [{"id": "k1", "name": "sql", "arguments": "select 1"}]
    assert [*agent_tool_names(request["tools"][0])] == ["sql"]  # type: ignore[index]  # a list, as written above


@pytest.mark.parametrize(
    ("schema", "names"),
    [
        ({"type": "local_shell"}, ["local_shell"]),
        ({"type": "shell", "environment": {"type": "container_auto"}}, []),
        ({"type": "computer_use_preview", "display_width": 1}, ["computer"]),
        ({"type": "apply_patch"}, ["apply_patch"]),
        ({"type": "tool_search", "execution": "client"}, ["tool_search"]),
        ({"type": "tool_search"}, []),
        ({"type": "namespace", "name": "crm", "tools": [{"type": "function", "name": "send"}]}, ["send"]),
        ({"type": "mcp", "server_label": "crm"}, []),
        ({"type": "code_interpreter"}, []),
        ({"type": "bash_20250124", "name": "bash"}, ["bash"]),
        ({"type": "text_editor_20250728", "name": "str_replace_based_edit_tool"}, ["str_replace_based_edit_tool"]),
        ({"type": "computer_20250124", "name": "computer"}, ["computer"]),
        ({"type": "memory_20250818", "name": "memory"}, ["memory"]),
        ({"type": "web_search_20250305", "name": "web_search"}, []),
        ({"type": "code_execution_20250825", "name": "code_execution"}, []),
        ({"googleSearch": {}}, []),
        ({"codeExecution": {}}, []),
        ({"computerUse": {}}, ["computer"]),
        # A tool of the agent may have any name.
        ({"name": "web_search", "parameters": {}}, ["web_search"]),
    ],
)
def test_offered_tools_of_the_agent(schema: dict[str, Any], names: list[str]) -> None:
    assert [*agent_tool_names(schema)] == names


def test_ids_and_encrypted_reasoning_are_kept_for_requests_that_continue() -> None:
    reasoning: Any = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAAAB"}
    message: Any = {
        "type": "message",
        "id": "msg_1",
        "role": "assistant",
        "content": [{"type": "output_text", "text": "Yes"}],
    }
    marks = [{"type": "reasoning", "id": "rs_1", "encrypted_content": "gAAAAB"}, {"type": "message", "id": "msg_1"}]
    assert continuation({"output": [reasoning, message]}) == {"continuation": marks}
    assert continuation({"parts": [{"text": "Hm"}, {"functionCall": {"name": "f"}, "thought_signature": "c2ln"}]}) == {
        "continuation": [{"part": 1, "thought_signature": "c2ln"}]
    }
    assert continuation({"parts": [{"text": "Yes"}], "output": "Yes"}) == {}
