"""Messages of every client in one normal form.

OpenAI messages, Anthropic blocks, OpenTelemetry GenAI parts, Vercel parts, Gemini parts, LangChain messages and
Responses items all become `{role, content, tool_calls?, tool_call_id?, name?}`, so that a message in an answer and
the same message in the next request have one digest.
"""

from typing import Final

import orjson

from traces.core.json_access import (
    as_list,
    as_object,
    as_objects,
    as_string,
    as_text,
    first_member,
    has_list,
    has_string,
    list_or_single,
    member,
    omit,
)
from traces.core.json_types import JSONObject, JSONValue
from traces.core.json_walk import first_item
from traces.importers.files.json_reader import parse_embedded, parse_shared

_ROLES: Final = {
    "human": "user",
    "bot": "assistant",
    "ai": "assistant",
    "model": "assistant",
    "function": "tool",
    "developer": "system",
    # smolagents
    **{"tool-call": "assistant", "tool-response": "user"},
    "HumanMessage": "user",
    "AIMessage": "assistant",
    "AIMessageChunk": "assistant",
    "SystemMessage": "system",
    "ToolMessage": "tool",
    "FunctionMessage": "tool",
}
_KNOWN_ROLES: Final = frozenset({"system", "user", "assistant", "tool", *_ROLES})
_NORMAL_ROLES: Final = _KNOWN_ROLES - _ROLES.keys()
_TEXT_FIELDS: Final = frozenset({"role", "content"})
_CALL_MESSAGE_FIELDS: Final = _TEXT_FIELDS | {"tool_calls"}
_CALL_FIELDS: Final = frozenset({"id", "type", "function"})
_FUNCTION_FIELDS: Final = frozenset({"name", "arguments"})
_RESULT_FIELDS: Final = _TEXT_FIELDS | {"tool_call_id"}
_TEXT_TYPES: Final = frozenset({"text", "input_text", "output_text"})
_CALL_TYPES: Final = frozenset({"tool_use", "tool_call", "tool-call", "function_call", "server_tool_call"})
_RESULT_TYPES: Final = frozenset({"tool_result", "tool_call_response", "tool-result", "function_call_output"})

# Members of Gemini's parts, in its API and in its client for Python.
_GEMINI_CALLS: Final = frozenset({"functionCall", "function_call"})
_GEMINI_RESULTS: Final = frozenset({"functionResponse", "function_response"})
_THOUGHTS: Final = ("reasoning_content", "reasoning")
_THOUGHT_TEXTS: Final = ("content", "text", "think", "reasoning")
_PARTS: Final = ("refusal", "audio", "images")
# The signature is of no use to anyone but the provider.
_BARE_TEXT_FIELDS: Final = frozenset({"text", "thoughtSignature", "thought_signature"})
# How the Vercel AI SDK states what a tool's result is.
_RESULT_KINDS: Final = frozenset({"text", "json", "error-text", "error-json", "content", "execution-denied"})
_TEXTS: Final = {str}
_BARE_ITEMS: Final = _CALL_TYPES | _RESULT_TYPES
_ENVELOPE: Final = frozenset({"role", "choices", "candidates", "generations", "parts", "tool_calls", "lc"})


def normalize_messages(value: JSONValue, role: str = "user") -> list[JSONObject]:
    """Return the messages in `value`: a list of messages, a single message, or a text by `role`."""
    if isinstance(value, dict):
        return _normalize_object(value, role)
    value = parse_message_json(value)
    if isinstance(value, list):
        if _is_pair(value):
            return normalize_messages({"role": value[0], "content": value[1]}, role)
        return [message for item in value for message in normalize_messages(item, role)]
    if isinstance(value, dict):
        return _normalize_object(value, role)
    return [{"role": role, "content": value}] if isinstance(value, str) and value else []


def _is_pair(value: list[JSONValue]) -> bool:
    """Return whether a list is a message in LangChain's short form: its role and its text."""
    return len(value) == 2 and all(isinstance(item, str) for item in value) and value[0] in _KNOWN_ROLES


def parse_message_json(value: JSONValue) -> JSONValue:
    """Parse messages or an answer stored as JSON text; return any other text unchanged."""
    message_json = parse_embedded(value)
    heads = list_or_single(message_json)
    if message_json is not value and heads and all(not _ENVELOPE.isdisjoint(as_object(head)) for head in heads):
        return message_json
    return value


