"""Model calls in a span's attributes and events, in the dialects of the tracers, most specific first.

Langfuse and OpenInference record almost the whole request. OpenTelemetry GenAI records messages in attributes, span
events or log records. Older OpenLLMetry versions use indexed attributes. The Vercel AI SDK has its own attributes.
"""

from collections.abc import Iterator
from itertools import takewhile
from typing import Final

import msgspec

from traces.core.json_access import as_list, as_object, as_text, first_member, list_or_single
from traces.core.json_types import JSONObject, JSONValue
from traces.importers.common.messages import is_conversation_item, normalize_messages
from traces.importers.common.model_calls import Answer, Usage, model_input
from traces.importers.common.tool_schemas import normalize_tools
from traces.importers.files.json_reader import parse_embedded, parse_shared
from traces.importers.formats.chats.openai_items import has_items, normalize_items
from traces.importers.otlp.dialects.answers import extract_answer
from traces.importers.otlp.dialects.attributes import Attributes
from traces.importers.otlp.dialects.message_copies import PREFIX, flat_message
from traces.importers.otlp.dialects.message_events import MessageEvents
from traces.importers.otlp.dialects.parameters import extract_settings
from traces.importers.otlp.dialects.request_bodies import RequestBody, request_body
from traces.importers.otlp.dialects.sources import Source, attribute, first_messages, json_attribute
from traces.importers.otlp.dialects.tool_calls import tool_settings
from traces.importers.otlp.dialects.usage import extract_usage

# The last is of the Agent Development Kit's own tracer.
_BODIES: Final = ("langfuse.observation.input", "input.value", "gcp.vertex.agent.llm_request")
_TOOL_DEFINITIONS: Final = ("gen_ai.tool.definitions", "ai.prompt.tools")
_INSTRUCTIONS: Final = "gen_ai.system_instructions"


class ModelCall(msgspec.Struct, frozen=True, kw_only=True):
    """A model call; `attributes` are what its request and response contain besides."""

    request: JSONObject | None
    answer: Answer
    usage: Usage
    model: str
    attributes: JSONObject


class ToolOffer(msgspec.Struct, frozen=True, kw_only=True):
    """The tools that a model may call, and their settings that are no part of their schemas."""

    tools: list[JSONValue]
    settings: JSONObject

    @property
    def attributes(self) -> JSONObject:
        return {"tools": self.settings} if self.settings else {}


def read_model_call(attributes: Attributes, events: MessageEvents, location: str) -> ModelCall:
    """Read the call that a span records. The request is None if no message was recorded."""
    model = _requested_model(attributes)
    body = _whole_request(attributes)
    settings = extract_settings(attributes, {} if body is None else body.fields)
    if body is not None:
        settings = settings.merge(body.settings)
    messages = _messages(attributes, events) if body is None else body.messages
    conversation = attributes.match_calls(messages)
    offer = _offer(attributes, body)
    answer = extract_answer(attributes, events)
    request = model_input(conversation.messages, offer.tools, settings.parameters, settings.response_format)
    # Tracers that are not configured to record messages record the parameters nevertheless.
    parameters = {} if messages else {name: value for name, value in request.items() if name != "messages"}
    fields = {**settings.other, **parameters}
    return ModelCall(
        request=request if messages else None,
        answer=answer.answer,
        usage=extract_usage(attributes, answer.answer.usage, location),
        model=model,
        attributes={
            **({"request": fields} if fields else {}),
            **offer.attributes,
            **conversation.attributes,
            **answer.attributes,
        },
    )


def _offer(attributes: Attributes, body: RequestBody | None) -> ToolOffer:
    """Return the tools in the request, else in the attributes."""
    if body is not None and body.tools:
        return ToolOffer(tools=body.tools, settings=body.tool_settings)
    definitions = list_or_single(_tools(attributes) or [])
    return ToolOffer(tools=normalize_tools(definitions), settings=tool_settings(definitions))


def _requested_model(attributes: Attributes) -> str:
    """Return the requested model if the recorded request contains it, else an empty string."""
    for name in ("input.value", "llm.invocation_parameters"):
        body = attributes.body(name)
        fields = as_object(attributes.look_json(name)) if body is None else body.fields
        if model := as_text(fields.get("model")):
            return model
    return ""


def _whole_request(attributes: Attributes) -> RequestBody | None:
    """Return the request body if the tracer recorded it, with its instructions as messages; drop what repeats it."""
    for name in _BODIES:
        if attributes.look(name) is None:
            continue
        body = attributes.body(name) or _parsed_request(attributes, name) or _listed_request(attributes, name)
        if body is not None:
            messages = [*body.instructions, *body.messages]
            attributes.take(name)
            _drop_repeated(attributes, messages)
            attributes.drop_copies(messages)
            if body.tools:
                attributes.take(*_TOOL_DEFINITIONS)
                attributes.drop("llm.request.functions.", "llm.tools.")
            return body.with_messages(messages)
    return None


