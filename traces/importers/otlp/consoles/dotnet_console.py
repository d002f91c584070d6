"""Spans as OpenTelemetry for .NET prints them, one field per line, with a blank line after each span.

Activity.TraceId:            0af7651916cd43dd8448eb211c80319c
Activity.Tags:
    gen_ai.request.model: gpt-5
"""

import re
from collections.abc import Iterator
from typing import Final

from traces.core.json_types import JSONObject
from traces.importers.common.times import add_milliseconds, parse_time
from traces.importers.files.errors import BadFile
from traces.importers.files.source import Record

_START: Final = re.compile(r"Activity\.TraceId:")
_FIELD: Final = re.compile(
    r"(?:Activity\.)?([A-Z]\w*|Instrumentation scope \(ActivitySource\)|Resource associated with \w+):[ ]*(.*)"
)
_MEMBER: Final = re.compile(r"    ([\w.@/$-]+): ?(.*)")
_EVENT: Final = re.compile(r"    (\S.*?) \[(\d{4}-[^\]]+)\]$")
_EVENT_MEMBER: Final = re.compile(r"        ([\w.@/$-]+): ?(.*)")
_LENGTH: Final = re.compile(r"(?:(\d+)\.)?(\d\d):(\d\d):(\d\d(?:\.\d+)?)")
_FIELD_NAMES: Final = ("TraceId", "SpanId", "StartTime")
_EVENTS: Final = "Events"
_RESOURCE: Final = "Resource"
_SCOPE: Final = "Instrumentation scope (ActivitySource)"


def find_spans(content: str) -> Iterator[Record | BadFile]:
    """Yield the spans in a text as documents of OpenTelemetry for Python, and a `BadFile` for each broken one."""
    block: list[str] = []
    first_line = 0
    for number, line in enumerate([*content.splitlines(), "Activity.TraceId:"], 1):
        if not _START.match(line):
            if block:
                block.append(line)
            continue
        if block:
            yield _record(block, f"line {first_line}")
        block, first_line = [line], number


def _record(lines: list[str], location: str) -> Record | BadFile:
    try:
        return Record(value=_document(lines), location=location)
    except BadFile as problem:
        return problem.prefix_location(f"the span at {location}")


def _document(lines: list[str]) -> JSONObject:
    """Return the span on these lines. A text with line breaks goes on in lines that begin no field."""
    fields: dict[str, str] = {}
    groups: dict[str, dict[str, list[str]]] = {}
    events: list[tuple[str, str, dict[str, list[str]]]] = []
    group, texts = "", list[str]()
    for line in lines:
        if match := _FIELD.match(line):
            group, text = match.groups()
            fields.setdefault(group, text.strip())
            texts = []
        elif group == _EVENTS and (match := _EVENT.match(line)):
            events.append((match[1], match[2], {}))
            texts = []
        elif events and group == _EVENTS and (match := _EVENT_MEMBER.match(line)):
            texts = events[-1][2].setdefault(match[1], [match[2]])
        elif group and group != _EVENTS and (match := _MEMBER.match(line)):
            texts = groups.setdefault(group, {}).setdefault(match[1], [match[2]])
        elif group.startswith(_RESOURCE) and not line.strip():
            # The end of the span: what follows are other lines of the log.
            break
        elif texts:
            texts.append(line)
    return _span(fields, {name: _texts(members) for name, members in groups.items()}, events)


def _texts(members: dict[str, list[str]]) -> JSONObject:
    return {name: "\n".join(lines).rstrip() for name, lines in members.items()}


def _span(
    fields: dict[str, str], groups: dict[str, JSONObject], events: list[tuple[str, str, dict[str, list[str]]]]
) -> JSONObject:
    if absence := [name for name in _FIELD_NAMES if not fields.get(name)]:
        raise BadFile(f"a span without `Activity.{absence[0]}`", "")
    start = parse_time(fields["StartTime"], "Activity.StartTime")
    end = add_milliseconds(start, _milliseconds(fields.get("Duration", "")))
    scope = groups.get(_SCOPE, {})
    resources = [members for name, members in groups.items() if name.startswith(_RESOURCE)]
    return {
        "context": {
            "trace_id": fields.get("TraceId"),
            "span_id": fields.get("SpanId"),
            "trace_state": fields.get("TraceState"),
        },
        "parent_id": fields.get("ParentSpanId"),
        "name": fields.get("DisplayName"),
        "kind": f"SpanKind.{fields.get('Kind', '').upper()}",
        "start_time": start.isoformat() if start else None,
        "end_time": end.isoformat() if end else None,
        "status_code": fields.get("StatusCode", "").upper(),
        "status_message": fields.get("StatusDescription"),
        "attributes": groups.get("Tags", {}),
        "events": [
            {"name": name, "timestamp": time.strip(), "attributes": _texts(members)} for name, time, members in events
        ],
        "scope": {
            "name": scope.get("Name") or fields.get("ActivitySourceName"),
            "version": scope.get("Version") or fields.get("ActivitySourceVersion"),
        },
        "resource": resources[0] if resources else {},
    }


def _milliseconds(text: str) -> float | None:
    """Return a length of time, which .NET prints with days, hours, minutes and seconds."""
    match = _LENGTH.fullmatch(text)
    if match is None:
        return None
    days, hours, minutes = (int(part or 0) for part in match.groups()[:3])
    return (((days * 24 + hours) * 60 + minutes) * 60 + float(match[4])) * 1000