def normalize_tool_call(value: JSONValue) -> JSONObject:
    """Convert any client's call to `{id, name, arguments}` with parsed arguments."""
    call = value if isinstance(value, dict) else as_object(parse_embedded(value))
    function = as_object(first_member(call, "function", "functionCall", "function_call", "custom")) or call
    arguments = first_member(function, "arguments", "args", "input", "parameters")
    if arguments is None:
        arguments = first_member(call, "arguments", "args", "input", "server_tool_call")
    return {
        # Gemini's calls have their id inside.
        "id": normalize_call_id(first_member({**function, **call}, "call_id", "id", "toolCallId", "tool_call_id")),
        "name": as_text(first_member(function, "name", "toolName", "tool_name", "function")),
        "arguments": normalize_arguments(arguments),
    }


def normalize_call_id(value: JSONValue) -> str:
    """Return an id as a text: Langfuse parses those that look like JSON."""
    return result_text(value) if isinstance(value, list) else as_text(value)


def normalize_arguments(value: JSONValue) -> JSONValue:
    """Parse arguments; unwrap the `{args: [], kwargs}` that tracers write for decorated Python functions."""
    if value is None or value == "":
        return {}
    arguments = parse_shared(value)
    if isinstance(arguments, dict) and arguments.keys() == {"args", "kwargs"} and arguments["args"] == []:
        return arguments["kwargs"]
    return arguments


def message_text(message: JSONValue) -> str:
    """Return the text of a message, or its text blocks joined by line breaks."""
    content = as_object(message).get("content")
    if isinstance(content, list):
        return "\n".join(
            as_text(as_object(block).get("text")) for block in content if as_object(block).get("type") == "text"
        )
    return as_string(content)


def result_text(value: JSONValue) -> str:
    """Convert a tool's result to the text that a model receives."""
    return value if isinstance(value, str) else orjson.dumps(value).decode()


def content_blocks(content: JSONValue) -> list[JSONValue]:
    """Return content as a list of blocks: a text as one block, empty content as none."""
    return content if isinstance(content, list) else [{"type": "text", "text": content}] if content else []


def is_message(value: JSONValue) -> bool:
    """Return whether `value` looks like one message of a conversation."""
    message = as_object(value)
    role = message.get("role")
    return (
        isinstance(role, str)
        and role in _KNOWN_ROLES
        and not message.keys().isdisjoint({"content", "parts", "tool_calls", "toolCalls", "function_call"})
    )


def is_conversation_item(value: JSONValue) -> bool:
    """Return whether `normalize_messages` understands `value`: it has a role, or is a call or result."""
    item = as_object(value)
    return (
        as_text(first_member(item, "role", "type")) in _KNOWN_ROLES or _type(item) in _BARE_ITEMS or item.get("lc") == 1
    )


def is_call(block: JSONValue) -> bool:
    """Return whether a block of a message is a call of a tool."""
    return _type(block) in _CALL_TYPES or not _GEMINI_CALLS.isdisjoint(as_object(block)) or _is_function_call(block)


def is_text(block: JSONValue) -> bool:
    """Return whether a block of a message is a text."""
    return _type(block) in _TEXT_TYPES or _is_bare_text(as_object(block))


def unwrap_block(value: JSONValue) -> JSONValue:
    """Return a call, result or thought of Bedrock or Haystack, which name its type as a member, with a type."""
    block = as_object(value)
    if _type(block) == "server_tool_call" and "args" in block:
        # LangChain's standard form of a tool that the provider ran, and of its result below.
        return {"type": "server_tool_use", **omit(block, "type", "args"), "input": block["args"]}
    if _type(block) == "server_tool_result" and "tool_call_id" in block:
        result_block: JSONObject = {"tool_use_id": block["tool_call_id"], "content": block.get("output")}
        return {"type": "server_tool_result", **result_block, "is_error": block.get("status") == "error"}
    if "toolUseId" in block:
        # Strands for JavaScript has the type beside the other members.
        block = {_type(block): omit(block, "type")}
    if len(block) != 1:
        return value
    if call := as_object(first_member(block, "toolUse", "tool_call")):
        return {"type": "tool_use", **call, "id": first_member(call, "toolUseId", "id")}
    if result := as_object(first_member(block, "toolResult", "tool_call_result")):
        return {
            "type": "tool_result",
            "tool_use_id": first_member(result, "toolUseId") or as_object(result.get("origin")).get("id"),
            "content": first_member(result, "content", "result"),
            "is_error": result.get("status") == "error" or result.get("error") is True,
        }
    if thought := as_object(member(block, "reasoningContent", "reasoningText") or block.get("reasoning")):
        text = first_member(thought, "text", "reasoning_text")
        return {"type": "thinking", "thinking": text, **omit(thought, "text", "reasoning_text")}
    return value


