"""Observations of Langfuse as steps."""

from dataclasses import replace
from typing import Final

from traces.core.json_access import as_list, as_object, as_text, first_member, is_number
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedStep
from traces.core.vocabulary import StepStatus, StepType
from traces.importers.common.messages import normalize_call_id, normalize_messages, result_text
from traces.importers.common.model_calls import (
    Answer,
    Usage,
    model_input,
    normalize_parameters,
    normalize_provider,
    normalize_request,
    normalize_usage,
    parse_cost,
    usage_details,
)
from traces.importers.common.run_builder import container_type
from traces.importers.common.spans import SpanFacts, build_step
from traces.importers.common.times import parse_span
from traces.importers.common.tool_schemas import normalize_tools
from traces.importers.files.json_reader import parse_embedded
from traces.importers.formats.chats.openai_items import (
    answer_details,
    is_item_list,
    normalize_client_answer,
    normalize_client_request,
    normalize_items,
)

_TYPES: Final = {
    "generation": StepType.MODEL,
    "tool": StepType.TOOL,
    "agent": StepType.AGENT,
    "retriever": StepType.RETRIEVAL,
    "embedding": StepType.RETRIEVAL,
    "guardrail": StepType.SAFETY,
    "evaluator": StepType.VALIDATOR,
}
_STEP_TYPES: Final = {str(member): member for member in StepType}
_STATUSES: Final = {str(member): member for member in StepStatus}
# Attributes of OpenTelemetry's spans for which Langfuse has no fields.
_TOOL_NAMES: Final = ("gen_ai.tool.name", "tool.name", "ai.toolCall.name")
_CALL_IDS: Final = ("gen_ai.tool.call.id", "ai.toolCall.id", "tool_call.id")
_REQUESTS: Final = frozenset({"messages", "contents", "prompt"})
_LOOPS: Final = frozenset({"ai.generateText", "ai.streamText", "ai.generateObject", "ai.streamObject"})
_TOOLS: Final = ("gen_ai.tool.definitions", "ai.prompt.tools")
_MAPPED_FIELDS: Final = frozenset(
    {
        "id",
        "traceId",
        "parentObservationId",
        "name",
        "startTime",
        "endTime",
        "input",
        "output",
        "level",
        "statusMessage",
        "model",
        "usage",
        "usageDetails",
        "costDetails",
        "kind",
    }
)


def build_observation(body: JSONObject, tool_names: frozenset[str], location: str) -> RecordedStep:
    """Build the step of an observation; `tool_names` are the tools that models of the trace called."""
    own_metadata, kind = forkpoint_metadata(body), _type(body, tool_names)
    usage = {**as_object(body.get("usage")), **as_object(body.get("usageDetails"))}
    tokens = normalize_usage(usage, f"{location}/body/usage")
    costs = as_object(body.get("costDetails"))
    level, model = as_text(body.get("level")), as_text(body.get("model"))
    answer = _answer(body) if kind is StepType.MODEL else None
    facts = SpanFacts(
        key=as_text(body.get("id")),
        name=as_text(body.get("name")),
        type=kind,
        parent=as_text(body.get("parentObservationId")) or None,
        times=parse_span(body.get("startTime"), body.get("endTime"), f"{location}/body"),
        failed=level == "ERROR",
        is_open=bool(body.get("startTime")) and not body.get("endTime") and body.get("kind") != "event",
        error=as_text(body.get("statusMessage")) or (result_text(body["output"]) if body.get("output") else "error"),
        input=body.get("input"),
        output=body.get("output"),
        model=model,
        provider=normalize_provider(None, model),
        tool_name=_tool_name(body),
        call_id=_call_id(body),
        usage=answer.usage if answer and tokens == Usage() else tokens,
        request=_request(body) if kind is StepType.MODEL else None,
        answer=answer,
        attributes={
            **{
                key: value
                for key, value in body.items()
                if key not in _MAPPED_FIELDS and value not in (None, "", [], {})
            },
            **usage_details(usage),
            **answer_details(body.get("output")),
            # Parts of the cost, such as those of tokens in and out.
            **({"cost_details": costs} if len(costs) > 1 else {}),
            # A step without answers, such as an embedding, has no column for it.
            **({"model": model} if model and kind is not StepType.MODEL else {}),
            **_remark(body),
        },
    )
    step = build_step(facts)
    step = _restore_exported(step, body, own_metadata) if own_metadata else step
    cost = total_cost(costs)
    return replace(step, cost_usd=parse_cost(cost)) if cost is not None else step


def total_cost(details: JSONObject) -> JSONValue:
    """Return the total of cost details, else the sum of its parts, as Langfuse does; null without any."""
    parts = [cost for cost in details.values() if is_number(cost)]
    return details["total"] if details.get("total") is not None else sum(parts) if parts else None


def _remark(body: JSONObject) -> JSONObject:
    """Return the level and the message of an observation that did not fail, such as a warning."""
    level, message = as_text(body.get("level")), as_text(body.get("statusMessage"))
    if level == "ERROR" or (not message and level in ("", "DEFAULT")) or forkpoint_metadata(body):
        return {}
    return {"level": level, **({"status_message": message} if message else {})}


def forkpoint_metadata(body: JSONObject) -> JSONObject:
    """Return Forkpoint's metadata of a trace or observation that it exported."""
    return as_object(as_object(body.get("metadata")).get("forkpoint"))


def _type(body: JSONObject, tool_names: frozenset[str]) -> StepType:
    """Return the type by kind or metadata; else a tool if a model called it or it has a call id."""
    own_metadata = forkpoint_metadata(body)
    if _is_loop(body):
        return StepType.AGENT
    step_type = _TYPES.get(as_text(body.get("kind"))) or _STEP_TYPES.get(as_text(own_metadata.get("step_type")))
    if step_type is not None:
        return step_type
    name = as_text(body.get("name"))
    is_tool = name in tool_names or _tool_name(body) or _call_id(body)
    return StepType.TOOL if is_tool else container_type(name)


