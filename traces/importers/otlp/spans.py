"""OTLP traces and logs from files: spans of many traces, in any order and any tracer's dialect."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from traces.core.json_access import as_list, as_object, as_text, first_member
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun, RecordedStep
from traces.core.vocabulary import StepType
from traces.importers.common.model_calls import normalize_provider, parse_token_count
from traces.importers.common.run_builder import (
    RunFacts,
    app_name,
    build_run,
    called_tool_names,
    container_type,
    match_calls,
    sort_causally,
)
from traces.importers.common.spans import SpanFacts, build_step, normalize_documents
from traces.importers.common.times import Span, parse_span, parse_time
from traces.importers.files.errors import BadFile
from traces.importers.files.json_reader import parse_embedded
from traces.importers.files.source import Record, Source, parse_records
from traces.importers.otlp import span_documents
from traces.importers.otlp.attributes import Attributes
from traces.importers.otlp.model_calls import extract_answer, extract_request, extract_usage, find_requested_model
from traces.importers.otlp.wire import (
    SpanEvent,
    WireLog,
    WireSpan,
    is_otlp_request,
    read_request,
    request_from_protobuf,
)

FORMAT = "otlp"
_KINDS: Final = {
    # OpenInference, Traceloop, Langfuse, LangSmith
    "llm": StepType.MODEL,
    "generation": StepType.MODEL,
    "chat": StepType.MODEL,
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
_TOOL_NAMES: Final = ("gen_ai.tool.name", "tool.name", "ai.toolCall.name", "traceloop.entity.name")
_INPUTS: Final = (
    "langfuse.observation.input",
    "gen_ai.tool.call.arguments",
    "ai.toolCall.args",
    "tool.parameters",
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
_OUTPUTS: Final = (
    "langfuse.observation.output",
    "gen_ai.tool.call.result",
    "ai.toolCall.result",
    "gen_ai.retrieval.documents",
    "output.value",
    "traceloop.entity.output",
    "tool.output",
    "gen_ai.output.messages",
    "langfuse.trace.output",
    "ai.response.text",
    "chain.output",
)
_SESSION: Final = (
    "session.id",
    "gen_ai.conversation.id",
    "user.id",
    "langfuse.session.id",
    "langfuse.user.id",
    "langfuse.trace.metadata",
    "metadata",
)


@dataclass(kw_only=True)
class _Trace:
    spans: dict[str, WireSpan] = field(default_factory=dict)
    logs: dict[str, list[SpanEvent]] = field(default_factory=dict)
    resource: JSONObject = field(default_factory=dict)


def parse(sources: Sequence[Source]) -> Iterator[RecordedRun]:
    """Yield one run per trace. Of a span that occurs twice, the last occurrence is used."""
    traces: dict[str, _Trace] = {}
    for record in parse_records([_prepare_json(source) for source in sources], _validate_record):
        trace = traces.setdefault(record.trace_id, _Trace())
        if isinstance(record, WireSpan):
            trace.spans[record.span_id] = record
        else:
            trace.resource |= record.resource
            trace.logs.setdefault(record.span_id, []).append(record.event)
    for trace_id, trace in traces.items():
        yield _run(trace_id, trace)


def keys(source: Source) -> set[str]:
    """Return the ids of the traces that have spans or logs in a file."""
    return {record.trace_id for record in parse_records([_prepare_json(source)], _validate_record)}


def _prepare_json(source: Source) -> Source:
    """Set the source's JSON value from protobuf, or its documents from a log; leave other files unchanged."""
    if source.data.lstrip()[:1] not in {b"{", b"["} and (request := request_from_protobuf(source.data)) is not None:
        source.__dict__["value"] = request
        source.__dict__["is_lines"] = False
    elif documents := list(span_documents.find_documents(source.data)):
        source.problems.extend(document for document in documents if isinstance(document, BadFile))
        source.documents = [document for document in documents if isinstance(document, Record)]
    return source


