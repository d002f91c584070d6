"""Exports of Langfuse as ingestion events.

Read are traces with their observations and scores (`GET /api/public/traces/{id}`, "Download JSON"), pages and
lists of observations, traces and scores, and the tables that its interface exports as JSON, JSON Lines or CSV.
Blob storage exports have the same fields in snake case.
"""

import csv
import io
import re
from collections.abc import Iterator
from typing import Final

from traces.core.json_types import JSONObject, JSONValue
from traces.importers.files import file_opener
from traces.importers.files.errors import BadFile
from traces.importers.files.file_opener import decode_text
from traces.importers.files.json_reader import first, items, obj, parse_embedded, require_object, text
from traces.importers.files.source import Record, Source

_OBSERVATION_TYPES: Final = frozenset(
    {"SPAN", "GENERATION", "EVENT", "AGENT", "TOOL", "CHAIN", "RETRIEVER", "EVALUATOR", "EMBEDDING", "GUARDRAIL"}
)
_TRACE_SIGNS: Final = frozenset(
    {"bookmarked", "environment", "htmlPath", "latency", "release", "scores", "sessionId", "tags", "userId", "version"}
)
_HOLDERS: Final = ("data", "traces", "observations", "scores")
_JSON_FIELDS: Final = frozenset(
    {"input", "output", "metadata", "modelParameters", "usage", "usageDetails", "costDetails", "tags", "traceTags"}
    | {"scores", "comments", "observations"}
)
# What Langfuse computed, and what other fields say already.
_DERIVED: Final = frozenset(
    {"projectId", "createdAt", "updatedAt", "latency", "latencyMs", "internalModelId", "modelId", "unit", "htmlPath"}
    | {"inputPrice", "outputPrice", "totalPrice", "inputCost", "outputCost", "totalCost", "calculatedInputCost"}
    | {"calculatedOutputCost", "calculatedTotalCost", "promptTokens", "completionTokens", "totalTokens"}
    | {"inputUsage", "outputUsage", "totalUsage", "providedModelName", "providedUsageDetails", "providedCostDetails"}
    | {"traceName", "traceTags", "traceTimestamp", "observations", "scores", "bookmarked", "public", "externalId"}
)
# Langfuse counts cached tokens apart from the input, as Anthropic does.
_CACHE_NAMES: Final = {
    "input_cached_tokens": "cache_read_input_tokens",
    "input_cache_read": "cache_read_input_tokens",
    "input_cache_creation": "cache_creation_input_tokens",
}
_SNAKE: Final = re.compile(r"_([a-z])")


def is_export(value: JSONValue) -> bool:
    """Whether `value` is an export, or a page or list of one."""
    if isinstance(value, list):
        return bool(value) and is_export(value[0])
    given = _named(obj(value))
    if isinstance(given.get("trace"), dict) and isinstance(given.get("observations"), list):
        return True
    if _is_observation(given) or _is_trace(given) or _is_score(given):
        return True
    return any(_is_export_list(given.get(name)) for name in _HOLDERS)


def read(value: JSONValue, where: str) -> Iterator[Record]:
    """The ingestion events that would have made this export."""
    if isinstance(value, list):
        for at, each in enumerate(value):
            yield from read(each, f"{where}/{at}")
        return
    given = _named(require_object(value, where))
    if isinstance(given.get("trace"), dict):
        trace = {"observations": given.get("observations"), "scores": given.get("scores"), **obj(given["trace"])}
        yield from _trace(_named(trace), f"{where}/trace")
    elif _is_observation(given):
        yield from _observation(given, where)
    elif _is_score(given):
        yield _event("score-create", given, where)
    elif _is_trace(given):
        yield from _trace(given, where)
    else:
        holder = next((name for name in _HOLDERS if isinstance(given.get(name), list)), None)
        if holder is None:
            raise BadFile("this is no trace, observation or score of Langfuse", where)
        yield from read(given[holder], f"{where}/{holder}")


def table_rows(source: Source) -> Iterator[Record]:
    """The rows of an exported CSV table as objects; none for any other file."""
    rows = _rows(source.data)
    try:
        for row in rows or ():
            cells: JSONObject = {name: cell for name, cell in row.items() if isinstance(name, str) and cell}
            yield Record(value=cells, location=f"line {rows.line_num if rows else 1}")
    except csv.Error as error:
        source.problems.append(BadFile(f"not CSV: {error}", f"line {rows.line_num if rows else 1}"))


def is_table(data: bytes) -> bool:
    """Whether these first bytes are those of an exported CSV table."""
    try:
        row = next(table_rows(Source(name="", data=data)), None)
    except BadFile:
        return False
    return row is not None and is_export(row.value)


