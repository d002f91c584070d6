"""Items of OpenAI's Responses API as messages, and a whole response as the answer of a model step."""

from typing import Final

from traces.core.json_access import as_list, as_object, as_objects, as_text, first_member, has_list, omit
from traces.core.json_types import JSONObject, JSONValue
from traces.importers.common.messages import is_message, normalize_messages
from traces.importers.common.model_calls import (
    RESPONSE_ATTRIBUTES,
    Answer,
    model_input,
    normalize_answer,
    normalize_parameters,
    normalize_request,
    normalize_usage,
    system_messages,
)
from traces.importers.common.tool_schemas import normalize_tools
from traces.importers.common.transcript_messages import continuation
from traces.importers.files.json_reader import parse_embedded
from traces.importers.formats.chats.builtin_tools import is_in_container

# Calls that the agent runs, by the member that has the arguments. All but functions and custom tools are built in.
_ARGUMENTS: Final = {
    "function_call": ("arguments",),
    "custom_tool_call": ("input",),
    "local_shell_call": ("action",),
    "shell_call": ("action",),
    "computer_call": ("actions", "action"),
    "apply_patch_call": ("operation",),
    "tool_search_call": ("arguments",),
}
_RESULTS: Final = frozenset({"tool_search_output", *(f"{kind}_output" for kind in _ARGUMENTS)}) - {
    "tool_search_call_output"
}
_CALLS: Final = frozenset(_ARGUMENTS)
_SAMPLING: Final = ("temperature", "top_p", "max_output_tokens", "tool_choice", "reasoning", "top_logprobs")
_NOT_SAMPLING: Final = frozenset(
    {"input", "text", "previous_response_id", "store", "include", "conversation", "background", "service_tier"}
    | {"safety_identifier", "prompt_cache_key", "truncation"}
)
# Of Gemini's client for Python, which has instructions and tools there, too, and of its API.
_CONFIGURATIONS: Final = ("config", "generationConfig", "generation_config")
_CHOICES: Final = ("choices", "candidates")
_CUT_OFF: Final = {"max_output_tokens": "length", "content_filter": "content_filter"}


def normalize_items(value: JSONValue) -> list[JSONObject]:
    """Return the messages in `value`; consecutive items produced by the model form one message."""
    if not isinstance(value, list):
        return normalize_messages(value)
    messages: list[JSONObject] = []
    model_items: list[JSONValue] = []
    provider_calls = {as_text(as_object(item).get("call_id")) for item in value if _is_run_by_provider(item)}
    for item in value:
        is_provider_result = _type(item) in _RESULTS and as_text(as_object(item).get("call_id")) in provider_calls
        if is_model_output(item) or is_provider_result:
            model_items.append(item)
            continue
        messages += _answers(model_items)
        model_items = []
        messages += normalize_messages(_result(as_object(item)) if _type(item) in _RESULTS else item)
    return messages + _answers(model_items)


def has_items(value: JSONValue) -> bool:
    """Return True if `value` is a list with a tool call or a thought beside its messages."""
    return any(_is_call(item) or _type(item) == "reasoning" for item in as_list(value))


def is_item_list(value: list[JSONValue]) -> bool:
    """Return True if `value` is the items of an agent loop: messages, and calls and results beside them."""
    kinds = {_type(item) for item in value if not is_message(item)}
    return bool(kinds) and kinds <= {*_CALLS, *_RESULTS, "reasoning"}


def page_items(body: JSONObject) -> list[JSONValue]:
    """Return the items of a page of a conversation, the oldest first; an empty list if `body` is no such page."""
    items = as_list(body.get("data")) if body.get("object") == "list" else []
    if not any(_type(item) == "message" and is_message(item) for item in items):
        return []
    return items[::-1] if _is_newest_first(items) else items