def _validate_record(value: JSONValue, location: str) -> Iterator[WireSpan | WireLog]:
    """Yield the spans and logs of one record. Raises `BadFile` for spans that cannot become steps."""
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from _validate_record(item, f"{location}/{index}")
        return
    if span_documents.is_span_document(value):
        for document in span_documents.read_spans(value, location):
            _step(document, [], frozenset())
            yield document
        return
    body = value if is_otlp_request(value) else as_object(value).get("body")
    if not is_otlp_request(body):
        raise BadFile("an OTLP request needs `resourceSpans` or `resourceLogs`", location or "/resourceSpans")
    for record in read_request(body, location):
        if isinstance(record, WireSpan):
            _step(record, [], frozenset())
        yield record


def _run(trace_id: str, trace: _Trace) -> RecordedRun:
    spans_by_id = {**{key: _from_logs(trace_id, key, logs) for key, logs in trace.logs.items()}, **trace.spans}
    spans = sorted(spans_by_id.values(), key=lambda span: span.span_id)
    outputs = [_step(span, trace.logs.get(span.span_id, []), frozenset()).output for span in spans]
    tool_names = called_tool_names(outputs)
    steps = [_step(span, trace.logs.get(span.span_id, []), tool_names) for span in spans]
    return build_run(_facts(trace_id, trace, spans), match_calls(sort_causally(steps)), location=f"trace {trace_id}")


def _from_logs(trace_id: str, span_id: str, logs: list[SpanEvent]) -> WireSpan:
    """Build the span of a model call from its log records, for recordings without the span."""
    attributes = {name: value for log in logs for name, value in log.body.items() if name.startswith("gen_ai.")}
    times = [log.time for log in logs if log.time is not None]
    return WireSpan(
        trace_id=trace_id,
        span_id=span_id,
        name="chat",
        location=f"span {span_id}",
        start=times[0] if times else None,
        end=times[-1] if times else None,
        attributes={"gen_ai.operation.name": "chat", **attributes},
    )


def _facts(trace_id: str, trace: _Trace, spans: list[WireSpan]) -> RunFacts:
    # Parts of a trace come in any order; the root's attributes take precedence.
    root = next((span for span in spans if not span.parent_id), spans[0])
    resource: JSONObject = {**trace.resource}
    for span in (*spans, root):
        resource |= span.resource
    session: JSONObject = {key: value for span in spans for key, value in span.attributes.items() if key in _SESSION}
    tags = [
        tag
        for span in spans
        for tag_field in ("langfuse.trace.tags", "tag.tags")
        for tag in as_list(parse_embedded(span.attributes.get(tag_field)))
    ]
    name = as_text(first_member(root.attributes, "langfuse.trace.name", "langsmith.trace.name") or root.name)
    return RunFacts(
        external_id=trace_id,
        format=FORMAT,
        name=name,
        failed=root.failed,
        tags=[as_text(tag) for tag in tags],
        app=app_name(resource.get("service.name"), resource.get("openinference.project.name"), name) or FORMAT,
        environment=as_text(
            first_member(resource, "deployment.environment.name", "deployment.environment")
            or root.attributes.get("langfuse.environment")
        ),
        metadata={**session, "trace_name": name, "resource": resource},
    )


def _step(wire: WireSpan, logs: list[SpanEvent], tool_names: frozenset[str]) -> RecordedStep:
    attributes = Attributes(wire.attributes)
    events = [*wire.events, *sorted(logs, key=lambda log: (as_text(log.time), log.name))]
    times = parse_span(wire.start, wire.end, wire.location)
    type = _step_type(wire, attributes, tool_names)
    facts = {
        StepType.MODEL: _model,
        StepType.TOOL: _tool,
        StepType.RETRIEVAL: _retrieval,
    }.get(type, _container)(wire, attributes, events, times)
    return build_step(_complete_facts(facts, wire, type, attributes, events))


def _step_type(wire: WireSpan, attributes: Attributes, tool_names: frozenset[str]) -> StepType:
    for name in _KIND_NAMES:
        if kind := _KINDS.get(as_text(attributes.look(name)).lower()):
            return kind
    operation = as_text(attributes.look("ai.operationId"))
    if operation.endswith((".doGenerate", ".doStream")):
        return StepType.MODEL
    if operation == "ai.toolCall" or attributes.look("gen_ai.tool.name", "tool.name") or wire.name in tool_names:
        return StepType.TOOL
    if operation.startswith("ai.embed") or attributes.look(
        "retrieval.top_k", "retriever.query", "embedding.model", "gen_ai.retrieval.query.text"
    ):
        return StepType.RETRIEVAL
    if not operation and attributes.look(*_MODEL_NAMES):
        return StepType.MODEL
    return container_type(wire.name)