def _normalize_object(value: JSONObject, role: str) -> list[JSONObject]:
    if _is_normal(value):
        return [{**value}]
    if (message := _call_message(value)) is not None:
        return [message]
    if value.get("lc") == 1 and "kwargs" in value:
        name = as_text(as_list(value.get("id"))[-1]) if as_list(value.get("id")) else ""
        return _normalize_object({"role": name, **as_object(value["kwargs"])}, role)
    if value.keys() == {"type", "data"} and _type(value) in _KNOWN_ROLES:
        # LangChain's `message_to_dict`.
        return _normalize_object({**as_object(value["data"]), "type": value["type"]}, role)
    if _type(value) in _BARE_ITEMS:
        return _split_content("assistant", [value], {})
    speaker = _normalize_role(value, role)
    extra: JSONObject = {"name": value["name"]} if has_string(value, "name") and value["name"] else {}
    # Clients for JavaScript write names in camel case.
    calls = [normalize_tool_call(call) for call in as_list(first_member(value, "tool_calls", "toolCalls"))]
    if function_call := as_object(first_member(value, "function_call", "functionCall")):
        calls.append(normalize_tool_call(function_call))
    if speaker == "tool" and not has_list(value, "parts") and not _has_items(value.get("content")):
        return [_tool_message(value, extra)]
    content = _content_of_message(value)
    return _split_content(speaker, _add_parts(value, content) if speaker == "assistant" else content, extra, calls)


def plain_message(value: JSONValue) -> JSONObject | None:
    """Quick conversion of an answer of OpenAI's chat API; None only means to look closer."""
    if not isinstance(value, dict):
        return None
    return {**value} if value.get("role") == "assistant" and _is_normal(value) else _call_message(value)


def _is_normal(value: JSONObject) -> bool:
    """Quick check that a message has the normal form: a text by a known role; false only means to look closer."""
    is_result = value.get("role") == "tool" and bool(value.get("tool_call_id"))
    return (
        value.keys() == (_RESULT_FIELDS if is_result else _TEXT_FIELDS)
        and {*map(type, value.values())} == _TEXTS
        and value["role"] in _NORMAL_ROLES
    )


def _call_message(value: JSONObject) -> JSONObject | None:
    """Quick conversion of an answer with calls, as OpenAI's API has it; None only means to look closer."""
    content, calls = value.get("content"), value.get("tool_calls")
    is_plain = value.keys() == _CALL_MESSAGE_FIELDS and value["role"] == "assistant" and bool(calls)
    if not is_plain or not isinstance(calls, list) or not isinstance(content, str | None):
        return None
    normal_calls: list[JSONValue] = []
    for call in calls:
        if not isinstance(call, dict) or call.keys() != _CALL_FIELDS:
            return None
        id, function = call["id"], call["function"]
        if not isinstance(function, dict) or function.keys() != _FUNCTION_FIELDS or not isinstance(id, str):
            return None
        name, arguments = function["name"], function["arguments"]
        if not isinstance(name, str) or not isinstance(arguments, str):
            return None
        normal_calls.append({"id": id, "name": name, "arguments": normalize_arguments(arguments)})
    return {"role": "assistant", "content": content or None, "tool_calls": normal_calls}


def _content_of_message(value: JSONObject) -> JSONValue:
    """Return a message's content. An empty text counts as content; only an absent field does not."""
    if has_list(value, "parts"):
        return value["parts"]
    return value["content"] if value.get("content") is not None else value.get("text")


def _add_parts(value: JSONObject, content: JSONValue) -> JSONValue:
    """Add what APIs like OpenAI's state beside the content of an answer: thoughts, citations, a refusal, media."""
    thought = next((value[name] for name in _THOUGHTS if has_string(value, name) and value[name]), None)
    citations = as_list(value.get("annotations")) if isinstance(content, str) else []
    parts: list[JSONValue] = [{"type": name, name: value[name]} for name in _PARTS if value.get(name)]
    if not (thought or citations or parts):
        return content
    text: list[JSONValue] = [{"type": "text", "text": content, "citations": citations}] if citations else []
    thoughts: list[JSONValue] = [{"type": "thinking", "thinking": thought}] if thought else []
    return [*thoughts, *(text or content_blocks(content)), *parts]


def _type(block: JSONValue) -> str:
    return as_text(as_object(block).get("type"))


def _normalize_role(value: JSONObject, default: str) -> str:
    role_name = as_text(first_member(value, "role", "type"))
    return _ROLES.get(role_name, role_name if role_name in _KNOWN_ROLES else default)


def _has_items(content: JSONValue) -> bool:
    return any(_type(unwrap_block(block)) in _RESULT_TYPES or _is_function_call(block) for block in as_list(content))


def _is_function_call(block: JSONValue) -> bool:
    """Return whether a block is a call as OpenAI's API has it, which Koog writes inside the content."""
    return _type(block) == "function" and "arguments" in as_object(as_object(block).get("function"))


