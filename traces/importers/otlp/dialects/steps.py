"""Steps of spans, in any tracer's dialect."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import takewhile
from typing import Final

from traces.core.json_access import as_list, as_object, as_text
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedStep
from traces.core.vocabulary import TOOL_DESCRIPTION, StepType
from traces.importers.common.messages import normalize_messages
from traces.importers.common.model_calls import Usage, normalize_provider, parse_token_count
from traces.importers.common.run_builder import container_type
from traces.importers.common.spans import SpanFacts, build_step, normalize_documents
from traces.importers.common.times import Span, parse_span, parse_time
from traces.importers.files.errors import BadFile
from traces.importers.files.json_reader import parse_embedded, parse_shared
from traces.importers.otlp.dialects.attributes import Attributes, TraceReader
from traces.importers.otlp.dialects.message_events import (
    MessageEvents,
    details_attributes,
    events_in_attribute,
    without_details,
)
from traces.importers.otlp.dialects.model_calls import read_model_call
from traces.importers.otlp.dialects.tool_calls import tool_arguments, tool_result
from traces.importers.otlp.dialects.usage import extract_usage
from traces.importers.otlp.translations import haystack, tracers
from traces.importers.otlp.wire import SpanEvent, WireSpan

_KINDS: Final = {
    # OpenInference, Traceloop, AgentOps, Langfuse, LangSmith
    "llm": StepType.MODEL,
    "generation": StepType.MODEL,
    "chat": StepType.MODEL,
    "completion": StepType.MODEL,
    "tool": StepType.TOOL,
    "agent": StepType.AGENT,
    "chain": StepType.AGENT,
    "workflow": StepType.AGENT,
    "task": StepType.AGENT,
    "retriever": StepType.RETRIEVAL,
    "reranker": StepType.RETRIEVAL,
    "embedding": StepType.RETRIEVAL,
    "guardrail": StepType.SAFETY,
    "evaluator": StepType.VALIDATOR,
    "prompt": StepType.PROMPT,
    "session": StepType.AGENT,
    "operation": StepType.AGENT,
    "workflow.step": StepType.AGENT,
    # gen_ai.operation.name
    "generate_content": StepType.MODEL,
    "text_completion": StepType.MODEL,
    "embeddings": StepType.RETRIEVAL,
    "retrieval": StepType.RETRIEVAL,
    "execute_tool": StepType.TOOL,
    "invoke_agent": StepType.AGENT,
    "create_agent": StepType.AGENT,
    "invoke_workflow": StepType.AGENT,
    "plan": StepType.PLANNER,
}
_KIND_NAMES: Final = (
    "langfuse.observation.type",
    "openinference.span.kind",
    "traceloop.span.kind",
    "agentops.span.kind",
    "gen_ai.operation.name",
    "langsmith.span.kind",
    "llm.request.type",
)
_MODEL_NAMES: Final = (
    "gen_ai.request.model",
    "llm.request.model_name",
    "llm.request.model",
    "llm.model_name",
    "llm.model",
    "langfuse.observation.model.name",
    "ai.model.id",
    "gen_ai.response.model",
    "llm.response.model",
)
_PROVIDERS: Final = (
    "gen_ai.provider.name",
    "gen_ai.system",
    "llm.provider",
    "llm.system",
    "llm.vendor",
    "ai.model.provider",
)
_TOOL_DESCRIPTIONS: Final = ("gen_ai.tool.description", "tool.description")
_TOOL_NAMES: Final = ("gen_ai.tool.name", "tool.name", "ai.toolCall.name", "traceloop.entity.name")
# These are always the arguments.
_CALL_INPUTS: Final = (
    "langfuse.observation.input",
    "gen_ai.tool.call.arguments",
    "ai.toolCall.args",
    "ai.toolCall.input",
    # The Agent Development Kit
    "gcp.vertex.agent.tool_call_args",
    # pydantic-ai's first formats
    "tool_arguments",
)
_INPUTS: Final = (
    *_CALL_INPUTS,
    "gen_ai.retrieval.query.text",
    "input.value",
    "traceloop.entity.input",
    "tool.input",
    "retriever.query",
    "gen_ai.input.messages",
    "langfuse.trace.input",
    "ai.prompt",
    "chain.input",
)
_QUERIES: Final = (*_INPUTS, "reranker.query", "ai.value", "ai.values")
_TEMPLATE: Final = "llm.prompt_template"
_TOP_K: Final = ("gen_ai.retrieval.top_k", "retrieval.top_k", "reranker.top_k", "gen_ai.request.top_k")
_DOCUMENTS: Final = ("retrieval.documents", "reranker.output_documents")
_ERRORS: Final = ("exception.message", "error.message")
_PYDANTIC_AI: Final = "pydantic-ai"
_PYDANTIC_MESSAGES: Final = ("pydantic_ai.all_messages", "all_messages_events")
_PARAMETERS: Final = "tool.parameters"
# A span of the Agent Development Kit beside those of parallel calls, with the results of all.
_MERGED_TOOLS: Final = "(merged tools)"
_CALL_IDS: Final = ("gen_ai.tool.call.id", "ai.toolCall.id", "tool_call.id", "tool.id")
_SCHEMA_KEYS: Final = frozenset({"type", "anyOf", "oneOf", "allOf", "$ref"})
# The Agent Development Kit writes JSON.
_ADK_RESULT: Final = "gcp.vertex.agent.tool_response"
_OUTPUTS: Final = (
    "langfuse.observation.output",
    "gen_ai.tool.call.result",
    # Latitude
    "gen_ai.tool.result.value",
    "ai.toolCall.result",
    "ai.toolCall.output",
    "tool_response",
    _ADK_RESULT,
    "gen_ai.retrieval.documents",
    "output.value",
    "traceloop.entity.output",
    "tool.output",
    "gen_ai.output.messages",
    "langfuse.trace.output",
    "ai.response.text",
    "ai.response.object",
    "chain.output",
    "final_result",
)


def build_span_step(
    wire: WireSpan, logs: list[SpanEvent], tool_names: frozenset[str], reader: TraceReader
) -> RecordedStep:
    """Build the step of a span and its log records. `tool_names` are the tools that the trace's models call."""
    wire, events = _unpack_events(wire, [*wire.events, *sorted(logs, key=lambda log: (as_text(log.time), log.name))])
    attributes, messages = Attributes(wire, reader), MessageEvents(events)
    times = parse_span(wire.start, wire.end, wire.location)
    type = _step_type(wire, attributes, tool_names)
    facts = {
        StepType.MODEL: _model,
        StepType.TOOL: _tool,
        StepType.RETRIEVAL: _retrieval,
        StepType.PROMPT: _prompt,
    }.get(type, _container)(wire, attributes, messages, times)
    return build_step(_complete_facts(facts, wire, type, attributes, messages))


