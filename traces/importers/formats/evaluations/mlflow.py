"""MLflow traces: exported traces of versions 2 and 3, `traces.json` artifacts, and rows of `search_traces`.

Attributes of a span are JSON texts. Version 2 nests the ids of a span in `context`; version 3 writes spans as
OpenTelemetry does. An artifact has the spans without the facts of their trace.
"""

from base64 import b64decode
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from msgspec import structs

from traces.core.json_access import (
    as_list,
    as_object,
    as_objects,
    as_text,
    first_member,
    has_list,
    has_object,
    is_integer,
    omit,
    other_members,
)
from traces.core.json_types import JSONObject, JSONValue
from traces.core.json_walk import first_item
from traces.core.recorded_run import RecordedJudgement, RecordedRun, RecordedStep
from traces.core.vocabulary import StepType
from traces.importers.common.judgements import judgement
from traces.importers.common.messages import normalize_messages
from traces.importers.common.model_calls import (
    Usage,
    model_input,
    normalize_parameters,
    normalize_provider,
    normalize_usage,
    parse_cost,
    usage_details,
)
from traces.importers.common.run_builder import (
    RunFacts,
    app_name,
    build_run,
    container_type,
    match_calls,
    sort_causally,
)
from traces.importers.common.spans import SpanFacts, build_step
from traces.importers.common.times import add_milliseconds, parse_span, parse_time
from traces.importers.common.tool_schemas import normalize_tools
from traces.importers.files.errors import BadFile
from traces.importers.files.json_reader import parse_embedded, require_object
from traces.importers.files.source import Source
from traces.importers.formats.chats.openai_items import (
    answer_details,
    normalize_client_answer,
    normalize_client_request,
)

FORMAT: Final = "mlflow"
_PREFIX: Final = "mlflow."
_TYPES: Final = {
    "LLM": StepType.MODEL,
    "CHAT_MODEL": StepType.MODEL,
    "TOOL": StepType.TOOL,
    "RETRIEVER": StepType.RETRIEVAL,
    "EMBEDDING": StepType.RETRIEVAL,
    "RERANKER": StepType.RETRIEVAL,
    "GUARDRAIL": StepType.SAFETY,
    "EVALUATOR": StepType.VALIDATOR,
    "AGENT": StepType.AGENT,
}
_IDS: Final = ("trace_id", "request_id")
_SPAN_FIELDS: Final = frozenset(
    {"name", "context", "span_id", "trace_id", "parent_id", "parent_span_id", "attributes", "status", "status_code"}
    | {"status_message", "events", "start_time", "end_time", "start_time_ns", "end_time_ns", "start_time_unix_nano"}
    | {"end_time_unix_nano", "span_type", "inputs", "outputs"}
)
_MAPPED_ATTRIBUTES: Final = frozenset(
    {
        "mlflow.spanType",
        "mlflow.spanInputs",
        "mlflow.spanOutputs",
        "mlflow.spanStartTimeNs",
        "mlflow.traceRequestId",
        "mlflow.experimentId",
        "mlflow.chat.messages",
        "mlflow.chat.tools",
        "mlflow.chat.tokenUsage",
        "mlflow.llm.model",
        "mlflow.llm.provider",
        "mlflow.llm.cost",
    }
)
# DSPy's model has its settings there, too.
_SETTINGS: Final = ("temperature", "max_tokens", "top_p")
# The `input_tokens` of these clients exclude the cache.
_WITHOUT_CACHE: Final = frozenset({"anthropic", "bedrock"})
_CACHE: Final = ("cache_read_input_tokens", "cache_creation_input_tokens")
# Arguments of a ChatModel beside its messages.
_CHAT_MODEL: Final = frozenset({"context", "params"})
_DSPY_TOOL: Final = "Tool."
_MAPPED_INFO: Final = frozenset(
    {
        *_IDS,
        "tags",
        "trace_metadata",
        "request_metadata",
        "trace_info",
        "info",
        "assessments",
        "state",
        "status",
        "request_preview",
    }
    | {"response_preview", "trace", "spans", "data", "request", "response"}
)


def is_trace(value: JSONValue) -> bool:
    """Return True if `value` is a trace, its spans, a row of `search_traces`, or a list of these."""
    body = as_object(first_item(value))
    info, data = as_object(body.get("info")), as_object(body.get("data"))
    if has_list(data, "spans") and not info.keys().isdisjoint(_IDS):
        return True
    # In a table as CSV, the cell is an object.
    trace = body.get("trace")
    if (isinstance(trace, str) or has_object(trace, "info")) and not body.keys().isdisjoint(_IDS):
        return True
    if has_list(body, "traces"):
        return is_trace(body["traces"])
    spans = as_objects(body.get("spans")) or as_objects(as_object(body.get("trace")).get("spans"))
    return bool(spans) and any(name.startswith(_PREFIX) for name in _attributes(spans[0]))


def parse(source: Source) -> Iterator[RecordedRun]:
    """Yield one run per trace."""
    for record in source.records():
        for value, location in _traces(record.value, record.location):
            try:
                yield _run(require_object(value, location), location)
            except BadFile as problem:
                source.problems.append(problem)