def _drop_repeated(attributes: Attributes, messages: list[JSONObject]) -> None:
    """Drop the messages that another convention records, if the request contains all of them."""
    if not attributes.has_prefix("gen_ai."):
        return
    records = (
        ("gen_ai.input.messages", attributes.look_json("gen_ai.input.messages")),
        ("gen_ai.prompt.", _indexed_prompt(attributes)),
    )
    for prefix, record in records:
        if record and all(message in messages for message in normalize_messages(record)):
            attributes.drop(prefix)


def _parsed_request(attributes: Attributes, name: str) -> RequestBody | None:
    """Return a request body that cannot be cut into its messages."""
    body = attributes.look_json(name)
    if not isinstance(body, dict) or not isinstance(first_member(body, "messages", "contents", "input"), list):
        return None
    conversation = first_member(body, "messages", "input", "contents", "prompt")
    if any(isinstance(item, str) for item in as_list(body.get("messages"))) and attributes.has_indexed(PREFIX):
        # Objects that the tracer printed; the copies contain their fields.
        return None
    messages = normalize_items(conversation) if has_items(conversation) else normalize_messages(conversation)
    tools = normalize_tools(first_member(body, "tools", "functions") or [])
    settings = tool_settings(as_list(first_member(body, "tools", "functions")))
    return request_body(messages, body, tools=tools, tool_settings=settings)


def _listed_request(attributes: Attributes, name: str) -> RequestBody | None:
    """Return a request that was recorded as the list of its messages or items; its instructions are in the copies."""
    items = attributes.look_json(name)
    if not isinstance(items, list) or not items or not all(map(is_conversation_item, items)):
        return None
    messages = normalize_items(items) if has_items(items) else normalize_messages(items)
    copies = normalize_messages(_copies(attributes))
    leading = takewhile(lambda message: message["role"] == "system" and message not in messages, copies)
    return request_body([*leading, *messages], {}, tools=[], tool_settings={})


def _messages(attributes: Attributes, events: MessageEvents) -> list[JSONObject]:
    messages = first_messages(_sources(attributes, events))
    system = normalize_messages(attributes.look_json(_INSTRUCTIONS), "system") if messages else []
    if system:
        attributes.take(_INSTRUCTIONS)
    instructions: list[JSONObject] = [{**message, "role": "system"} for message in system]
    return [*(message for message in instructions if message not in messages), *messages]


def _sources(attributes: Attributes, events: MessageEvents) -> Iterator[Source]:
    yield attribute(attributes, "langfuse.observation.input")
    yield Source(value=_copies(attributes), use=lambda: attributes.drop(f"{PREFIX}."))
    yield json_attribute(attributes, "gen_ai.input.messages")
    yield Source(value=_indexed_prompt(attributes), use=lambda: attributes.drop("gen_ai.prompt."))
    yield json_attribute(attributes, "gen_ai.prompt")
    yield events.request()
    yield json_attribute(attributes, "ai.prompt.messages")
    yield Source(value=_vercel_prompt(attributes), use=lambda: attributes.take("ai.prompt"))
    yield attribute(attributes, "input.value")
    yield attribute(attributes, "traceloop.entity.input")


def _copies(attributes: Attributes) -> list[JSONValue]:
    items = as_list(attributes.look_indexed(PREFIX))
    return [flat_message(as_object(as_object(item).get("message"))) for item in items]


def _indexed_prompt(attributes: Attributes) -> list[JSONValue]:
    """Return the indexed messages of older OpenLLMetry versions, which write blocks as JSON."""
    messages = [as_object(item) for item in as_list(attributes.look_indexed("gen_ai.prompt"))]
    return [{**message, "content": _blocks(message.get("content"))} for message in messages]


def _blocks(content: JSONValue) -> JSONValue:
    blocks = parse_shared(content)
    return blocks if isinstance(blocks, list) and all(as_object(block).get("type") for block in blocks) else content


def _vercel_prompt(attributes: Attributes) -> JSONValue:
    prompt = attributes.look_json("ai.prompt")
    body = as_object(prompt)
    if not body:
        return prompt
    system: list[JSONValue] = [{"role": "system", "content": body["system"]}] if body.get("system") else []
    return [*system, *[dict(message) for message in normalize_messages(first_member(body, "messages", "prompt"))]]


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
    # Of pydantic-ai, which states more there than the tools.
    parameters = as_object(attributes.look_json("model_request_parameters"))
    tools = [*as_list(parameters.get("function_tools")), *as_list(parameters.get("output_tools"))]
    return tools or attributes.take_indexed("llm.request.functions")