def _rows(data: bytes) -> "csv.DictReader[str] | None":
    if b"," not in data[:10_000] or data.lstrip()[:1] in {b"{", b"["}:
        return None
    csv.field_size_limit(file_opener.LINE_LIMIT)
    rows = csv.DictReader(io.StringIO(decode_text(data), newline=""))
    try:
        columns = {_camel(name) for name in rows.fieldnames or []}
    except csv.Error:
        return None
    return rows if {"id", "name"} <= columns else None


def _is_export_list(value: JSONValue) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], dict) and is_export(value[0])


def _is_observation(given: JSONObject) -> bool:
    return text(given.get("type")) in _OBSERVATION_TYPES and {"id", "traceId", "startTime"} <= given.keys()


def _is_trace(given: JSONObject) -> bool:
    return {"id", "name", "timestamp"} <= given.keys() and len(_TRACE_SIGNS & given.keys()) > 1


def _is_score(given: JSONObject) -> bool:
    return {"id", "traceId", "name", "dataType"} <= given.keys() and not given.keys().isdisjoint(
        {"value", "stringValue"}
    )


def _trace(given: JSONObject, where: str) -> Iterator[Record]:
    trace_id = text(given.get("id"))
    if not trace_id:
        raise BadFile("a trace without an id", f"{where}/id")
    observations = items(given.get("observations"))
    listed = [text(each) for each in observations if isinstance(each, str)]
    yield _event("trace-create", {**_kept(given), **({"observationIds": list(listed)} if listed else {})}, where)
    for at, each in enumerate(observations):
        if isinstance(each, dict):
            yield from _observation({"traceId": trace_id, **_named(each)}, f"{where}/observations/{at}")
    yield from _scores(given.get("scores"), {"traceId": trace_id}, f"{where}/scores")


def _observation(given: JSONObject, where: str) -> Iterator[Record]:
    trace: JSONObject = {"traceId": given["traceId"]}
    named = {"name": given.get("traceName"), "tags": given.get("traceTags"), "userId": given.get("userId")}
    if given.get("traceName"):
        facts = {key: value for key, value in named.items() if value not in (None, "", [])}
        yield _event("trace-create", {"id": given["traceId"], **facts}, where)
    body = {**_kept(given), "type": text(given.get("type")) or "SPAN", "usageDetails": _usage(given)}
    model = first(given, "model", "providedModelName")
    cost = first(obj(given.get("costDetails")), "total")
    if cost is None:
        cost = first(given, "calculatedTotalCost", "totalCost")
    optional: JSONObject = {"model": model, "costDetails": {"total": cost} if cost is not None else None}
    body.pop("usage", None)
    yield _event("observation-create", {**body, **{key: value for key, value in optional.items() if value}}, where)
    yield from _scores(given.get("scores"), {**trace, "observationId": given.get("id")}, f"{where}/scores")


def _usage(given: JSONObject) -> JSONObject:
    """Token counts; all zero is what Langfuse writes where none were counted."""
    counts = {**obj(given.get("usage")), **obj(given.get("usageDetails"))}
    counts = {_CACHE_NAMES.get(key, key): value for key, value in counts.items()}
    for name, names in (("input", ("promptTokens", "inputUsage")), ("output", ("completionTokens", "outputUsage"))):
        if counts.get(name) is None:
            counts[name] = first(given, *names)
    counted = any(value not in (0, "0", None) for key, value in counts.items() if key != "unit")
    return {key: value for key, value in counts.items() if value is not None} if counted else {}


def _scores(value: JSONValue, owner: JSONObject, where: str) -> Iterator[Record]:
    """Scores as objects, or as a table has them: values by name."""
    if isinstance(value, dict):
        for name, values in value.items():
            for at, each in enumerate(values if isinstance(values, list) else [values]):
                yield _event("score-create", {**owner, "name": name, "value": each}, f"{where}/{name}/{at}")
    for at, each in enumerate(items(value)):
        if isinstance(each, dict):
            yield _event("score-create", {**owner, **_named(each)}, f"{where}/{at}")


def _event(kind: str, body: JSONObject, where: str) -> Record:
    time = first(body, "timestamp", "startTime")
    return Record(value={"type": kind, "timestamp": time, "body": body}, location=where)


def _kept(given: JSONObject) -> JSONObject:
    """What was recorded, without what Langfuse derived from it."""
    return {key: value for key, value in given.items() if key not in _DERIVED and value is not None}


def _named(given: JSONObject) -> JSONObject:
    """Fields in camel case, JSON in texts parsed where a field is JSON."""
    named = {_camel(key): value for key, value in given.items()}
    return {key: parse_embedded(value) if key in _JSON_FIELDS else value for key, value in named.items()}


def _camel(name: str) -> str:
    return _SNAKE.sub(lambda match: match[1].upper(), name)
