"""OpenAI Responses API: bodies of requests from canonical model inputs. Pure."""

from collections.abc import Iterator, Mapping
from typing import Final

from traces.core.json_access import as_list, as_object, as_objects, member, text_or_json
from traces.core.json_types import JSONObject, JSONValue

_PARAMETERS: Final = frozenset({"temperature", "top_p", "parallel_tool_calls", "reasoning", "top_logprobs"})
_CONVERTED_PARAMETERS: Final = frozenset({"max_tokens", "tool_choice", "reasoning_effort", "verbosity", "instructions"})


def body(model: str, request: Mapping[str, JSONValue]) -> tuple[JSONObject, tuple[str, ...]]:
    """Return the body, and the names of the parameters that the API does not have."""
    parameters = as_object(request.get("parameters"))
    text = {"verbosity": parameters.get("verbosity"), "format": _text_format(request.get("response_format"))}
    effort = parameters.get("reasoning_effort")
    fields: JSONObject = {
        "model": model,
        "input": [item for message in as_objects(request.get("messages")) for item in _items(message)],
        "tools": [_tool(tool) for tool in as_objects(request.get("tools"))],
        "tool_choice": _tool_choice(parameters.get("tool_choice")),
        "max_output_tokens": parameters.get("max_tokens"),
        "reasoning": {"effort": effort} if effort else None,
        **{name: value for name, value in parameters.items() if name in _PARAMETERS},
        "text": {name: value for name, value in text.items() if value},
    }
    left_out = tuple(name for name in parameters if name not in _PARAMETERS | _CONVERTED_PARAMETERS)
    return {name: value for name, value in fields.items() if value not in (None, [], {})}, left_out


def _items(message: JSONObject) -> Iterator[JSONValue]:
    role = message.get("role")
    if role in ("tool", "function"):
        output = text_or_json(message.get("content"))
        yield {"type": "function_call_output", "call_id": message.get("tool_call_id", ""), "output": output}
        return
    content = message.get("content")
    if content:
        blocks = [_block(block, role) for block in as_list(content) if member(block, "type") != "thinking"]
        yield {"role": role, "content": content if isinstance(content, str) else blocks}
    for call in as_objects(message.get("tool_calls")):
        arguments = text_or_json({} if call.get("arguments") is None else call["arguments"])
        yield {
            "type": "function_call",
            "call_id": call.get("id", ""),
            "name": call.get("name", ""),
            "arguments": arguments,
        }


def _block(block: JSONValue, role: JSONValue) -> JSONValue:
    fields = as_object(block)
    if fields.get("type") == "text":
        kind = "output_text" if role == "assistant" else "input_text"
        return {"type": kind, "text": fields.get("text", "")}
    if fields.get("type") == "image_url":
        image = fields.get("image_url")
        return {"type": "input_image", "image_url": as_object(image).get("url", image)}
    return block


def _tool(tool: JSONObject) -> JSONObject:
    if tool.get("type") not in (None, "function"):
        return tool
    return {"type": "function", **{name: value for name, value in tool.items() if value is not None}}


def _tool_choice(choice: JSONValue) -> JSONValue:
    name = member(choice, "function", "name")
    return {"type": "function", "name": name} if name else choice


def _text_format(response_format: JSONValue) -> JSONValue:
    """Return the format of the answer; Chat Completions puts its schema one level deeper."""
    schema = as_object(member(response_format, "json_schema"))
    return {"type": "json_schema", **schema} if schema else response_format
