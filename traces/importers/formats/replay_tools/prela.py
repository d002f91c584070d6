"""Prela spans: trace files, span arrays, JSON Lines of spans in any order, HTTP exporter bodies.

Spans with the same id in several files are merged: rotation splits a trace over files, and the HTTP exporter omits
fields that the file exporter writes.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from traces.core.json_access import as_list, as_object, as_text, first_member
from traces.core.json_types import JSONObject, JSONValue
from traces.core.json_walk import map_strings
from traces.core.recorded_run import RecordedRun, RecordedStep
from traces.core.vocabulary import TOOL_DESCRIPTION, StepType
from traces.importers.common.messages import normalize_messages
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
from traces.importers.common.tool_schemas import normalize_tools
from traces.importers.files.errors import BadFile
from traces.importers.files.json_reader import require_list, require_object
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
_TRACE_FIELDS = ("service_name", "status")
_MAPPED_FIELDS = frozenset(
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
_SNAPSHOT_FIELDS = frozenset(
    {
        "llm_request",
        "llm_response",
        "tool_input",
        "tool_output",
        "tool_name",
        "tool_description",
        "retrieval_query",
        "retrieved_documents",
        "retrieval_scores",
    }
)


def parse(sources: Sequence[Source]) -> Iterator[RecordedRun]:
    """Yield one run per trace; its spans may be in different files."""
    traces: dict[str, dict[str, JSONObject]] = {}
    for record in parse_records(sources, _validate_record):
        spans = traces.setdefault(as_text(record["trace_id"]), {})
        key = as_text(record["span_id"])
        spans[key] = merge_records(spans.get(key, {}), record)
    for trace_id, spans_by_id in traces.items():
        yield _run(trace_id, list(spans_by_id.values()))


def keys(source: Source) -> set[str]:
    """Return the ids of the traces that have spans in a file."""
    return {as_text(record["trace_id"]) for record in parse_records([source], _validate_record)}


def _validate_record(value: JSONValue, location: str) -> Iterator[JSONObject]:
    """Yield the spans of one record. Raises `BadFile` for spans that cannot become steps."""
    for record, span_location in _spans(value, location):
        if not as_text(record.get("trace_id")) or not as_text(record.get("span_id")):
            raise BadFile("a Prela span needs `trace_id` and `span_id`", span_location)
        _step(record, span_location)
        yield as_object(map_strings(record, _repair_time))


def _repair_time(text: str) -> str:
    """Remove the `Z` that the HTTP exporter, unlike the file exporter, writes after an offset."""
    return text.removesuffix("Z") if text.endswith("+00:00Z") else text


def _spans(value: JSONValue, location: str) -> Iterator[tuple[JSONObject, str]]:
    if isinstance(value, dict) and "spans" in value:
        trace = {name: value[name] for name in _TRACE_FIELDS if name in value}
        for index, item in enumerate(require_list(value["spans"], f"{location}/spans")):
            span_record = require_object(item, f"{location}/spans/{index}")
            service = {"service.name": trace["service_name"]} if "service_name" in trace else {}
            attributes = {**service, **as_object(span_record.get("attributes"))}
            span_record = {"trace_id": value.get("trace_id"), **span_record, "attributes": attributes}
            yield span_record, f"{location}/spans/{index}"
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield require_object(item, f"{location}/{index}"), f"{location}/{index}"
    else:
        yield require_object(value, location), location


def _run(trace_id: str, spans: list[JSONObject]) -> RecordedRun:
    steps = match_calls(sort_causally([_step(record, f"span {as_text(record['span_id'])}") for record in spans]))
    service = next(
        (name for record in spans if (name := as_object(record.get("attributes")).get("service.name"))), None
    )
    root = steps[0]
    return build_run(
        RunFacts(
            external_id=trace_id,
            app=app_name(service) or FORMAT,
            format=FORMAT,
            name=root.name,
            failed=any(
                as_text(record.get("status")) == "error" and not record.get("parent_span_id") for record in spans
            ),
        ),
        steps,
        location=f"trace {trace_id}",
    )


def _step(record: JSONObject, location: str) -> RecordedStep:
    snapshot, attributes = as_object(record.get("replay_snapshot")), as_object(record.get("attributes"))
    name, span_type = as_text(record.get("name")), as_text(record.get("span_type"))
    status = as_text(record.get("status"))
    kind = _TYPES.get(span_type) or container_type(name)
    facts = SpanFacts(
        key=as_text(record.get("span_id")),
        parent=as_text(record.get("parent_span_id")) or None,
        name=name or span_type,
        type=kind,
        times=parse_span(record.get("started_at"), record.get("ended_at"), location),
        failed=status == "error",
        is_open=status == "pending",
        error=as_text(first_member(record, "status_message") or attributes.get("error.message")) or "error",
        attributes=_extra_attributes(record, snapshot, attributes, span_type),
    )
    match kind:
        case StepType.MODEL:
            return _model(facts, record, snapshot, attributes, location)
        case StepType.TOOL:
            return build_step(
                replace(
                    facts,
                    input=snapshot.get("tool_input", attributes.get("tool.input")),
                    output=snapshot.get("tool_output", attributes.get("tool.output")),
                    tool_name=as_text(first_member(snapshot, "tool_name") or attributes.get("tool.name")),
                )
            )
        case StepType.RETRIEVAL:
            return build_step(
                replace(facts, input=_query(snapshot, attributes), output=_documents(snapshot, attributes))
            )
    output = first_member(attributes, "chain.output", "agent.output")
    return build_step(replace(facts, input=_agent_input(snapshot, attributes), output=output))


def _model(
    facts: SpanFacts, record: JSONObject, snapshot: JSONObject, attributes: JSONObject, location: str
) -> RecordedStep:
    request, response = as_object(snapshot.get("llm_request")), as_object(snapshot.get("llm_response"))
    event = next(
        (
            as_object(as_object(event_record).get("attributes"))
            for event_record in as_list(record.get("events"))
            if as_object(event_record).get("name") == "llm.request"
        ),
        {},
    )
    model = as_text(first_member(request, "model") or first_member(attributes, "llm.model", "llm.request.model"))
    messages = normalize_messages(first_member(request, "messages", "prompt") or event.get("messages"))
    system = normalize_messages(request.get("system"), "system")
    parameters = normalize_parameters({key: value for key, value in request.items() if key not in _REQUEST_FIELDS})
    usage = normalize_usage(
        {
            "input_tokens": first_member(response, "prompt_tokens")
            or first_member(attributes, "llm.prompt_tokens", "llm.input_tokens"),
            "output_tokens": first_member(response, "completion_tokens")
            or first_member(attributes, "llm.completion_tokens", "llm.output_tokens"),
        },
        location,
    )
    tools = normalize_tools(request.get("tools") or [])
    full = [*[{**event_record, "role": "system"} for event_record in system], *messages]
    answer = normalize_answer(first_member(response, "text"), as_text(response.get("finish_reason")))
    answer_model = as_text(response.get("model"))
    if answer_model not in ("", model):
        facts = replace(facts, attributes={**facts.attributes, "response_model": answer_model})
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
    query = first_member(snapshot, "retrieval_query") or first_member(attributes, "retriever.query", "embedding.input")
    if query is None:
        return None
    top_k = first_member(attributes, "retrieval.top_k") or as_object(snapshot.get("retrieval_metadata")).get("k")
    return {
        "query": query,
        **({"top_k": parse_token_count(top_k, "/attributes/retrieval.top_k")} if top_k is not None else {}),
    }


def _documents(snapshot: JSONObject, attributes: JSONObject) -> JSONValue:
    documents = normalize_documents(snapshot.get("retrieved_documents"), snapshot.get("retrieval_scores"))
    if not documents:
        contents = [
            (name.split(".")[2], value)
            for name, value in attributes.items()
            if name.startswith("retriever.doc.") and name.endswith(".content")
        ]
        documents = [{"id": number, "content": value} for number, value in contents]
    return {"documents": documents} if documents else None


def _agent_input(snapshot: JSONObject, attributes: JSONObject) -> JSONValue:
    messages: list[JSONObject] = normalize_messages(snapshot.get("system_prompt"), "system")
    messages += normalize_messages(as_object(snapshot.get("agent_memory")).get("messages"))
    return (
        {"messages": [dict(message) for message in messages]}
        if messages
        else first_member(attributes, "chain.input", "agent.input")
    )


def _extra_attributes(record: JSONObject, snapshot: JSONObject, attributes: JSONObject, span_type: str) -> JSONObject:
    """Return everything that no other field of the step contains."""
    rest = {key: value for key, value in snapshot.items() if key not in _SNAPSHOT_FIELDS}
    extra: JSONObject = {
        **{key: value for key, value in record.items() if key not in _MAPPED_FIELDS},
        "attributes": attributes,
        "events": record.get("events"),
        "replay_snapshot": rest,
    }
    if span_type not in _TYPES:
        extra["span_type"] = span_type
    if description := snapshot.get("tool_description"):
        extra[TOOL_DESCRIPTION] = description
    return {key: value for key, value in extra.items() if value not in (None, [], {}, "")}