def _traces(value: JSONValue, location: str) -> Iterator[tuple[JSONValue, str]]:
    if has_list(value, "traces"):
        yield from _traces(as_object(value)["traces"], f"{location}/traces")
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield item, f"{location}/{index}"
    else:
        yield value, location


def _run(body: JSONObject, location: str) -> RecordedRun:
    trace = as_object(parse_embedded(body.get("trace"))) or body
    info = as_object(first_member(trace, "info", "trace_info")) or {
        name: item for name, item in body.items() if name != "trace"
    }
    spans = as_list(as_object(trace.get("data")).get("spans")) or as_list(
        first_member(trace, "spans") or body.get("spans")
    )
    if not spans:
        raise BadFile("this trace has no spans: export traces with their data", f"{location}/data/spans")
    steps = [_step(require_object(span, f"{location}/spans/{index}"), location) for index, span in enumerate(spans)]
    tags, metadata = as_object(parse_embedded(info.get("tags"))), _metadata(info)
    state = as_text(first_member(info, "state", "status")).upper()
    start = parse_time(first_member(info, "request_time", "timestamp_ms"), f"{location}/info")
    ordered_steps = match_calls(sort_causally(steps))
    name = as_text(tags.get("mlflow.traceName")) or ordered_steps[0].name
    return build_run(
        RunFacts(
            external_id=as_text(first_member(info, *_IDS)) or _trace_id(as_object(spans[0])),
            app=app_name(name) or FORMAT,
            format=FORMAT,
            name=name,
            failed=state == "ERROR",
            has_ended=state != "IN_PROGRESS",
            tags=[f"{key}:{as_text(item)}" for key, item in tags.items() if not key.startswith(_PREFIX)],
            started_at=start,
            ended_at=add_milliseconds(start, first_member(info, "execution_duration_ms", "execution_time_ms")),
            metadata={
                "session_id": metadata.get("mlflow.trace.session"),
                "user_id": metadata.get("mlflow.trace.user"),
                "trace_metadata": metadata,
                "tags": tags,
                **{key: item for key, item in info.items() if key not in _MAPPED_INFO},
            },
            judgements=[_judgement(as_object(item)) for item in as_list(parse_embedded(info.get("assessments")))],
        ),
        ordered_steps,
        location=location,
    )


def _metadata(info: JSONObject) -> JSONObject:
    return as_object(parse_embedded(first_member(info, "trace_metadata", "request_metadata")))


def _trace_id(span: JSONObject) -> str:
    request_id = parse_embedded(_attributes(span).get("mlflow.traceRequestId"))
    return as_text(request_id) or as_text(first_member({**span, **as_object(span.get("context"))}, "trace_id"))


def _step(span: JSONObject, location: str) -> RecordedStep:
    ids = {**span, **as_object(span.get("context"))}
    key = _span_id(ids.get("span_id"))
    if not key:
        raise BadFile("a span without an id", f"{location}/spans")
    attributes: JSONObject = {
        name: None if item == "null" else parse_embedded(item) for name, item in _attributes(span).items()
    }
    name = as_text(span.get("name"))
    status = as_object(span.get("status"))
    code = as_text(first_member(span, "status_code") or first_member(status, "code"))
    end = first_member(span, "end_time_unix_nano", "end_time", "end_time_ns")
    exceptions = list(_exceptions(span))
    message = as_text(first_member(span, "status_message") or first_member(status, "message"))
    error = message or next((as_text(item.get("exception.message")) for item in exceptions), "")
    facts = SpanFacts(
        key=key,
        name=name or "span",
        type=_TYPES.get(as_text(attributes.get("mlflow.spanType"))) or container_type(name),
        parent=_span_id(first_member(span, "parent_span_id", "parent_id")) or None,
        times=parse_span(
            first_member(span, "start_time_unix_nano", "start_time", "start_time_ns"), end, f"{location} span {key}"
        ),
        failed=code.endswith("ERROR"),
        error=error or "error",
        is_open=not end,
        input=attributes.get("mlflow.spanInputs"),
        output=attributes.get("mlflow.spanOutputs"),
        attributes={
            **other_members(span, _SPAN_FIELDS),
            **{name: item for name, item in attributes.items() if name not in _MAPPED_ATTRIBUTES},
            **({"span_type": kind} if (kind := as_text(attributes.get("mlflow.spanType"))) not in _TYPES else {}),
            **({"events": events} if (events := as_list(span.get("events"))) else {}),
        },
    )
    if attributes.get("mlflow.spanType") == "EMBEDDING":
        facts.usage = _usage(facts, attributes, location)
    if facts.type is StepType.TOOL:
        facts.tool_name = as_text(facts.attributes.pop("name", None)) or name.removeprefix(_DSPY_TOOL)
    return build_step(_model(facts, attributes, location) if facts.type is StepType.MODEL else facts)