def _unpack_events(wire: WireSpan, events: list[SpanEvent]) -> tuple[WireSpan, list[SpanEvent]]:
    """Move the attributes that an event of the whole call has to the span, and events in an attribute to the events."""
    attributes = wire.attributes
    if details := details_attributes(events):
        attributes = {**details, **attributes}
        events = without_details(events, attributes)
    if wire.scope.get("scope") == _PYDANTIC_AI and (attribute_events := events_in_attribute(attributes.get("events"))):
        attributes = {name: value for name, value in attributes.items() if name != "events"}
        events = [*events, *attribute_events]
    name = wire.name
    if not tracers.MARKS.isdisjoint(attributes):
        name, attributes, events = tracers.translate(name, attributes, events)
    return (wire if attributes is wire.attributes else replace(wire, name=name, attributes=attributes)), events


def is_type_from_name(wire: WireSpan, reader: TraceReader) -> bool:
    """Return whether a span becomes a tool call if its name is that of a tool."""
    attributes = Attributes(wire, reader)
    return _step_type(wire, attributes, frozenset({wire.name})) != _step_type(wire, attributes, frozenset())


def build_bare_step(wire: WireSpan, problem: BadFile) -> RecordedStep:
    """Build the step of a span whose contents cannot be read: everything that came is among its attributes."""
    facts = SpanFacts(
        key=wire.span_id,
        name=wire.name,
        type=StepType.AGENT,
        times=_readable_times(wire),
        parent=wire.parent_id or None,
        failed=wire.failed,
        error=wire.message or "error",
        attributes={**_own_fields(wire, wire.name, wire.attributes), "unreadable": str(problem)},
    )
    return build_step(facts)


def _readable_times(wire: WireSpan) -> Span:
    try:
        return parse_span(wire.start, wire.end, wire.location)
    except BadFile:
        return Span(start=None, end=None)


