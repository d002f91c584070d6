"""Messages of every client in one normal form.

OpenAI messages, Anthropic blocks, OpenTelemetry GenAI parts, Vercel parts, Gemini parts, LangChain messages and
Responses items all become `{role, content, tool_calls?, tool_call_id?, name?}`, so that a message in an answer and
the same message in the next request have one digest.
"""

from collections.abc import Sequence
from typing import Final

import orjson

from traces.core.json_types import JSONObject, JSONValue
from traces.importers.files.json_reader import first, items, obj, parse_embedded, text

_ROLES: Final = {
    "human": "user",
    "ai": "assistant",
    "model": "assistant",
    "function": "tool",
    "developer": "system",
    "HumanMessage": "user",
    "AIMessage": "assistant",
    "AIMessageChunk": "assistant",
    "SystemMessage": "system",
    "ToolMessage": "tool",
    "FunctionMessage": "tool",
}
_KNOWN_ROLES: Final = frozenset({"system", "user", "assistant", "tool", *_ROLES})
_TEXT_TYPES: Final = frozenset({"text", "input_text", "output_text"})
_CALL_TYPES: Final = frozenset({"tool_use", "tool_call", "tool-call", "function_call", "server_tool_call"})
_RESULT_TYPES: Final = frozenset({"tool_result", "tool_call_response", "tool-result", "function_call_output"})

_BARE_ITEMS: Final = _CALL_TYPES | _RESULT_TYPES
_ENVELOPE: Final = frozenset({"role", "choices", "candidates", "generations", "parts", "tool_calls", "lc"})


def normalize_messages(value: JSONValue, role: str = "user") -> list[JSONObject]:
    """The messages in `value`: a list of them, one, or a text said by `role`."""
    value = parse_message_json(value)
    if isinstance(value, list):
        return [message for item in value for message in normalize_messages(item, role)]
    if isinstance(value, dict):
        return _messages_of_object(value, role)
    return [{"role": role, "content": value}] if isinstance(value, str) and value else []


def parse_message_json(value: JSONValue) -> JSONValue:
    """Messages or an answer that an attribute holds as JSON text; any other text is what somebody said."""
    parsed = parse_embedded(value)
    heads = parsed if isinstance(parsed, list) else [parsed]
    if parsed is not value and heads and all(not _ENVELOPE.isdisjoint(obj(head)) for head in heads):
        return parsed
    return value


def normalize_tools(value: JSONValue) -> list[JSONValue]:
    """Tool schemas as `{name, description?, parameters?}`."""
    value = parse_embedded(value)
    found: list[JSONValue] = []
    for item in value if isinstance(value, list) else [value]:
        tool = obj(parse_embedded(item))
        declared = first(tool, "functionDeclarations", "function_declarations")
        found += normalize_tools(declared) if declared is not None else [_tool(tool)] if tool else []
    return found


def normalize_tool_call(value: JSONValue) -> JSONObject:
    """`{id, name, arguments}` with parsed arguments, from any client's call."""
    call = obj(value)
    function = obj(first(call, "function", "functionCall", "function_call")) or call
    arguments = first(function, "arguments", "args", "input", "parameters")
    if arguments is None:
        arguments = first(call, "arguments", "args", "input")
    return {
        "id": text(first(call, "call_id", "id", "toolCallId", "tool_call_id")),
        "name": text(first(function, "name", "toolName", "tool_name")),
        "arguments": normalize_arguments(arguments),
    }


def normalize_arguments(value: JSONValue) -> JSONValue:
    """Arguments parsed; those of a decorated Python function without the wrapping that its tracer adds."""
    if value is None or value == "":
        return {}
    parsed = parse_embedded(value)
    if isinstance(parsed, dict) and parsed.keys() == {"args", "kwargs"} and parsed["args"] == []:
        return parsed["kwargs"]
    return parsed


def message_text(message: JSONValue) -> str:
    """The text of a message, of its text blocks when it has several."""
    content = obj(message).get("content")
    if isinstance(content, list):
        return "\n".join(text(obj(block).get("text")) for block in content if obj(block).get("type") == "text")
    return content if isinstance(content, str) else ""


def first_request(messages: Sequence[JSONValue]) -> str:
    """What the user asked first."""
    return next(
        (message_text(each) for each in messages if obj(each).get("role") == "user" and message_text(each).strip()), ""
    )


def as_text(value: JSONValue) -> str:
    """A tool's result as the text that a model is shown."""
    return value if isinstance(value, str) else orjson.dumps(value).decode()


def is_message(value: JSONValue) -> bool:
    """Whether `value` looks like one message of a conversation."""
    message = obj(value)
    role = message.get("role")
    return (
        isinstance(role, str)
        and role in _KNOWN_ROLES
        and not message.keys().isdisjoint({"content", "parts", "tool_calls", "function_call"})
    )


def is_conversation_item(value: JSONValue) -> bool:
    """Whether `value` names a speaker, or is a bare call or result: what `messages_of` can read as it was meant."""
    item = obj(value)
    return text(first(item, "role", "type")) in _KNOWN_ROLES or _type(item) in _BARE_ITEMS or item.get("lc") == 1


