"""Model calls in span attributes, in the dialects of the tracers, most specific first.

Langfuse and OpenInference record almost the whole request. OpenTelemetry GenAI records messages in attributes, span
events or log records. Older OpenLLMetry versions use indexed attributes. The Vercel AI SDK has its own attributes.
"""

from collections.abc import Sequence
from typing import Final

from traces.core.json_access import as_list, as_object, as_text, first_member
from traces.core.json_types import JSONObject, JSONValue
from traces.importers.common.messages import message_text, normalize_messages, normalize_tools
from traces.importers.common.model_calls import (
    Answer,
    Usage,
    model_input,
    normalize_answer,
    normalize_finish_reason,
    normalize_parameters,
    normalize_usage,
    parse_cost,
    request_input,
)
from traces.importers.files.json_reader import parse_embedded
from traces.importers.formats.chats.openai_items import (
    has_calls,
    is_response_output,
    normalize_items,
    normalize_response,
)
from traces.importers.otlp.dialects.attributes import Attributes
from traces.importers.otlp.dialects.message_copies import flat_message
from traces.importers.otlp.dialects.request_bodies import RequestBody, parse
from traces.importers.otlp.wire import SpanEvent

_SAMPLING: Final = (
    "temperature",
    "top_p",
    "top_k",
    "max_tokens",
    "seed",
    "stop_sequences",
    "frequency_penalty",
    "presence_penalty",
)
_AI_SETTINGS: Final = (
    "temperature",
    "topP",
    "topK",
    "maxTokens",
    "maxOutputTokens",
    "seed",
    "stopSequences",
    "frequencyPenalty",
    "presencePenalty",
)
_EVENT_ROLES: Final = {
    "gen_ai.system.message": "system",
    "gen_ai.user.message": "user",
    "gen_ai.assistant.message": "assistant",
    "gen_ai.tool.message": "tool",
}
_CHOICE: Final = "gen_ai.choice"
_BODIES: Final = ("langfuse.observation.input", "input.value")
_TOOL_DEFINITIONS: Final = ("gen_ai.tool.definitions", "ai.prompt.tools")
_USAGE_DETAILS: Final = "langfuse.observation.usage_details"
_DETAILS: Final = "gen_ai.client.inference.operation.details"


def extract_request(attributes: Attributes, events: Sequence[SpanEvent]) -> JSONObject | None:
    """Return a model step's input from any dialect, or None if no message was recorded."""
    parameters = _parameters(attributes)
    body = _whole_request(attributes)
    if body is not None:
        tools = body.tools or normalize_tools(_tools(attributes) or [])
        request = request_input(body.fields, body.messages, tools)
        request["parameters"] = {**parameters, **as_object(request.get("parameters"))}
        return {name: value for name, value in request.items() if value or name == "messages"}
    tools = normalize_tools(_tools(attributes) or [])
    messages = _messages(attributes, events)
    return model_input(messages, tools, parameters) if messages else None


def extract_answer(attributes: Attributes, events: Sequence[SpanEvent]) -> Answer:
    """Return a model step's output from any dialect."""
    reasons = as_list(attributes.look("gen_ai.response.finish_reasons"))
    reason = (
        as_text(reasons[0]) if reasons else as_text(attributes.look("llm.finish_reason", "ai.response.finishReason"))
    )
    for value in (
        _langfuse_answer(attributes),
        _openinference_answer(attributes),
        attributes.take_json("gen_ai.output.messages"),
        _take_indexed_messages(attributes, "gen_ai.completion"),
        attributes.take_json("gen_ai.completion"),
        _event_answer(events),
        _vercel_answer(attributes),
        attributes.take("traceloop.entity.output"),
    ):
        answer = normalize_answer(value, normalize_finish_reason(reason))
        if answer.output is not None and _has_content(answer.output):
            return answer
    return Answer(output=None)


def find_requested_model(attributes: Attributes) -> str:
    """Return the requested model if the recorded request contains it, else an empty string."""
    for name in ("input.value", "llm.invocation_parameters"):
        body = attributes.body(name)
        fields = as_object(attributes.look_json(name)) if body is None else body.fields
        if model := as_text(fields.get("model")):
            return model
    return ""