def _is_loop(body: JSONObject) -> bool:
    """Return whether Langfuse took the loop of the Vercel AI SDK for a model call, because it names the model."""
    return as_text(_span_attributes(body).get("ai.operationId")) in _LOOPS


def _span_attributes(body: JSONObject) -> JSONObject:
    """Return the attributes of a span that came from OpenTelemetry."""
    return as_object(as_object(body.get("metadata")).get("attributes"))


def _tool_name(body: JSONObject) -> str:
    return as_text(first_member(_span_attributes(body), *_TOOL_NAMES))


def _call_id(body: JSONObject) -> str:
    own_id = first_member(as_object(body.get("metadata")), "tool_use_id", "tool_call_id")
    return normalize_call_id(own_id or first_member(_span_attributes(body), *_CALL_IDS))


def _finish_reason(body: JSONObject) -> str:
    """Return the reason that Forkpoint exported, else that of a span's only answer."""
    attributes = _span_attributes(body)
    reasons = as_list(parse_embedded(attributes.get("gen_ai.response.finish_reasons")))
    reason = reasons[0] if len(reasons) == 1 else attributes.get("ai.response.finishReason")
    return as_text(forkpoint_metadata(body).get("finish_reason") or reason)


def _restore_exported(step: RecordedStep, body: JSONObject, own_metadata: JSONObject) -> RecordedStep:
    """Restore a step that Forkpoint exported, from the metadata for which Langfuse has no fields."""
    status = _STATUSES.get(as_text(own_metadata.get("status")), step.status)
    is_untimed = own_metadata.get("timed") is False
    is_not_model = step.type is not StepType.MODEL
    retries = own_metadata.get("retries")
    return replace(
        step,
        status=status,
        error=as_text(body.get("statusMessage")),
        input=body.get("input") if is_not_model else step.input,
        output=body.get("output") if is_not_model else step.output,
        provider=as_text(own_metadata.get("provider")) or step.provider,
        tool_name=as_text(own_metadata.get("tool_name")),
        retries=retries if isinstance(retries, int) else 0,
        started_at=None if is_untimed else step.started_at,
        ended_at=None if is_untimed else step.ended_at,
        attributes={key: value for key, value in step.attributes.items() if key != "metadata"},
    )


def _request(observation: JSONObject) -> JSONObject | None:
    """Return the request with the sampling parameters and tools that Langfuse stores beside it."""
    body = as_object(observation.get("input"))
    conversation, tools = _split_tools(observation.get("input"))
    items = as_list(parse_embedded(conversation))
    messages = normalize_items(items) if is_item_list(items) else normalize_messages(conversation)
    if "role" not in body and (_REQUESTS & body.keys() or isinstance(body.get("input"), str | list)):
        request = normalize_client_request(body)
    elif body and all(message.get("content") is None and "tool_calls" not in message for message in messages):
        request = normalize_request({"prompt": _arguments_text(body)})
    else:
        request = model_input(messages, tools, {})
    parameters = normalize_parameters(as_object(observation.get("modelParameters")))
    if parameters:
        request["parameters"] = {**as_object(request.get("parameters")), **parameters}
    if not request.get("tools") and (tools := _tools(observation)):
        request["tools"] = tools
    return request if as_list(request["messages"]) else None


def _arguments_text(body: JSONObject) -> str:
    """Return what a function that calls a model got: its only argument, or all of them as JSON."""
    arguments = as_list(body.get("args"))
    is_text = len(arguments) == 1 and not body.get("kwargs") and isinstance(arguments[0], str)
    return as_text(arguments[0]) if is_text else result_text(body)


def _answer(observation: JSONObject) -> Answer:
    """Read an answer; one of the Vercel AI SDK that only calls tools is a list of calls without a message."""
    output = observation.get("output")
    calls = as_list(parse_embedded(output))
    is_calls = bool(calls) and all({"toolCallId", "toolName"} <= as_object(call).keys() for call in calls)
    value: JSONValue = {"role": "assistant", "tool_calls": calls} if is_calls else output
    return normalize_client_answer(value, _finish_reason(observation))


def _split_tools(conversation: JSONValue) -> tuple[JSONValue, list[JSONValue]]:
    """Return messages without the tools that Langfuse's handler for LangChain puts between them, and these tools."""
    messages = as_list(parse_embedded(conversation))
    tools: list[JSONValue] = [_content(message) for message in messages if _is_tool(message)]
    if not tools:
        return conversation, []
    return [message for message in messages if not _is_tool(message)], normalize_tools(tools)


def _is_tool(message: JSONValue) -> bool:
    return "parameters" in as_object(_content(message).get("function"))


def _content(message: JSONValue) -> JSONObject:
    return as_object(as_object(message).get("content"))


def _tools(observation: JSONObject) -> list[JSONValue]:
    """Return the tools in a span's attributes, else those that Langfuse found in the request, which have JSON texts."""
    definitions = as_object(parse_embedded(observation.get("toolDefinitions")))
    definition_tools: list[JSONValue] = [
        {"name": name, **as_object(parse_embedded(tool))} for name, tool in definitions.items()
    ]
    attributes = _span_attributes(observation)
    parameters = as_object(parse_embedded(attributes.get("model_request_parameters")))
    of_pydantic_ai = [*as_list(parameters.get("function_tools")), *as_list(parameters.get("output_tools"))]
    return normalize_tools(first_member(attributes, *_TOOLS) or of_pydantic_ai) or normalize_tools(definition_tools)
