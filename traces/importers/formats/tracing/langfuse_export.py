"""Conversion of Langfuse exports to ingestion events.

Supported exports: traces with their observations and scores (`GET /api/public/traces/{id}`, "Download JSON"), pages
and lists of observations, traces and scores, and tables exported from the web interface as JSON, JSON Lines or CSV.
Blob storage exports have the same fields in snake case.
"""

import re
from collections.abc import Iterator
from typing import Final

from traces.core.json_access import as_list, as_object, as_text, first_member, has_list, has_object, list_or_single
from traces.core.json_types import JSONObject, JSONValue
from traces.core.json_walk import first_item
from traces.importers.files.errors import BadFile
from traces.importers.files.json_reader import item_by_item, parse_embedded, require_object
from traces.importers.files.source import Record
from traces.importers.formats.tracing.langfuse_observations import total_cost

_OBSERVATION_TYPES: Final = frozenset(
    {"SPAN", "GENERATION", "EVENT", "AGENT", "TOOL", "CHAIN", "RETRIEVER", "EVALUATOR", "EMBEDDING", "GUARDRAIL"}
)
_TRACE_FIELDS: Final = frozenset(
    {
        "bookmarked",
        "environment",
        "externalId",
        "htmlPath",
        "latency",
        "release",
        "scores",
        "sessionId",
        "tags",
        "userId",
        "version",
    }
)
_LIST_FIELDS: Final = ("data", "traces", "observations", "scores")
_JSON_FIELDS: Final = frozenset(
    {"input", "output", "metadata", "modelParameters", "usage", "usageDetails", "costDetails", "tags", "traceTags"}
    | {"scores", "comments", "observations"}
)
# Fields computed by Langfuse, and duplicates of other fields.
_COMPUTED_FIELDS: Final = frozenset(
    {"projectId", "createdAt", "updatedAt", "latency", "latencyMs", "internalModelId", "modelId", "unit", "htmlPath"}
    | {"inputPrice", "outputPrice", "totalPrice", "inputCost", "outputCost", "totalCost", "calculatedInputCost"}
    | {"calculatedOutputCost", "calculatedTotalCost", "promptTokens", "completionTokens", "totalTokens"}
    | {"inputUsage", "outputUsage", "totalUsage", "providedModelName", "providedUsageDetails", "providedCostDetails"}
    | {"traceName", "traceTags", "traceTimestamp", "observations", "scores", "bookmarked", "public"}
)
# Like Anthropic, Langfuse excludes cached tokens from the input.
_CACHE_NAMES: Final = {
    "input_cached_tokens": "cache_read_input_tokens",
    "input_cache_read": "cache_read_input_tokens",
    "input_cache_creation": "cache_creation_input_tokens",
}
# What observations repeat of their trace.
_TRACE_COLUMNS: Final = {
    "name": ("traceName",),
    "tags": ("traceTags", "tags"),
    "userId": ("userId",),
    "sessionId": ("sessionId",),
    "environment": ("environment",),
    "release": ("release",),
}
_SNAKE: Final = re.compile(r"_([a-z])")


def is_export(value: JSONValue) -> bool:
    """Return whether `value` is an exported record, or a page or list of them."""
    body = _normalize_fields(as_object(first_item(value)))
    if has_object(body, "trace") and has_list(body, "observations"):
        return True
    if _is_observation(body) or _is_trace(body) or _is_score(body):
        return True
    return any(_is_export_list(body.get(name)) for name in _LIST_FIELDS)


@item_by_item
def read_events(value: JSONValue, location: str) -> Iterator[Record]:
    """Yield the ingestion events that correspond to an export."""
    body = _normalize_fields(require_object(value, location))
    if has_object(body, "trace"):
        trace = {"scores": body.get("scores"), **_normalize_fields(as_object(body["trace"]))}
        # Since the end of 2025, the trace lists its observations, too, but without their inputs and outputs.
        trace["observations"] = [*as_list(trace.get("observations")), *as_list(body.get("observations"))]
        yield from _trace(trace, f"{location}/trace")
    elif _is_observation(body):
        yield from _observation(body, location)
    elif _is_score(body):
        yield _event("score-create", body, location)
    elif _is_trace(body):
        yield from _trace(body, location)
    else:
        list_fields = [name for name in _LIST_FIELDS if has_list(body, name)]
        if not list_fields:
            raise BadFile("not a trace, observation or score of Langfuse", location)
        for name in list_fields:
            yield from read_events(body[name], f"{location}/{name}")


def _is_export_list(value: JSONValue) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], dict) and is_export(value[0])


def _is_observation(body: JSONObject) -> bool:
    """Return whether a record is an observation; some programs leave out the type of those that they export."""
    is_typed = as_text(body.get("type")) in _OBSERVATION_TYPES or {"name", "parentObservationId"} <= body.keys()
    return is_typed and {"id", "traceId", "startTime"} <= body.keys()


