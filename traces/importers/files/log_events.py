"""Log events of CloudWatch: pages of its API, results of its queries, and rows of its tables."""

from typing import Final

from traces.core.json_access import as_list, as_object, as_objects, as_text, first_member, has_list
from traces.core.json_types import JSONObject, JSONValue
from traces.importers.files.json_reader import parse_embedded

# The column of a table of log events, and their member in a page of the API.
_MESSAGES: Final = ("@message", "message")


def event_messages(value: JSONValue) -> list[JSONObject]:
    """Return the JSON messages of a log event, of a page of these, or of the result of a query."""
    body = as_object(value)
    if has_list(body, "events"):
        rows = as_objects(body["events"])
    else:
        rows = [_fields(row) for row in as_list(body.get("results"))] or [body]
    messages = (as_object(parse_embedded(first_member(row, *_MESSAGES))) for row in rows)
    return [message for message in messages if message]


def _fields(row: JSONValue) -> JSONObject:
    """Return a row of a query, which is a list of fields."""
    return {as_text(field.get("field")): field.get("value") for field in as_objects(row)}