def _tool_message(value: JSONObject, extra: JSONObject) -> JSONObject:
    id = first_member(value, "tool_call_id", "id", "toolCallId")
    # SWE-agent has a list of one.
    call_id = normalize_call_id(id or first_item(value.get("tool_call_ids")))
    content = _collapse_blocks(_normalize_blocks(value.get("content")))
    return {"role": "tool", "content": content, **({"tool_call_id": call_id} if call_id else {}), **extra}


def _split_content(
    role: str, content: JSONValue, extra: JSONObject, calls: list[JSONObject] | None = None
) -> list[JSONObject]:
    """Split tool results off into messages of their own, before the rest; calls join the rest's message."""
    tool_calls = list(calls or [])
    results: list[JSONObject] = []
    rest: list[JSONValue] = []
    for block in _normalize_blocks(content):
        if is_call(block):
            call = normalize_tool_call(block)
            # LangChain's messages contain their calls twice.
            tool_calls += [call] if not call["id"] or call not in tool_calls else []
        elif _type(block) in _RESULT_TYPES or not _GEMINI_RESULTS.isdisjoint(as_object(block)):
            results.append(_result_message(as_object(block)))
        else:
            rest.append(block)
    if results and not rest and not tool_calls:
        return results
    speaker = "assistant" if role == "tool" and tool_calls else role
    message: JSONObject = {"role": speaker, "content": _collapse_blocks(rest), **extra}
    if tool_calls:
        # Some clients write an empty text beside tool calls where there is no text.
        message |= {"content": message["content"] or None, "tool_calls": [dict(call) for call in tool_calls]}
    return [*results, message]


def _result_message(block: JSONObject) -> JSONObject:
    answer = as_object(first_member(block, *_GEMINI_RESULTS)) or block
    result = _unwrap_result(first_member(answer, "content", "response", "result", "output"))
    blocks: list[JSONValue] = result if isinstance(result, list) else ["" if result is None else result_text(result)]
    content = _collapse_blocks(_normalize_blocks(blocks))
    call_id = normalize_call_id(first_member(answer, "tool_use_id", "tool_call_id", "call_id", "id", "toolCallId"))
    return {"role": "tool", "content": content, **({"tool_call_id": call_id} if call_id else {})}


def _unwrap_result(value: JSONValue) -> JSONValue:
    """Return the result in the `{type, value}` of the Vercel AI SDK, which sends a model only the value."""
    result = as_object(value)
    is_wrapped = _type(result) in _RESULT_KINDS and not result.keys().isdisjoint({"value", "reason"})
    return first_member(result, "value", "reason") if is_wrapped else value


def _normalize_blocks(content: JSONValue) -> list[JSONValue]:
    """Convert content to typed blocks."""
    if isinstance(content, list):
        return [_normalize_block(block) for block in content]
    if content is None:
        return []
    return [{"type": "text", "text": result_text(content)}]


def _normalize_block(value: JSONValue) -> JSONValue:
    block = as_object(value := unwrap_block(value))
    if isinstance(value, str):
        return {"type": "text", "text": value}
    if is_text(block):
        sources = first_member(block, "citations", "annotations")
        citations: JSONObject = {"citations": sources} if sources else {}
        return {"type": "text", "text": as_text(first_member(block, "text", "content")), **citations}
    if block.get("thought") is True and has_string(block, "text"):
        return {"type": "thinking", "thinking": block["text"]}
    if _type(block) in {"reasoning", "think"} and (thought := _thought(block)):
        # Of an item of OpenAI's API, its id and what is encrypted continue the answer.
        marks: JSONObject = {name: block[name] for name in ("id", "encrypted_content") if block.get(name)}
        return {"type": "thinking", "thinking": thought, **marks}
    return value


def _thought(block: JSONObject) -> str:
    """Return the text of a thought, or of its summary, which OpenAI's API has as parts."""
    text = first_member(block, *_THOUGHT_TEXTS)
    return as_string(text) or "\n".join(as_text(part.get("text")) for part in as_objects(block.get("summary")))


def _is_bare_text(block: JSONObject) -> bool:
    """Return whether a block is a text without a type. Google's logs list all members that a part may have."""
    return "text" in block and all(not item for name, item in block.items() if name not in _BARE_TEXT_FIELDS)


def _collapse_blocks(blocks: list[JSONValue]) -> JSONValue:
    """Replace a single text block by its text, since clients write a plain text either way."""
    if not blocks:
        return None
    only = as_object(blocks[0])
    if len(blocks) == 1 and only.get("type") == "text" and only.keys() == {"type", "text"}:
        return only["text"]
    return list(blocks)
