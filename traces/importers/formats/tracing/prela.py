"""Prela spans: trace files, span arrays, JSON Lines of spans in any order, HTTP exporter bodies.

A span with the same id in several files is one span: rotation splits a trace over files, and the HTTP exporter
leaves out what the file exporter keeps.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun, RecordedStep
from traces.core.vocabulary import StepType
from traces.importers.common.messages import normalize_messages, normalize_tools
from traces.importers.common.model_calls import (
    model_input,
    normalize_answer,
    normalize_parameters,
    normalize_provider,
    normalize_usage,
    parse_token_count,
)
from traces.importers.common.run_builder import (
    RunFacts,
    app_name,
    build_run,
    container_type,
    match_calls,
    merge_records,
    sort_causally,
)
from traces.importers.common.spans import SpanFacts, build_step, normalize_documents
from traces.importers.common.times import parse_span
from traces.importers.files.errors import BadFile
from traces.importers.files.json_reader import first, items, obj, require_list, require_object, text
from traces.importers.files.source import Source, parse_records

FORMAT = "prela"
_TYPES = {
    "agent": StepType.AGENT,
    "llm": StepType.MODEL,
    "tool": StepType.TOOL,
    "retrieval": StepType.RETRIEVAL,
    "embedding": StepType.RETRIEVAL,
}
_REQUEST_FIELDS = frozenset({"model", "messages", "prompt", "system", "tools", "response_format", "stream"})
_KEPT_TRACE_FIELDS = ("service_name", "status")
_MAPPED = frozenset(
    {
        "span_id",
        "trace_id",
        "parent_span_id",
        "name",
        "started_at",
        "ended_at",
        "status",
        "status_message",
        "attributes",
        "duration_ms",
        "replay_snapshot",
        "span_type",
        "events",
    }
)
_SNAPSHOT_MAPPED = frozenset(
    {
        "llm_request",
        "llm_response",
        "tool_input",
        "tool_output",
        "tool_name",
        "retrieval_query",
        "retrieved_documents",
        "retrieval_scores",
    }
)


def parse(sources: Sequence[Source]) -> Iterator[RecordedRun]:
    """One run for each trace, whatever files its spans are in."""
    traces: dict[str, dict[str, JSONObject]] = {}
    for given in parse_records(sources, _checked):
        spans = traces.setdefault(text(given["trace_id"]), {})
        key = text(given["span_id"])
        spans[key] = merge_records(spans.get(key, {}), given)
    for trace_id, known in traces.items():
        yield _run(trace_id, list(known.values()))


def keys(source: Source) -> set[str]:
    """The traces that have spans in a file."""
    return {text(given["trace_id"]) for given in parse_records([source], _checked)}


def _checked(value: JSONValue, where: str) -> Iterator[JSONObject]:
    """The spans of one record, each of which makes a step: what is wrong with one is said of its own file."""
    for given, place in _spans(value, where):
        if not text(given.get("trace_id")) or not text(given.get("span_id")):
            raise BadFile("a Prela span needs `trace_id` and `span_id`", place)
        _step(given, place)
        yield obj(_repaired(given))


def _repaired(value: JSONValue) -> JSONValue:
    """The HTTP exporter's times carry an offset and a Z; without the Z they are those of the file exporter."""
    if isinstance(value, str):
        return value.removesuffix("Z") if value.endswith("+00:00Z") else value
    if isinstance(value, list):
        return [_repaired(each) for each in value]
    return {key: _repaired(each) for key, each in value.items()} if isinstance(value, dict) else value


def _spans(value: JSONValue, where: str) -> Iterator[tuple[JSONObject, str]]:
    if isinstance(value, dict) and "spans" in value:
        trace = {name: value[name] for name in _KEPT_TRACE_FIELDS if name in value}
        for at, each in enumerate(require_list(value["spans"], f"{where}/spans")):
            given = require_object(each, f"{where}/spans/{at}")
            service = {"service.name": trace["service_name"]} if "service_name" in trace else {}
            attributes = {**service, **obj(given.get("attributes"))}
            yield {"trace_id": value.get("trace_id"), **given, "attributes": attributes}, f"{where}/spans/{at}"
    elif isinstance(value, list):
        for at, each in enumerate(value):
            yield require_object(each, f"{where}/{at}"), f"{where}/{at}"
    else:
        yield require_object(value, where), where


def _run(trace_id: str, spans: list[JSONObject]) -> RecordedRun:
    steps = match_calls(sort_causally([_step(given, f"span {text(given['span_id'])}") for given in spans]))
    service = next((name for given in spans if (name := obj(given.get("attributes")).get("service.name"))), None)
    root = steps[0]
    return build_run(
        RunFacts(
            external_id=trace_id,
            app=app_name(service) or FORMAT,
            format=FORMAT,
            name=root.name,
            failed=any(text(given.get("status")) == "error" and not given.get("parent_span_id") for given in spans),
        ),
        steps,
        location=f"trace {trace_id}",
    )


