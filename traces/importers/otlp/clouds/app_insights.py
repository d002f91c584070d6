"""Application Insights: rows of requests and dependencies as spans, and of traces and exceptions as their events.

Its own tables begin their columns with small letters (`operation_Id`), those of a Log Analytics workspace do not
(`OperationId`). Queries return rows, or tables of columns and rows.
"""

from typing import Final

from traces.core.json_access import as_list, as_object, as_objects, as_text, first_member
from traces.core.json_types import JSONObject, JSONValue
from traces.importers.common.times import add_milliseconds, parse_time
from traces.importers.files.json_reader import parse_embedded

_TRACE: Final = ("operation_Id", "OperationId")
_PARENT: Final = ("operation_ParentId", "ParentId")
_ATTRIBUTES: Final = ("customDimensions", "Properties")
_TIME: Final = ("timestamp", "TimeGenerated")
_DURATION: Final = ("duration", "DurationMs")
# What else a row states about a call. The names of a service and its machine are in the resource.
_COLUMNS: Final = {
    "target": ("target", "Target"),
    "data": ("data", "Data"),
    "dependency_type": ("type", "DependencyType"),
    "result_code": ("resultCode", "ResultCode"),
}
_RESOURCE: Final = {
    "service.name": ("cloud_RoleName", "AppRoleName"),
    "service.instance.id": ("cloud_RoleInstance", "AppRoleInstance"),
}
# Where packages write the contents of an event of a message.
_CONTENT: Final = "gen_ai.event.content"
_EXCEPTION: Final = {
    "exception.type": ("type", "ExceptionType"),
    "exception.message": ("outerMessage", "OuterMessage"),
}


def table_rows(body: JSONObject) -> list[JSONValue]:
    """Return the rows of the tables in the result of a query; empty for anything else."""
    rows: list[JSONValue] = []
    for table in as_objects(body.get("tables")):
        names = [as_text(column.get("name")) for column in as_objects(table.get("columns"))]
        rows += [dict(zip(names, as_list(row), strict=False)) for row in as_list(table.get("rows"))]
    return rows


def is_row(body: JSONObject) -> bool:
    """Return whether an object is a row of any table. Of one as CSV, empty cells are absent."""
    return first_member(body, *_TRACE) is not None and not body.keys().isdisjoint(_PARENT + _ATTRIBUTES)


def is_span(body: JSONObject) -> bool:
    return is_row(body) and first_member(body, *_DURATION) is not None


def is_log(body: JSONObject) -> bool:
    return is_row(body) and not is_span(body)


def span_document(row: JSONObject) -> JSONObject:
    start = parse_time(first_member(row, *_TIME), "/timestamp")
    end = add_milliseconds(start, _number(first_member(row, *_DURATION)))
    trace_id, parent = first_member(row, *_TRACE), first_member(row, *_PARENT)
    return {
        "context": {"trace_id": trace_id, "span_id": first_member(row, "id", "Id")},
        # The parent of a root is the operation itself.
        "parent_id": None if parent == trace_id else parent,
        "name": first_member(row, "name", "Name"),
        "start_time": start.isoformat() if start else None,
        "end_time": end.isoformat() if end else None,
        "status_code": "ERROR" if as_text(first_member(row, "success", "Success")).lower() == "false" else "",
        "attributes": {**_columns(row, _COLUMNS), **as_object(parse_embedded(first_member(row, *_ATTRIBUTES)))},
        "resource": _columns(row, _RESOURCE),
    }


def _columns(row: JSONObject, names: dict[str, tuple[str, str]]) -> JSONObject:
    columns = {name: first_member(row, *spellings) for name, spellings in names.items()}
    return {name: value for name, value in columns.items() if value not in (None, "")}


def _number(value: JSONValue) -> JSONValue:
    """Return the number in a text of a table as CSV."""
    try:
        return float(value) if isinstance(value, str) else value
    except ValueError:
        return None


def log_document(row: JSONObject) -> JSONObject:
    """Return a row that belongs to a span as a log record."""
    attributes = as_object(parse_embedded(first_member(row, *_ATTRIBUTES)))
    message, content = first_member(row, "message", "Message"), parse_embedded(attributes.get(_CONTENT))
    body = content if isinstance(content, dict) else parse_embedded(message)
    exception = _columns(row, _EXCEPTION)
    name = attributes.get("event.name") or ("exception" if "exception.message" in exception else message)
    dimensions = {key: value for key, value in attributes.items() if key != _CONTENT or body is not content}
    return {
        "trace_id": first_member(row, *_TRACE),
        "span_id": first_member(row, *_PARENT),
        "severity_number": 0,
        "timestamp": first_member(row, *_TIME),
        "body": {**dimensions, **exception, **as_object(body)} if isinstance(body, dict) else body,
        "attributes": {**dimensions, **(exception if name == "exception" else {}), "event.name": name},
    }
