"""Spans as JSON documents instead of OTLP: OpenTelemetry's Python `to_json`, and exports of Phoenix.

OpenTelemetry's console exporter prints one indented document after another, between whatever else a program logs.
Phoenix writes spans as documents, as rows of a table (`context.span_id`, `attributes.llm.model_name`) and inside
pages of its REST interface; attributes are flat (`llm.model_name`) or nested (`{"llm": {"model_name": …}}`).
"""

import re
from collections.abc import Iterator
from typing import Final

from traces.core.json_types import JSONObject, JSONValue
from traces.importers.files.errors import BadFile
from traces.importers.files.file_opener import decode_text
from traces.importers.files.json_reader import first, items, json_value, obj, parse_embedded, require_object, text
from traces.importers.files.source import Record
from traces.importers.otlp.wire import Happening, WireSpan

_CONTEXT: Final = "context."
_ATTRIBUTES: Final = "attributes."
_NESTED: Final = frozenset(
    {"agent", "embedding", "exception", "gen_ai", "graph", "input", "langfuse", "llm", "openinference", "output"}
    | {"prompt", "reranker", "retrieval", "retriever", "session", "tag", "tool", "traceloop", "user"}
)
# Values of these attributes are JSON themselves: their keys are no attribute names.
_WHOLE: Final = re.compile(
    r"^(?:(?:input|output)\.value|tag\.tags|tool\.parameters|gen_ai\..*)$"
    r"|(?:\.|^)(?:metadata|invocation_parameters|json_schema|arguments|variables|messages)$"
)
_FIRST_LINE: Final = re.compile(r"(?:\}\s*)?\{\s*")
_MOST_LEVELS: Final = 30


def is_span_document(value: JSONValue) -> bool:
    """Whether `value` is a span, a list of spans, or an object that holds them."""
    head = next(iter(_listed(value)), None)
    return head is not None and _is_span(head)


def read(value: JSONValue, where: str) -> Iterator[WireSpan]:
    """The spans of a document."""
    listed = _listed(value)
    for at, each in enumerate(listed):
        place = f"{where}/{at}" if isinstance(value, list) or len(listed) > 1 else where
        yield _span(require_object(each, place), place)


def in_log(data: bytes) -> Iterator[Record | BadFile]:
    """Indented span documents among other lines; a broken one is yielded as its problem."""
    if b'"trace_id"' not in data or b'"context"' not in data:
        return
    for number, block in _blocks(decode_text(data)):
        if '"trace_id"' not in block:
            continue
        try:
            value = json_value(block.encode())
        except BadFile as problem:
            yield problem.prefix_location(f"the document at line {number}")
        else:
            if is_span_document(value):
                yield Record(value=value, location=f"line {number}")


def _blocks(content: str) -> Iterator[tuple[int, str]]:
    """Each text from a line `{` to the next line that begins with `}`, with the number of its first line."""
    start = 0
    lines: list[str] = []
    for number, line in enumerate(content.split("\n"), 1):
        if lines and line.startswith("}"):
            yield start, "\n".join([*lines, "}"])
            lines = []
        if _FIRST_LINE.fullmatch(line):
            if lines:
                yield start, "\n".join(lines)
            start, lines = number, ["{"]
        elif lines:
            lines.append(line)
    if lines:
        yield start, "\n".join(lines)


def _listed(value: JSONValue) -> list[JSONValue]:
    if isinstance(value, list):
        return value
    body = obj(value)
    for name in ("data", "spans"):
        if isinstance(body.get(name), list):
            return items(body[name])
    return [value]


def _is_span(value: JSONValue) -> bool:
    given = obj(value)
    return {"trace_id", "span_id"} <= _context(given).keys() and "start_time" in given


def _context(given: JSONObject) -> JSONObject:
    nested = obj(given.get("context"))
    if nested:
        return nested
    return {name: given[_CONTEXT + name] for name in ("trace_id", "span_id") if _CONTEXT + name in given}


def _span(given: JSONObject, where: str) -> WireSpan:
    context, status, resource = _context(given), obj(given.get("status")), obj(given.get("resource"))
    trace_id, span_id = _id(context.get("trace_id")), _id(context.get("span_id"))
    if not trace_id or not span_id:
        raise BadFile("a span needs `trace_id` and `span_id` in its context", f"{where}/context")
    attributes = _attributes(given)
    if (kind := text(given.get("span_kind"))) and "openinference.span.kind" not in attributes:
        attributes["openinference.span.kind"] = kind
    return WireSpan(
        trace_id=trace_id,
        span_id=span_id,
        parent_id=_id(given.get("parent_id")),
        name=text(given.get("name")),
        where=where,
        start=given.get("start_time"),
        end=given.get("end_time"),
        attributes=attributes,
        events=tuple(_event(obj(each)) for each in items(parse_embedded(given.get("events")))),
        links=tuple(_id(_context(obj(each)).get("span_id")) for each in items(given.get("links"))),
        failed=text(first(given, "status_code") or status.get("status_code")).endswith("ERROR"),
        message=text(first(given, "status_message") or status.get("description")),
        resource=obj(resource.get("attributes")) or resource,
    )


def _id(value: JSONValue) -> str:
    """An id as OTLP writes it: OpenTelemetry's Python prints hexadecimal numbers."""
    return text(value).removeprefix("0x").lower()


def _event(given: JSONObject) -> Happening:
    return Happening(
        name=text(given.get("name")), time=given.get("timestamp"), body=obj(parse_embedded(given.get("attributes")))
    )


def _attributes(given: JSONObject) -> JSONObject:
    """Flat attributes, whatever form they were written in."""
    columns = {
        key.removeprefix(_ATTRIBUTES): value for key, value in given.items() if key.startswith(_ATTRIBUTES)
    } | obj(parse_embedded(given.get("attributes")))
    flat: JSONObject = {}
    for name, value in columns.items():
        if name.split(".", 1)[0] in _NESTED:
            _flatten(flat, name, value, 0)
        elif value is not None:
            flat[name] = value
    return flat


def _flatten(flat: JSONObject, name: str, value: JSONValue, level: int) -> None:
    """Put `value` into `flat` under `name`, objects and lists of objects by the names of their parts."""
    if level > _MOST_LEVELS or _WHOLE.search(name) or not isinstance(value, dict | list) or not value:
        if value is not None:
            flat[name] = value
    elif isinstance(value, dict):
        for key, each in value.items():
            _flatten(flat, f"{name}.{key}", each, level + 1)
    elif all(isinstance(each, dict) for each in value):
        for at, each in enumerate(value):
            _flatten(flat, f"{name}.{at}", each, level + 1)
    else:
        flat[name] = value
