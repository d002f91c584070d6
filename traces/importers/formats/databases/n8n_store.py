"""n8n's database (`database.sqlite`): executions as its API returns them.

The data of an execution are a list of values: a text inside an object or a list is the number of its value there.
"""

from collections.abc import Iterator
from typing import Final

from traces.core.json_access import as_list, as_text
from traces.core.json_types import JSONObject, JSONValue
from traces.importers.files.errors import BadFile
from traces.importers.files.json_reader import parse_embedded
from traces.importers.files.source import Record
from traces.importers.files.sqlite_file import Database, ImpossibleContent
from traces.importers.formats.databases.stores import Store

_EXECUTION: Final = (
    *("id", "finished", "mode", "retryOf", "retrySuccessId", "startedAt", "stoppedAt", "waitTill", "status"),
    *("workflowId", "createdAt"),
)
_MOST_LEVELS: Final = 90
# Nodes pass values on, so that several places have the same one.
_MOST_COPIES: Final = 20
_ALLOWANCE: Final = 10_000


def _read(database: Database) -> Iterator[Record]:
    if "execution_entity" not in database:
        raise BadFile("a database of n8n needs `execution_entity`", "table execution_entity")
    data = {as_text(row.get("executionId")): row for row in database.rows("execution_data")}
    for row in database.rows("execution_entity", "ORDER BY id"):
        id = as_text(row.get("id"))
        if id not in data:
            continue
        facts: JSONObject = {name: item for name, item in row.items() if item is not None}
        facts |= {"finished": bool(row.get("finished")), "workflowData": parse_embedded(data[id].get("workflowData"))}
        value = _unflatten(parse_embedded(data[id].get("data")), f"execution {id}")
        yield Record(value={**facts, "data": value}, location=f"execution {id}")


def _unflatten(value: JSONValue, location: str) -> JSONValue:
    """Return the value that a list of values describes. A value inside itself is left out."""
    values = as_list(value)
    # A few values may describe one without end.
    budget = [_MOST_COPIES * sum(map(_size, values)) + _ALLOWANCE]

    def build(number: int, path: frozenset[int]) -> JSONValue:
        item = values[number]
        budget[0] -= _size(item)
        if budget[0] < 0:
            raise ImpossibleContent("the data of this execution repeat themselves without end", location)
        if isinstance(item, str | int | float | None) or number in path or len(path) > _MOST_LEVELS:
            return item if not isinstance(item, dict | list) else None
        inner = path | {number}
        if isinstance(item, list):
            return [follow(part, inner) for part in item]
        return {name: follow(part, inner) for name, part in item.items()}

    def follow(part: JSONValue, path: frozenset[int]) -> JSONValue:
        if not isinstance(part, str):
            return part
        is_number = part.isascii() and part.isdigit() and len(part) < 10
        return build(int(part), path) if is_number and int(part) < len(values) else part

    return build(0, frozenset()) if values else value


def _size(value: JSONValue) -> int:
    """Return the number of texts and parts of a value."""
    return 1 + (len(value) if isinstance(value, dict | list) else len(value) // 100 if isinstance(value, str) else 0)


STORE: Final = Store(
    title="n8n",
    mark="workflowData",
    columns={"execution_data": ("executionId", "workflowData", "data"), "execution_entity": _EXECUTION},
    read=_read,
)