def extract_usage(attributes: Attributes, location: str) -> Usage:
    details = as_object(attributes.look_json(_USAGE_DETAILS))
    if not _has_reasoning(details):
        attributes.take(_USAGE_DETAILS)
    if not details:
        details = {
            "input_tokens": attributes.take(
                "gen_ai.usage.input_tokens",
                "gen_ai.usage.prompt_tokens",
                "llm.token_count.prompt",
                "ai.usage.inputTokens",
                "ai.usage.promptTokens",
                "llm.usage.prompt_tokens",
            ),
            "output_tokens": attributes.take(
                "gen_ai.usage.output_tokens",
                "gen_ai.usage.completion_tokens",
                "llm.token_count.completion",
                "ai.usage.outputTokens",
                "ai.usage.completionTokens",
                "llm.usage.completion_tokens",
            ),
            "cached_tokens": attributes.take(
                "gen_ai.usage.cache_read.input_tokens",
                "ai.usage.cachedInputTokens",
                "gen_ai.usage.cache_read_input_tokens",
                "llm.token_count.prompt_details.cache_read",
            ),
        }
    usage = normalize_usage(details, location)
    cost = first_member(as_object(attributes.take_json("langfuse.observation.cost_details")), "total")
    cost_usd = parse_cost(cost if cost is not None else attributes.take("gen_ai.usage.cost", "llm.cost.total"))
    return Usage(
        tokens_in=usage.tokens_in, tokens_out=usage.tokens_out, tokens_cached=usage.tokens_cached, cost_usd=cost_usd
    )


def _has_reasoning(details: JSONObject) -> bool:
    """Return whether usage states reasoning tokens, which no column holds: such details stay attributes."""
    return any(value if "reasoning" in name else _has_reasoning(as_object(value)) for name, value in details.items())


def _whole_request(attributes: Attributes) -> RequestBody | None:
    """Return the request body if the tracer recorded it, and drop what repeats it."""
    for name in _BODIES:
        body = attributes.body(name) or _parsed_request(attributes.look_json(name))
        if body is not None:
            attributes.take(name)
            attributes.drop("gen_ai.input.messages", "gen_ai.prompt.", "llm.tools.")
            attributes.drop_copies(body.messages)
            if body.tools:
                attributes.take(*_TOOL_DEFINITIONS)
                attributes.drop("llm.request.functions.")
            return body
    return None


def _parsed_request(body: JSONValue) -> RequestBody | None:
    """Return a request body that cannot be cut into its messages."""
    if not isinstance(body, dict) or not isinstance(first_member(body, "messages", "contents", "input"), list):
        return None
    conversation = first_member(body, "messages", "input", "contents", "prompt")
    messages = normalize_items(conversation) if has_calls(conversation) else normalize_messages(conversation)
    tools = normalize_tools(first_member(body, "tools", "functions") or [])
    return RequestBody(messages=messages, tools=tools, fields=body)


def _messages(attributes: Attributes, events: Sequence[SpanEvent]) -> list[JSONObject]:
    for value in (
        attributes.take("langfuse.observation.input"),
        _openinference_messages(attributes, "llm.input_messages"),
        attributes.take_json("gen_ai.input.messages"),
        _take_indexed_messages(attributes, "gen_ai.prompt"),
        attributes.take_json("gen_ai.prompt"),
        _event_messages(events),
        attributes.take_json("ai.prompt.messages"),
        _vercel_prompt(attributes),
        attributes.take("input.value", "traceloop.entity.input"),
    ):
        if messages := normalize_messages(value):
            instructions = normalize_messages(attributes.take_json("gen_ai.system_instructions"), "system")
            return [*({**message, "role": "system"} for message in instructions), *messages]
    return []


def _openinference_messages(attributes: Attributes, prefix: str) -> JSONValue:
    return [
        flat_message(as_object(as_object(item).get("message"))) for item in as_list(attributes.take_indexed(prefix))
    ] or None


def _openinference_answer(attributes: Attributes) -> JSONValue:
    body = as_object(attributes.look_json("output.value"))
    if message := _response_message(body):
        attributes.take("output.value")
        attributes.drop("llm.output_messages.")
        return message
    if not body.keys().isdisjoint({"choices", "candidates", "content"}):
        attributes.take("output.value")
        attributes.drop("llm.output_messages.")
        return body
    messages = [as_object(message) for message in as_list(_openinference_messages(attributes, "llm.output_messages"))]
    return _join_answers(messages) or attributes.take("output.value")


def _join_answers(messages: list[JSONObject]) -> JSONValue:
    """Join the messages of one answer, if the tracer wrote each tool call into a message of its own."""
    calls = [call for message in messages for call in as_list(message.get("tool_calls"))]
    if len(messages) < 2 or not calls:
        return [*messages]
    texts = [text for message in messages if (text := message_text(message))]
    return {**messages[0], "content": "\n\n".join(texts) or None, "tool_calls": calls}