def _step_type(wire: WireSpan, attributes: Attributes, tool_names: frozenset[str]) -> StepType:
    if attributes.look("gen_ai.tool.name") == _MERGED_TOOLS:
        return StepType.AGENT
    for name in attributes.present(_KIND_NAMES):
        if kind := _KINDS.get(as_text(attributes.look(name)).lower()):
            return kind
    operation = as_text(attributes.look("ai.operationId"))
    if operation.endswith((".doGenerate", ".doStream")):
        return StepType.MODEL
    if operation == "ai.toolCall" or attributes.look("gen_ai.tool.name", "tool.name") or wire.name in tool_names:
        return StepType.TOOL
    if operation.startswith(("ai.embed", "ai.rerank")) or attributes.look(
        "retrieval.top_k", "retriever.query", "embedding.model", "gen_ai.retrieval.query.text"
    ):
        return StepType.RETRIEVAL
    if not operation and attributes.look(*_MODEL_NAMES):
        return StepType.MODEL
    return container_type(wire.name)


def _model(wire: WireSpan, attributes: Attributes, events: MessageEvents, times: Span) -> SpanFacts:
    call = read_model_call(attributes, events, wire.location)
    model = call.model or as_text(attributes.look(*_MODEL_NAMES))
    return SpanFacts(
        key=wire.span_id,
        name=wire.name,
        type=StepType.MODEL,
        times=times,
        request=call.request,
        answer=call.answer,
        provider=normalize_provider(attributes.take(*_PROVIDERS), model),
        model=model,
        usage=call.usage,
        attributes=call.attributes,
    )


def _tool(wire: WireSpan, attributes: Attributes, events: MessageEvents, times: Span) -> SpanFacts:
    name = as_text(attributes.take(*_TOOL_NAMES)) or wire.name.removeprefix("execute_tool ")
    # Some tracers write the schema of the arguments here instead of the arguments.
    schema = attributes.look_json(_PARAMETERS)
    call_input = attributes.look(*_CALL_INPUTS)
    names = _INPUTS if call_input is not None or _is_schema(schema) else (_PARAMETERS, *_INPUTS)
    arguments = tool_arguments(attributes.take(*names), as_object(schema) if _is_schema(schema) else {})
    result = tool_result(attributes.take(*_OUTPUTS))
    description = attributes.take(*_TOOL_DESCRIPTIONS)
    details: JSONObject = {"call": arguments.other, "result": result.other, TOOL_DESCRIPTION: description}
    return SpanFacts(
        key=wire.span_id,
        name=name,
        type=StepType.TOOL,
        times=times,
        tool_name=name,
        call_id=as_text(attributes.take(*_CALL_IDS)) or arguments.call_id or result.call_id,
        input=arguments.value,
        output=parse_embedded(result.value) if _ADK_RESULT in attributes else result.value,
        attributes={name: fields for name, fields in details.items() if fields},
    )


def _is_schema(value: JSONValue) -> bool:
    """Return whether a value describes arguments: a JSON schema, or the schemas of its properties."""
    fields = as_object(value)
    if fields.get("type") == "object" and isinstance(fields.get("properties"), dict):
        return True
    schemas = [as_object(field) for field in fields.values()]
    return bool(schemas) and all(not _SCHEMA_KEYS.isdisjoint(schema) for schema in schemas)


def _retrieval(wire: WireSpan, attributes: Attributes, events: MessageEvents, times: Span) -> SpanFacts:
    query_input: JSONValue = parse_embedded(attributes.take(*_QUERIES))
    top_k = parse_token_count(attributes.take(*_TOP_K), wire.location)
    if top_k is not None and query_input is not None:
        query_input = {"top_k": top_k, **(query_input if isinstance(query_input, dict) else {"query": query_input})}
    return SpanFacts(
        key=wire.span_id,
        name=wire.name,
        type=StepType.RETRIEVAL,
        times=times,
        input=query_input,
        output=_search_result(attributes),
        usage=_embedding_usage(wire, attributes),
    )


def _embedding_usage(wire: WireSpan, attributes: Attributes) -> Usage:
    """Return the usage of an embedding; that of another search is the sum of those below it."""
    kinds = [as_text(attributes.look(name)).lower() for name in (*_KIND_NAMES, "ai.operationId")]
    is_embedding = any(kind.startswith("embedding") or kind.endswith(".doembed") for kind in kinds)
    return extract_usage(attributes, Usage(), wire.location) if is_embedding else Usage()


