"""OTLP traces and logs, from files: spans of many traces, in any order, in any of the tracers' dialects."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

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
from traces.importers.files.json_reader import first, items, obj, parse_embedded, text
from traces.importers.files.source import Record, Source, parse_records
from traces.importers.otlp import span_documents
from traces.importers.otlp.attributes import Attributes
from traces.importers.otlp.model_calls import answer_in, request_in, requested_model, usage_in
from traces.importers.otlp.wire import Happening, WireLog, WireSpan, from_protobuf, is_envelope, read

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
    logs: dict[str, list[Happening]] = field(default_factory=dict)
    resource: JSONObject = field(default_factory=dict)


def parse(sources: Sequence[Source]) -> Iterator[RecordedRun]:
    """One run for each trace; a span that comes twice is taken as it came last."""
    traces: dict[str, _Trace] = {}
    for each in parse_records([_in_json(source) for source in sources], _checked):
        trace = traces.setdefault(each.trace_id, _Trace())
        if isinstance(each, WireSpan):
            trace.spans[each.span_id] = each
        else:
            trace.resource |= each.resource
            trace.logs.setdefault(each.span_id, []).append(each.event)
    for trace_id, trace in traces.items():
        yield _run(trace_id, trace)


def keys(source: Source) -> set[str]:
    """The traces that have spans or logs in a file."""
    return {each.trace_id for each in parse_records([_in_json(source)], _checked)}


def _in_json(source: Source) -> Source:
    """A protobuf file as the same file in JSON."""
    if source.data.lstrip()[:1] not in {b"{", b"["} and (request := from_protobuf(source.data)) is not None:
        source.__dict__["value"] = request
        source.__dict__["is_lines"] = False
    elif documents := list(span_documents.in_log(source.data)):
        source.problems.extend(each for each in documents if isinstance(each, BadFile))
        source.documents = [each for each in documents if isinstance(each, Record)]
    return source


def _checked(value: JSONValue, where: str) -> Iterator[WireSpan | WireLog]:
    """The spans and logs of one record, each span such that a step can be made of it."""
    if isinstance(value, list):
        for at, each in enumerate(value):
            yield from _checked(each, f"{where}/{at}")
        return
    if span_documents.is_span_document(value):
        for document in span_documents.read(value, where):
            _step(document, [], frozenset())
            yield document
        return
    body = value if is_envelope(value) else obj(value).get("body")
    if not is_envelope(body):
        raise BadFile("an OTLP request needs `resourceSpans` or `resourceLogs`", where or "/resourceSpans")
    for found in read(body, where):
        if isinstance(found, WireSpan):
            _step(found, [], frozenset())
        yield found


def _run(trace_id: str, trace: _Trace) -> RecordedRun:
    known = {**{key: _from_logs(trace_id, key, logs) for key, logs in trace.logs.items()}, **trace.spans}
    spans = sorted(known.values(), key=lambda each: each.span_id)
    outputs = [_step(each, trace.logs.get(each.span_id, []), frozenset()).output for each in spans]
    called = called_tool_names(outputs)
    steps = [_step(each, trace.logs.get(each.span_id, []), called) for each in spans]
    return build_run(_facts(trace_id, trace, spans), match_calls(sort_causally(steps)), location=f"trace {trace_id}")


def _from_logs(trace_id: str, span_id: str, logs: list[Happening]) -> WireSpan:
    """A model call of which only the log records are there."""
    attributes = {name: value for log in logs for name, value in log.body.items() if name.startswith("gen_ai.")}
    times = [log.time for log in logs if log.time is not None]
    return WireSpan(
        trace_id=trace_id,
        span_id=span_id,
        name="chat",
        where=f"span {span_id}",
        start=times[0] if times else None,
        end=times[-1] if times else None,
        attributes={"gen_ai.operation.name": "chat", **attributes},
    )


def _facts(trace_id: str, trace: _Trace, spans: list[WireSpan]) -> RunFacts:
    # Parts of a trace come in any order: what its root says holds, whichever came last.
    root = next((each for each in spans if not each.parent_id), spans[0])
    resource: JSONObject = {**trace.resource}
    for each in (*spans, root):
        resource |= each.resource
    merged: JSONObject = {key: value for each in spans for key, value in each.attributes.items() if key in _SESSION}
    tags = [
        tag
        for each in spans
        for name in ("langfuse.trace.tags", "tag.tags")
        for tag in items(parse_embedded(each.attributes.get(name)))
    ]
    named = text(first(root.attributes, "langfuse.trace.name", "langsmith.trace.name") or root.name)
    return RunFacts(
        external_id=trace_id,
        format=FORMAT,
        name=named,
        failed=root.failed,
        tags=[text(tag) for tag in tags],
        app=app_name(resource.get("service.name"), resource.get("openinference.project.name"), named) or FORMAT,
        environment=text(
            first(resource, "deployment.environment.name", "deployment.environment")
            or root.attributes.get("langfuse.environment")
        ),
        metadata={**merged, "trace_name": named, "resource": resource},
    )


def _step(wire: WireSpan, logs: list[Happening], called: frozenset[str]) -> RecordedStep:
    attributes = Attributes(wire.attributes)
    events = [*wire.events, *sorted(logs, key=lambda log: (text(log.time), log.name))]
    times = parse_span(wire.start, wire.end, wire.where)
    type = _type(wire, attributes, called)
    facts = {
        StepType.MODEL: _model,
        StepType.TOOL: _tool,
        StepType.RETRIEVAL: _retrieval,
    }.get(type, _container)(wire, attributes, events, times)
    return build_step(_finished(facts, wire, type, attributes, events))


def _type(wire: WireSpan, attributes: Attributes, called: frozenset[str]) -> StepType:
    for name in _KIND_NAMES:
        if kind := _KINDS.get(text(attributes.look(name)).lower()):
            return kind
    operation = text(attributes.look("ai.operationId"))
    if operation.endswith((".doGenerate", ".doStream")):
        return StepType.MODEL
    if operation == "ai.toolCall" or attributes.look("gen_ai.tool.name", "tool.name") or wire.name in called:
        return StepType.TOOL
    if operation.startswith("ai.embed") or attributes.look(
        "retrieval.top_k", "retriever.query", "embedding.model", "gen_ai.retrieval.query.text"
    ):
        return StepType.RETRIEVAL
    if not operation and attributes.look(*_MODEL_NAMES):
        return StepType.MODEL
    return container_type(wire.name)


def _model(wire: WireSpan, attributes: Attributes, events: list[Happening], times: Span) -> SpanFacts:
    asked = requested_model(attributes)
    model = asked or text(attributes.look(*_MODEL_NAMES))
    request, answer = request_in(attributes, events), answer_in(attributes, events)
    return SpanFacts(
        key=wire.span_id,
        name=wire.name,
        type=StepType.MODEL,
        times=times,
        request=request,
        answer=answer,
        provider=normalize_provider(attributes.take(*_PROVIDERS), model),
        model=model,
        usage=usage_in(attributes, wire.where),
    )


def _tool(wire: WireSpan, attributes: Attributes, events: list[Happening], times: Span) -> SpanFacts:
    name = text(attributes.take(*_TOOL_NAMES)) or wire.name.removeprefix("execute_tool ")
    return SpanFacts(
        key=wire.span_id,
        name=name,
        type=StepType.TOOL,
        times=times,
        tool_name=name,
        call_id=text(attributes.take("gen_ai.tool.call.id", "ai.toolCall.id", "tool_call.id", "tool.id")),
        input=attributes.take(*_INPUTS),
        output=attributes.take(*_OUTPUTS),
    )


def _retrieval(wire: WireSpan, attributes: Attributes, events: list[Happening], times: Span) -> SpanFacts:
    listed = [obj(each).get("document") for each in items(attributes.take_indexed("retrieval.documents"))]
    query = attributes.take(*_INPUTS)
    given: JSONValue = parse_embedded(query)
    top_k = parse_token_count(attributes.take("gen_ai.retrieval.top_k", "retrieval.top_k"), wire.where)
    if top_k is not None and given is not None:
        given = {"top_k": top_k, **(given if isinstance(given, dict) else {"query": given})}
    output = attributes.take(*_OUTPUTS)
    documents: JSONValue = {"documents": normalize_documents(listed)} if listed else output
    return SpanFacts(
        key=wire.span_id, name=wire.name, type=StepType.RETRIEVAL, times=times, input=given, output=documents
    )


def _container(wire: WireSpan, attributes: Attributes, events: list[Happening], times: Span) -> SpanFacts:
    name = text(attributes.look("gen_ai.agent.name", "agent.name")) or wire.name
    return SpanFacts(
        key=wire.span_id,
        name=name,
        type=StepType.AGENT,
        times=times,
        input=attributes.take(*_INPUTS),
        output=attributes.take(*_OUTPUTS),
    )


def _finished(
    facts: SpanFacts, wire: WireSpan, type: StepType, attributes: Attributes, events: list[Happening]
) -> SpanFacts:
    """What all kinds of span have: their place, how they ended, what was not used of them."""
    level = text(attributes.look("langfuse.observation.level"))
    thrown = next((text(event.body.get("exception.message")) for event in events if event.name == "exception"), "")
    said = wire.message or text(attributes.look("langfuse.observation.status_message")) or thrown
    rest = attributes.rest()
    if facts.type is not StepType.MODEL or facts.request is None or facts.answer is None or facts.answer.output is None:
        kept = events
    else:
        kept = [event for event in events if not event.name.startswith("gen_ai.")]
    listed: list[JSONValue] = [
        {"name": event.name, "time": _moment(event.time, wire.where), "attributes": event.body} for event in kept
    ]
    scope = text(wire.scope.get("name"))
    return SpanFacts(
        **{
            **{name: getattr(facts, name) for name in SpanFacts.__slots__},
            "type": type,
            "parent": wire.parent_id or None,
            "failed": wire.failed or level == "ERROR",
            "error": said or "error",
            "links": tuple(link for link in wire.links if link),
            "attributes": {**rest, **({"events": listed} if listed else {}), **({"scope": scope} if scope else {})},
        }
    )


def _moment(value: JSONValue, where: str) -> str:
    found: datetime | None = parse_time(value, where)
    return found.isoformat() if found else ""