def _step(given: JSONObject, where: str) -> RecordedStep:
    snapshot, attributes = obj(given.get("replay_snapshot")), obj(given.get("attributes"))
    name, span_type = text(given.get("name")), text(given.get("span_type"))
    status = text(given.get("status"))
    kind = _TYPES.get(span_type) or container_type(name)
    facts = SpanFacts(
        key=text(given.get("span_id")),
        parent=text(given.get("parent_span_id")) or None,
        name=name or span_type,
        type=kind,
        times=parse_span(given.get("started_at"), given.get("ended_at"), where),
        failed=status == "error",
        is_open=status == "pending",
        error=text(first(given, "status_message") or attributes.get("error.message")) or "error",
        attributes=_kept(given, snapshot, attributes, span_type),
    )
    match kind:
        case StepType.MODEL:
            return _model(facts, given, snapshot, attributes, where)
        case StepType.TOOL:
            return build_step(
                replace(
                    facts,
                    input=snapshot.get("tool_input", attributes.get("tool.input")),
                    output=snapshot.get("tool_output", attributes.get("tool.output")),
                    tool_name=text(first(snapshot, "tool_name") or attributes.get("tool.name")),
                )
            )
        case StepType.RETRIEVAL:
            return build_step(
                replace(facts, input=_query(snapshot, attributes), output=_documents(snapshot, attributes))
            )
    said = first(attributes, "chain.output", "agent.output")
    return build_step(replace(facts, input=_agent_input(snapshot, attributes), output=said))


def _model(
    facts: SpanFacts, given: JSONObject, snapshot: JSONObject, attributes: JSONObject, where: str
) -> RecordedStep:
    request, response = obj(snapshot.get("llm_request")), obj(snapshot.get("llm_response"))
    event = next(
        (
            obj(obj(each).get("attributes"))
            for each in items(given.get("events"))
            if obj(each).get("name") == "llm.request"
        ),
        {},
    )
    model = text(first(request, "model") or first(attributes, "llm.model", "llm.request.model"))
    messages = normalize_messages(first(request, "messages", "prompt") or event.get("messages"))
    system = normalize_messages(request.get("system"), "system")
    parameters = normalize_parameters({key: value for key, value in request.items() if key not in _REQUEST_FIELDS})
    usage = normalize_usage(
        {
            "input_tokens": first(response, "prompt_tokens")
            or first(attributes, "llm.prompt_tokens", "llm.input_tokens"),
            "output_tokens": first(response, "completion_tokens")
            or first(attributes, "llm.completion_tokens", "llm.output_tokens"),
        },
        where,
    )
    tools = normalize_tools(request.get("tools") or [])
    full = [*[{**each, "role": "system"} for each in system], *messages]
    answer = normalize_answer(first(response, "text"), text(response.get("finish_reason")))
    return build_step(
        replace(
            facts,
            request=model_input(full, tools, parameters, request.get("response_format")) if full else None,
            answer=answer,
            provider=normalize_provider(attributes.get("llm.vendor"), model),
            model=model,
            usage=usage,
        )
    )


def _query(snapshot: JSONObject, attributes: JSONObject) -> JSONValue:
    query = first(snapshot, "retrieval_query") or first(attributes, "retriever.query", "embedding.input")
    if query is None:
        return None
    top_k = first(attributes, "retrieval.top_k") or obj(snapshot.get("retrieval_metadata")).get("k")
    return {
        "query": query,
        **({"top_k": parse_token_count(top_k, "/attributes/retrieval.top_k")} if top_k is not None else {}),
    }


def _documents(snapshot: JSONObject, attributes: JSONObject) -> JSONValue:
    documents = normalize_documents(snapshot.get("retrieved_documents"), snapshot.get("retrieval_scores"))
    if not documents:
        numbered = [
            (name.split(".")[2], value)
            for name, value in attributes.items()
            if name.startswith("retriever.doc.") and name.endswith(".content")
        ]
        documents = [{"id": number, "content": value} for number, value in numbered]
    return {"documents": documents} if documents else None


def _agent_input(snapshot: JSONObject, attributes: JSONObject) -> JSONValue:
    messages: list[JSONObject] = normalize_messages(snapshot.get("system_prompt"), "system")
    messages += normalize_messages(obj(snapshot.get("agent_memory")).get("messages"))
    return (
        {"messages": [dict(each) for each in messages]} if messages else first(attributes, "chain.input", "agent.input")
    )


def _kept(given: JSONObject, snapshot: JSONObject, attributes: JSONObject, span_type: str) -> JSONObject:
    """Everything that the step's fields do not hold."""
    rest = {key: value for key, value in snapshot.items() if key not in _SNAPSHOT_MAPPED}
    kept: JSONObject = {
        **{key: value for key, value in given.items() if key not in _MAPPED},
        "attributes": attributes,
        "events": given.get("events"),
        "replay_snapshot": rest,
    }
    if span_type not in _TYPES:
        kept["span_type"] = span_type
    return {key: value for key, value in kept.items() if value not in (None, [], {}, "")}