def _model(wire: WireSpan, attributes: Attributes, events: list[SpanEvent], times: Span) -> SpanFacts:
    requested_model = find_requested_model(attributes)
    model = requested_model or as_text(attributes.look(*_MODEL_NAMES))
    request, answer = extract_request(attributes, events), extract_answer(attributes, events)
    return SpanFacts(
        key=wire.span_id,
        name=wire.name,
        type=StepType.MODEL,
        times=times,
        request=request,
        answer=answer,
        provider=normalize_provider(attributes.take(*_PROVIDERS), model),
        model=model,
        usage=extract_usage(attributes, wire.location),
    )


def _tool(wire: WireSpan, attributes: Attributes, events: list[SpanEvent], times: Span) -> SpanFacts:
    name = as_text(attributes.take(*_TOOL_NAMES)) or wire.name.removeprefix("execute_tool ")
    return SpanFacts(
        key=wire.span_id,
        name=name,
        type=StepType.TOOL,
        times=times,
        tool_name=name,
        call_id=as_text(attributes.take("gen_ai.tool.call.id", "ai.toolCall.id", "tool_call.id", "tool.id")),
        input=attributes.take(*_INPUTS),
        output=attributes.take(*_OUTPUTS),
    )


def _retrieval(wire: WireSpan, attributes: Attributes, events: list[SpanEvent], times: Span) -> SpanFacts:
    documents = [as_object(item).get("document") for item in as_list(attributes.take_indexed("retrieval.documents"))]
    query_input: JSONValue = parse_embedded(attributes.take(*_INPUTS))
    top_k = parse_token_count(attributes.take("gen_ai.retrieval.top_k", "retrieval.top_k"), wire.location)
    if top_k is not None and query_input is not None:
        query_input = {"top_k": top_k, **(query_input if isinstance(query_input, dict) else {"query": query_input})}
    output = attributes.take(*_OUTPUTS)
    if documents:
        output = {"documents": normalize_documents(documents)}
    return SpanFacts(
        key=wire.span_id, name=wire.name, type=StepType.RETRIEVAL, times=times, input=query_input, output=output
    )


def _container(wire: WireSpan, attributes: Attributes, events: list[SpanEvent], times: Span) -> SpanFacts:
    name = as_text(attributes.look("gen_ai.agent.name", "agent.name")) or wire.name
    return SpanFacts(
        key=wire.span_id,
        name=name,
        type=StepType.AGENT,
        times=times,
        input=attributes.take(*_INPUTS),
        output=attributes.take(*_OUTPUTS),
    )


def _complete_facts(
    facts: SpanFacts, wire: WireSpan, type: StepType, attributes: Attributes, events: list[SpanEvent]
) -> SpanFacts:
    """Add the facts common to all kinds of spans: parent, failure, links, unused attributes and events."""
    level = as_text(attributes.look("langfuse.observation.level"))
    exception_message = next(
        (as_text(event.body.get("exception.message")) for event in events if event.name == "exception"), ""
    )
    error = wire.message or as_text(attributes.look("langfuse.observation.status_message")) or exception_message
    rest = attributes.rest()
    if facts.type is not StepType.MODEL or facts.request is None or facts.answer is None or facts.answer.output is None:
        extra_events = events
    else:
        extra_events = [event for event in events if not event.name.startswith("gen_ai.")]
    event_list: list[JSONValue] = [
        {"name": event.name, "time": _iso_time(event.time, wire.location), "attributes": event.body}
        for event in extra_events
    ]
    scope = as_text(wire.scope.get("name"))
    return replace(
        facts,
        type=type,
        parent=wire.parent_id or None,
        failed=wire.failed or level == "ERROR",
        error=error or "error",
        links=tuple(link for link in wire.links if link),
        attributes={**rest, **({"events": event_list} if event_list else {}), **({"scope": scope} if scope else {})},
    )


def _iso_time(value: JSONValue, location: str) -> str:
    time = parse_time(value, location)
    return time.isoformat() if time else ""