def _is_newest_first(items: list[JSONValue]) -> bool:
    """Return whether a page lists a result before its call, or an answer before the request."""
    results: set[JSONValue] = set()
    for item in items:
        id = as_text(as_object(item).get("call_id"))
        if _type(item) in _CALLS and id in results:
            return True
        if _type(item) in _RESULTS:
            results.add(id)
    return not results and as_object(items[0]).get("role") != "user" and as_object(items[-1]).get("role") == "user"


def is_response_output(value: JSONValue) -> bool:
    """Return True if `value` is a list of items as in the output of a response."""
    kinds = {_type(item) for item in as_list(value)}
    return bool(kinds) and kinds <= {*_CALLS, "message", "reasoning"}


def normalize_response(response: JSONObject) -> Answer:
    """Return the answer in a response object."""
    usage = normalize_usage(as_object(response.get("usage")), "/usage")
    message = next(iter(_answers(as_list(response.get("output")))), None)
    if message is None:
        return Answer(output=None, model=as_text(response.get("model")), usage=usage)
    reason = as_text(as_object(response.get("incomplete_details")).get("reason"))
    finish = _CUT_OFF.get(reason, reason) or ("tool_calls" if message.get("tool_calls") else "stop")
    return Answer(
        output={"message": message, "finish_reason": finish}, model=as_text(response.get("model")), usage=usage
    )


def normalize_response_request(response: JSONObject, input_items: JSONValue) -> JSONObject | None:
    """Return the request that `response` answers; None if its messages are not recorded."""
    messages = normalize_items(input_items)
    if not messages:
        return None
    instructions = [
        {**message, "role": "system"} for message in normalize_messages(response.get("instructions"), "system")
    ]
    sampling = {name: response[name] for name in _SAMPLING if response.get(name) is not None}
    schema = as_object(response.get("text")).get("format")
    return model_input(
        [*instructions, *messages],
        normalize_tools(response.get("tools") or []),
        normalize_parameters(sampling),
        schema if as_object(schema).get("type") not in (None, "text") else None,
    )


def normalize_openai_request(body: JSONObject) -> JSONObject:
    """Convert the body of a request to either OpenAI API into the input of a model step."""
    request = normalize_request(shaping_fields(body))
    if "input" in body:
        request["messages"] = [*as_list(request["messages"]), *normalize_items(body["input"])]
    return request


def shaping_fields(body: JSONObject) -> JSONObject:
    """Return the fields of a request that shape the answer, with the settings of its text under their own names."""
    fields: JSONObject = {key: value for key, value in body.items() if key not in _NOT_SAMPLING and value is not None}
    text = as_object(body.get("text"))
    if as_object(text.get("format")).get("type") not in (None, "text"):
        fields["response_format"] = text["format"]
    if text.get("verbosity"):
        fields["verbosity"] = text["verbosity"]
    return fields


def normalize_client_request(body: JSONObject) -> JSONObject:
    """Convert the body of a request of any client into the input of a model step; it may have OpenAI's items."""
    body = _flatten_configuration(body)
    request = normalize_request(body)
    conversation = first_member(body, "messages", "input")
    if isinstance(conversation, list) and ("messages" not in body or is_item_list(conversation)):
        request["messages"] = [*system_messages(body), *normalize_items(conversation)]
    return request


def _flatten_configuration(body: JSONObject) -> JSONObject:
    """Return a request to Gemini with its settings beside its contents, where other clients have them."""
    settings = as_object(first_member(body, *_CONFIGURATIONS)) if "contents" in body else {}
    return {**omit(body, *_CONFIGURATIONS), **settings} if settings else body


def normalize_client_answer(value: JSONValue, reason: str = "") -> Answer:
    """Convert an answer of any client: a response or its items, or what `normalize_answer` converts."""
    response = parse_embedded(value)
    if is_response_output(response):
        return normalize_response({"output": response})
    if as_object(response).get("object") == "response":
        return normalize_response(as_object(response))
    return normalize_answer(value, reason)