def _is_trace(body: JSONObject) -> bool:
    has_observations = has_list(body, "observations")
    if {"id", "name", "timestamp"} <= body.keys():
        return has_observations or len(_TRACE_FIELDS & body.keys()) > 1
    first = _normalize_fields(as_object(first_item(body.get("observations"))))
    return "id" in body and as_text(first.get("type")) in _OBSERVATION_TYPES and {"id", "startTime"} <= first.keys()


def _is_score(body: JSONObject) -> bool:
    return {"id", "traceId", "name", "dataType"} <= body.keys() and not body.keys().isdisjoint({"value", "stringValue"})


def _trace(trace: JSONObject, location: str) -> Iterator[Record]:
    trace_id = as_text(trace.get("id"))
    if not trace_id:
        raise BadFile("a trace without an id", f"{location}/id")
    observations = as_list(trace.get("observations"))
    observation_ids = [as_text(observation) for observation in observations if isinstance(observation, str)]
    project: JSONObject = {"projectId": trace["projectId"]} if trace.get("projectId") else {}
    trace_body: JSONObject = {**_recorded_fields(trace), **project}
    if observation_ids:
        trace_body["observationIds"] = [*observation_ids]
    yield _event("trace-create", trace_body, location)
    for index, observation in enumerate(observations):
        if isinstance(observation, dict):
            body = {"traceId": trace_id, **_normalize_fields(observation)}
            yield from _observation(body, f"{location}/observations/{index}")
    yield from _scores(trace.get("scores"), {"traceId": trace_id}, f"{location}/scores")


def _observation(observation: JSONObject, location: str) -> Iterator[Record]:
    trace_id = observation["traceId"]
    if observation.get("traceName"):
        values = {name: first_member(observation, *names) for name, names in _TRACE_COLUMNS.items()}
        facts = {name: value for name, value in values.items() if value not in (None, "", [])}
        yield _event("trace-create", {"id": trace_id, **facts}, location)
    type = as_text(observation.get("type")) or ("GENERATION" if observation.get("model") else "SPAN")
    body = {**_recorded_fields(observation), "type": type, "usageDetails": _usage(observation)}
    model = first_member(observation, "model", "providedModelName")
    costs = as_object(observation.get("costDetails"))
    if (cost := total_cost(costs)) is None:
        cost = first_member(observation, "calculatedTotalCost", "totalCost")
    optional: JSONObject = {"model": model, "costDetails": {**costs, "total": cost} if cost is not None else None}
    body.pop("usage", None)
    yield _event("observation-create", {**body, **{key: value for key, value in optional.items() if value}}, location)
    owner: JSONObject = {"traceId": trace_id, "observationId": observation.get("id")}
    yield from _scores(observation.get("scores"), owner, f"{location}/scores")


def _usage(observation: JSONObject) -> JSONObject:
    """Return token counts, or nothing if all are zero, which Langfuse writes for unknown counts."""
    counts = {**as_object(observation.get("usage")), **as_object(observation.get("usageDetails"))}
    if not counts.get("output_reasoning_tokens"):
        counts = {_CACHE_NAMES.get(key, key): value for key, value in counts.items()}
    for name, names in (("input", ("promptTokens", "inputUsage")), ("output", ("completionTokens", "outputUsage"))):
        if counts.get(name) is None:
            counts[name] = first_member(observation, *names)
    has_counts = any(value not in (0, "0", None) for key, value in counts.items() if key != "unit")
    return {key: value for key, value in counts.items() if value is not None} if has_counts else {}


def _scores(value: JSONValue, owner: JSONObject, location: str) -> Iterator[Record]:
    """Yield scores, which are a list of objects, or in tables an object of values by name."""
    if isinstance(value, dict):
        for name, values in value.items():
            for index, score in enumerate(list_or_single(values)):
                yield _event("score-create", {**owner, "name": name, "value": score}, f"{location}/{name}/{index}")
    for index, score in enumerate(as_list(value)):
        if isinstance(score, dict):
            yield _event("score-create", {**owner, **_normalize_fields(score)}, f"{location}/{index}")


def _event(kind: str, body: JSONObject, location: str) -> Record:
    time = first_member(body, "timestamp", "startTime")
    return Record(value={"type": kind, "timestamp": time, "body": body}, location=location)


def _recorded_fields(body: JSONObject) -> JSONObject:
    """Return the fields that were recorded and not computed by Langfuse."""
    return {key: value for key, value in body.items() if key not in _COMPUTED_FIELDS and value is not None}


def _normalize_fields(body: JSONObject) -> JSONObject:
    """Convert field names to camel case, and parse the text of JSON fields."""
    fields = {_to_camel_case(key): value for key, value in body.items()}
    return {key: parse_embedded(value) if key in _JSON_FIELDS else value for key, value in fields.items()}


def _to_camel_case(name: str) -> str:
    return _SNAKE.sub(lambda match: match[1].upper(), name)