def _messages_of_object(value: JSONObject, role: str) -> list[JSONObject]:
    if value.get("lc") == 1 and "kwargs" in value:
        name = text(items(value.get("id"))[-1]) if items(value.get("id")) else ""
        return _messages_of_object({"role": name, **obj(value["kwargs"])}, role)
    if _type(value) in _BARE_ITEMS:
        return _split("assistant", [value], {})
    said_by = _role(value, role)
    extra: JSONObject = {"name": value["name"]} if isinstance(value.get("name"), str) and value["name"] else {}
    calls = [normalize_tool_call(call) for call in items(value.get("tool_calls"))]
    if isinstance(value.get("function_call"), dict):
        calls.append(normalize_tool_call(value["function_call"]))
    if said_by == "tool" and not isinstance(value.get("parts"), list) and not _has_results(value.get("content")):
        return [_tool_message(value, extra)]
    return _split(said_by, _said_content(value), extra, calls)


def _said_content(value: JSONObject) -> JSONValue:
    """An empty text is something said; only what is absent is nothing."""
    if isinstance(value.get("parts"), list):
        return value["parts"]
    return value["content"] if value.get("content") is not None else value.get("text")


def _type(block: JSONValue) -> str:
    return text(obj(block).get("type"))


def _role(value: JSONObject, default: str) -> str:
    given = text(first(value, "role", "type"))
    return _ROLES.get(given, given if given in _KNOWN_ROLES else default)


def _has_results(content: JSONValue) -> bool:
    return any(_type(block) in _RESULT_TYPES for block in items(content))


def _tool_message(value: JSONObject, extra: JSONObject) -> JSONObject:
    call_id = text(first(value, "tool_call_id", "id", "toolCallId"))
    content = _content(_blocks(value.get("content")))
    return {"role": "tool", "content": content, **({"tool_call_id": call_id} if call_id else {}), **extra}


def _split(role: str, content: JSONValue, extra: JSONObject, calls: list[JSONObject] | None = None) -> list[JSONObject]:
    """Tool results become messages of their own, before what the same turn says; calls join their message."""
    found = list(calls or [])
    results: list[JSONObject] = []
    rest: list[JSONValue] = []
    for block in _blocks(content):
        kind = _type(block)
        if kind in _CALL_TYPES or "functionCall" in obj(block):
            found.append(normalize_tool_call(block))
        elif kind in _RESULT_TYPES or "functionResponse" in obj(block):
            results.append(_result_message(obj(block)))
        else:
            rest.append(block)
    if results and not rest and not found:
        return results
    message: JSONObject = {"role": role, "content": _content(rest), **extra}
    if found:
        # an empty text beside tool calls is how some clients write "nothing said"
        message |= {"content": message["content"] or None, "tool_calls": [dict(call) for call in found]}
    return [*results, message]


def _result_message(block: JSONObject) -> JSONObject:
    answer = obj(block.get("functionResponse")) or block
    result = first(answer, "content", "response", "result", "output")
    content = _content(_blocks(result)) if isinstance(result, list) else "" if result is None else as_text(result)
    call_id = text(first(answer, "tool_use_id", "tool_call_id", "call_id", "id", "toolCallId"))
    return {"role": "tool", "content": content, **({"tool_call_id": call_id} if call_id else {})}


def _blocks(content: JSONValue) -> list[JSONValue]:
    """Content as typed blocks."""
    if isinstance(content, list):
        return [_block(each) for each in content]
    if content is None:
        return []
    return [{"type": "text", "text": as_text(content)}]


def _block(value: JSONValue) -> JSONValue:
    block = obj(value)
    if isinstance(value, str):
        return {"type": "text", "text": value}
    if _type(block) in _TEXT_TYPES or (block.keys() == {"text"}):
        return {"type": "text", "text": text(first(block, "text", "content"))}
    if block.get("type") == "reasoning" and isinstance(first(block, "content", "text"), str):
        return {"type": "thinking", "thinking": first(block, "content", "text")}
    return value


def _content(blocks: list[JSONValue]) -> JSONValue:
    """One text block is its text: clients write a plain text either way."""
    if not blocks:
        return None
    only = obj(blocks[0])
    if len(blocks) == 1 and only.get("type") == "text" and only.keys() == {"type", "text"}:
        return only["text"]
    return list(blocks)


def _tool(tool: JSONObject) -> JSONObject:
    function = obj(tool.get("function")) or tool
    if "name" not in function:
        return tool  # a tool of the provider's own, named by its type alone
    parameters = parse_embedded(first(function, "parameters", "input_schema", "inputSchema", "json_schema"))
    described = {"description": function.get("description"), "parameters": parameters}
    kept: JSONObject = {"name": function["name"], **{key: item for key, item in described.items() if item}}
    return kept if parameters is not None or "type" not in tool or tool["type"] == "function" else tool | kept