def _search_result(attributes: Attributes) -> JSONValue:
    """Return the documents of a search, or those that a reranker selected; an output that repeats them is left out."""
    for prefix in _DOCUMENTS:
        items = [as_object(item).get("document") for item in as_list(attributes.take_indexed(prefix))]
        if documents := normalize_documents(items):
            copies = normalize_documents(attributes.look(*_OUTPUTS))
            contents = [as_object(document).get("content") for document in documents]
            if copies and all(as_object(copy).get("content") in contents for copy in copies):
                attributes.take(*_OUTPUTS)
            return {"documents": documents}
    return attributes.take(*_OUTPUTS)


def _container(wire: WireSpan, attributes: Attributes, events: MessageEvents, times: Span) -> SpanFacts:
    name = as_text(attributes.look("gen_ai.agent.name", "agent.name")) or wire.name
    return SpanFacts(
        key=wire.span_id,
        name=name,
        type=StepType.AGENT,
        times=times,
        input=attributes.take(*_INPUTS) or _first_messages(attributes),
        output=attributes.take(*_OUTPUTS),
    )


def _prompt(wire: WireSpan, attributes: Attributes, events: MessageEvents, times: Span) -> SpanFacts:
    facts = _container(wire, attributes, events, times)
    if (template := attributes.take(f"{_TEMPLATE}.template")) is not None:
        parts: JSONObject = {
            "template": template,
            "version": attributes.take(f"{_TEMPLATE}.version"),
            "variables": attributes.take_json(f"{_TEMPLATE}.variables"),
            "input": facts.input,
        }
        facts.input = {name: value for name, value in parts.items() if value is not None}
    return facts


def _first_messages(attributes: Attributes) -> JSONValue:
    """Return what a pydantic-ai agent began with: its instructions and the messages before its first answer."""
    messages = normalize_messages(parse_shared(attributes.look(*_PYDANTIC_MESSAGES)))
    task = [*takewhile(lambda message: message.get("role") != "assistant", messages)]
    instructions = normalize_messages(attributes.look_json("gen_ai.system_instructions"), "system") if task else []
    first: list[JSONValue] = [*({**message, "role": "system"} for message in instructions), *task]
    return {"messages": first} if first else None


def _complete_facts(
    facts: SpanFacts, wire: WireSpan, type: StepType, attributes: Attributes, events: MessageEvents
) -> SpanFacts:
    """Add the facts common to all kinds of spans: parent, failure, links, unused attributes and events."""
    level = as_text(attributes.look("langfuse.observation.level"))
    error = wire.message or as_text(attributes.look("langfuse.observation.status_message"))
    rest = events.rest()
    error = error or _exception_message(rest) or as_text(attributes.look(*_ERRORS))
    event_list: list[JSONValue] = [
        {"name": event.name, "time": _iso_time(event.time, wire.location), "attributes": event.body} for event in rest
    ]
    facts.type = type
    facts.parent = wire.parent_id or None
    facts.failed = wire.failed or level == "ERROR" or attributes.look(haystack.FAILURE) is True
    facts.error = error or "error"
    facts.links = tuple(link for link in wire.links if link)
    facts.attributes = {
        **_own_fields(wire, facts.name, attributes.rest()),
        **facts.attributes,
        **({"events": event_list} if event_list else {}),
    }
    return facts


def _exception_message(events: Sequence[SpanEvent]) -> str:
    messages = [as_text(event.body.get("exception.message")) for event in events if event.name == "exception"]
    return messages[0] if messages else ""


def _own_fields(wire: WireSpan, step_name: str, attributes: JSONObject) -> JSONObject:
    """Return attributes, and the fields of the span and its scope that have no place of their own.

    A field with the name of an attribute gets a prefix.
    """
    fields = wire.scope | wire.fields
    if step_name != wire.name:
        fields["name"] = wire.name
    if attributes.keys().isdisjoint(fields):
        return attributes | fields
    return attributes | {f"span.{name}" if name in attributes else name: value for name, value in fields.items()}


def _iso_time(value: JSONValue, location: str) -> str:
    time = parse_time(value, location)
    return time.isoformat() if time else ""