def answer_details(value: JSONValue) -> JSONObject:
    """Return what a response of OpenAI, Anthropic or Gemini states besides its answer, as attributes of the step."""
    body = as_object(parse_embedded(value))
    is_message = body.get("type") == "message" and has_list(body, "content")
    if body.get("object") != "response" and not is_message and not any(has_list(body, name) for name in _CHOICES):
        return {}
    fields: JSONObject = {name: body[name] for name in RESPONSE_ATTRIBUTES if body.get(name)}
    return ({"response": fields} if fields else {}) | continuation(body)


def normalize_openai_answer(body: JSONObject) -> Answer:
    """Return the answer in a response or a chat completion."""
    return normalize_response(body) if has_list(body, "output") else normalize_answer(body)


def read_error(body: JSONObject) -> str:
    """Return the error message of a failed response; empty if it succeeded."""
    error = as_object(body.get("error"))
    message = as_text(first_member(error, "message", "code")) or (
        as_text(body.get("error")) if body.get("error") else ""
    )
    # A tool of an MCP server states its error as contents.
    message = message or "\n".join(as_text(part.get("text")) for part in as_objects(error.get("content")))
    return message or (as_text(body.get("status")) if body.get("status") in ("failed", "cancelled") else "")


def _answers(model_items: list[JSONValue]) -> list[JSONObject]:
    """Return the message that these items form: a list of one, or empty without items."""
    if not model_items:
        return []
    blocks: list[JSONValue] = []
    calls: list[JSONValue] = []
    for item in model_items:
        fields = as_object(item)
        if _is_call(item):
            calls.append(_call(fields))
        elif _type(item) == "reasoning":
            blocks += [{"type": "thinking", "thinking": thought} for thought in _reasoning(fields)]
        elif _type(item) in ("message", ""):
            content = fields.get("content")
            blocks += content if isinstance(content, list) else [{"type": "text", "text": as_text(content)}]
            calls += as_list(first_member(fields, "tool_calls", "toolCalls"))
        else:
            blocks.append(item)
    return normalize_messages({"role": "assistant", "content": blocks, "tool_calls": calls})


def _is_call(item: JSONValue) -> bool:
    """Return True if `item` is a call of a tool that the agent runs."""
    return _type(item) in _CALLS and not _is_run_by_provider(item)


def _is_run_by_provider(item: JSONValue) -> bool:
    """Return True if `item` is a call of a shell in a container, or of a tool search, that the provider makes."""
    fields = as_object(item)
    if _type(item) == "tool_search_call":
        return fields.get("execution") != "client"
    return _type(item) == "shell_call" and is_in_container(fields.get("environment"))


def _call(item: JSONObject) -> JSONObject:
    """Return a call as one of a function. A tool that is built in is named by its type."""
    kind = _type(item)
    name = as_text(item.get("name")) or kind.removesuffix("_call")
    call: JSONObject = {"id": first_member(item, "call_id", "id"), "name": name}
    return {**call, "arguments": first_member(item, *_ARGUMENTS[kind])}


def _result(item: JSONObject) -> JSONObject:
    """Return the result of a call as that of a function."""
    # A patch may have a status only.
    output = first_member(item, "output", "tools", "status")
    return {"type": "function_call_output", "call_id": first_member(item, "call_id", "id"), "output": output}


def _reasoning(item: JSONObject) -> list[str]:
    parts = [*as_list(item.get("summary")), *as_list(item.get("content"))]
    return [thought for part in parts if (thought := as_text(as_object(part).get("text")))]


def is_model_output(item: JSONValue) -> bool:
    """Return True if the model produced this item."""
    fields = as_object(item)
    if _type(item) in ("message", ""):
        return fields.get("role") == "assistant"
    return (
        bool(fields) and "role" not in fields and _type(item) not in _RESULTS and not _type(item).startswith("input_")
    )


def _type(item: JSONValue) -> str:
    return as_text(as_object(item).get("type"))