def _langfuse_answer(attributes: Attributes) -> JSONValue:
    answer = attributes.take("langfuse.observation.output")
    return _response_message(parse(answer)) or answer


def _response_message(value: JSONValue) -> JSONValue:
    """Return the message that the items of a response form, with all of its tool calls; None for other answers."""
    response: JSONObject = {"output": value} if isinstance(value, list) else as_object(value)
    if not is_response_output(response.get("output")):
        return None
    output = normalize_response(response).output
    return None if output is None else {"choices": [output], "usage": response.get("usage")}


def _take_indexed_messages(attributes: Attributes, prefix: str) -> JSONValue:
    """Take the indexed messages of older OpenLLMetry versions."""
    return (
        attributes.take_indexed(prefix)
        if f"{prefix}.0.role" in attributes or f"{prefix}.0.content" in attributes
        else None
    )


def _event_messages(events: Sequence[SpanEvent]) -> JSONValue:
    event_messages: list[JSONValue] = []
    for event in events:
        if event.name == _DETAILS and (messages := parse_embedded(event.body.get("gen_ai.input.messages"))):
            system = normalize_messages(parse_embedded(event.body.get("gen_ai.system_instructions")), "system")
            return [*({**message, "role": "system"} for message in system), *as_list(messages)]
        if event.name == "gen_ai.content.prompt":
            return parse_embedded(event.body.get("gen_ai.prompt"))
        if role := _EVENT_ROLES.get(event.name):
            body = {key: parse_embedded(value) if key == "tool_calls" else value for key, value in event.body.items()}
            event_messages.append({"role": role, **body})
    has_content = any(as_object(message).get("content") is not None for message in event_messages)
    return event_messages if has_content else None


def _event_answer(events: Sequence[SpanEvent]) -> JSONValue:
    for event in events:
        if event.name == _DETAILS and (messages := parse_embedded(event.body.get("gen_ai.output.messages"))):
            return messages
        if event.name == "gen_ai.content.completion":
            return parse_embedded(event.body.get("gen_ai.completion"))
        if event.name == _CHOICE:
            message = as_object(parse_embedded(event.body.get("message"))) or {"content": event.body.get("content")}
            calls = {"tool_calls": parse_embedded(event.body["tool_calls"])} if "tool_calls" in event.body else {}
            return {"choices": [{**event.body, "message": {"role": "assistant", **message, **calls}}]}
    return None


def _has_content(output: JSONObject) -> bool:
    """Return whether an answer has content or call arguments, which tracers may be set not to record."""
    message = as_object(output.get("message"))
    calls = [as_object(call) for call in as_list(message.get("tool_calls"))]
    return message.get("content") is not None or any(call.get("arguments") for call in calls)


def _vercel_prompt(attributes: Attributes) -> JSONValue:
    prompt = attributes.take_json("ai.prompt")
    body = as_object(prompt)
    if not body:
        return prompt
    system: list[JSONValue] = [{"role": "system", "content": body["system"]}] if body.get("system") else []
    return [*system, *[dict(message) for message in normalize_messages(first_member(body, "messages", "prompt"))]]


def _vercel_answer(attributes: Attributes) -> JSONValue:
    content = attributes.take("ai.response.text", "ai.result.text")
    object_value = attributes.take("ai.response.object", "ai.result.object")
    calls = as_list(attributes.take_json("ai.response.toolCalls", "ai.result.toolCalls"))
    if content is None and object_value is None and not calls:
        return None
    return {"role": "assistant", "content": content if content is not None else object_value, "tool_calls": calls}


def _tools(attributes: Attributes) -> JSONValue:
    definitions = attributes.take_json(*_TOOL_DEFINITIONS)
    if definitions:
        return [parse_embedded(tool) for tool in as_list(definitions)]
    tools = as_list(attributes.take_indexed("llm.tools"))
    if tools:
        return [
            parse_embedded(
                first_member(as_object(as_object(tool).get("tool")), "json_schema")
                or as_object(tool).get("tool.json_schema")
            )
            for tool in tools
        ]
    return attributes.take_indexed("llm.request.functions")


def _parameters(attributes: Attributes) -> JSONObject:
    parameters = attributes.take_group("gen_ai.request.", _SAMPLING)
    parameters |= attributes.take_group("ai.settings.", _AI_SETTINGS)
    for name in ("llm.invocation_parameters", "langfuse.observation.model.parameters"):
        parameters |= {
            key: value
            for key, value in as_object(attributes.take_json(name)).items()
            if key not in {"model", "tools", "messages"}
        }
    return normalize_parameters(parameters)