def _attributes(span: JSONObject) -> JSONObject:
    """Return the attributes of a span, which the REST API returns as pairs."""
    attributes = span.get("attributes")
    if not isinstance(attributes, list):
        return as_object(attributes)
    return {
        as_text(pair.get("key")): first_item([*as_object(pair.get("value")).values()])
        for pair in as_objects(attributes)
    }


def _span_id(value: JSONValue) -> str:
    """Return the id of a span as assessments have it: in hexadecimal digits, which files of version 3 encode."""
    text = as_text(value).removeprefix("0x")
    try:
        data = b64decode(text, validate=True) if text.endswith("=") else b""
    except ValueError:
        return text
    return data.hex() or text


def _exceptions(span: JSONObject) -> Iterator[JSONObject]:
    for event in as_objects(span.get("events")):
        if event.get("name") == "exception":
            yield {name: parse_embedded(item) for name, item in as_object(event.get("attributes")).items()}


def _model(facts: SpanFacts, attributes: JSONObject, location: str) -> SpanFacts:
    answer = normalize_client_answer(facts.output)
    inputs = as_object(facts.input)
    usage = _counts(facts, attributes)
    model = as_text(
        first_member(attributes, "mlflow.llm.model", "model")
        or first_member(inputs, "model")
        or as_object(as_object(facts.output).get("llm_output")).get("model_name")
    )
    request = None
    if (settings := as_object(inputs.get("params"))) and has_list(inputs, "messages"):
        # A ChatModel of MLflow is called with its context, which is printed, and its settings in an object.
        fields = {name: value for name, value in settings.items() if value is not None}
        facts = replace(facts, input={**fields, **other_members(inputs, _CHAT_MODEL)})
    if isinstance(facts.input, list) or not inputs.keys() & {"messages", "contents", "input", "prompt"}:
        # LangChain's calls have lists of messages, and other functions arguments of any name.
        chat = as_list(attributes.get("mlflow.chat.messages"))
        messages = normalize_messages(chat or facts.input)
        request = model_input(messages, normalize_tools(attributes.get("mlflow.chat.tools") or []), {})
    elif isinstance(inputs.get("input"), list):
        request = normalize_client_request(inputs)
    recorded_settings = normalize_parameters({name: attributes[name] for name in _SETTINGS if name in attributes})
    if recorded_settings:
        request = request or normalize_client_request(as_object(facts.input))
        request["parameters"] = {**recorded_settings, **as_object(request.get("parameters"))}
    return replace(
        facts,
        request=request,
        answer=answer,
        model=model or answer.model,
        provider=normalize_provider(attributes.get("mlflow.llm.provider"), model or answer.model),
        usage=_usage(facts, attributes, location) if usage or "mlflow.llm.cost" in attributes else answer.usage,
        attributes={
            **omit(facts.attributes, *recorded_settings),
            **usage_details(usage),
            **answer_details(facts.output),
        },
    )


def include_cache(usage: JSONObject, message_format: JSONValue) -> JSONObject:
    """Return token counts of which the input includes the cache, as that of most clients does."""
    if message_format not in _WITHOUT_CACHE:
        return usage
    counts = (usage.get(name) for name in ("input_tokens", *_CACHE))
    return {**usage, "input_tokens": sum(count for count in counts if is_integer(count))}


def _counts(facts: SpanFacts, attributes: JSONObject) -> JSONObject:
    return as_object(attributes.get("mlflow.chat.tokenUsage")) or as_object(as_object(facts.output).get("usage"))


def _usage(facts: SpanFacts, attributes: JSONObject, location: str) -> Usage:
    client = first_member(attributes, "mlflow.message.format", "mlflow.llm.provider")
    counts = include_cache(as_object(attributes.get("mlflow.chat.tokenUsage")), client)
    cost = parse_cost(as_object(attributes.get("mlflow.llm.cost")).get("total_cost"))
    recorded_counts = omit(counts, *_CACHE) | {"cached_input_tokens": counts.get(_CACHE[0])} if counts else {}
    usage = normalize_usage(
        recorded_counts or as_object(as_object(facts.output).get("usage")), f"{location} span {facts.key}"
    )
    return structs.replace(usage, cost_usd=cost or usage.cost_usd)


def _judgement(assessment: JSONObject) -> RecordedJudgement:
    """Return an assessment: feedback with its value or its error, or an expectation, which is no verdict."""
    source, feedback = as_object(assessment.get("source")), as_object(assessment.get("feedback"))
    name = as_text(first_member(assessment, "assessment_name", "name"))
    value = feedback.get("value")
    if has_object(assessment, "expectation"):
        name, value = f"expectation.{name}", as_object(assessment["expectation"]).get("value")
        value = value if isinstance(value, str) else as_text(value) or str(value)
    error = as_object(feedback.get("error"))
    return judgement(
        name,
        value,
        text=as_text(assessment.get("rationale")) or as_text(first_member(error, "error_message", "error_code")),
        author=as_text(first_member(source, "source_id", "source_type")),
        at=parse_time(assessment.get("create_time"), "assessment"),
        step=_span_id(assessment.get("span_id")) or None,
        detail={"source_type": source.get("source_type"), "metadata": assessment.get("metadata")},
    )
