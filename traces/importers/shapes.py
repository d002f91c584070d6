"""Other shapes of a file: a list as lines, lines as a list, the list inside an object of an API, and data frames.

Programs write the same records in several ways: the lines of a log as one list, a document inside a list, or rows in
`{"data": […]}`. A format knows the ways of its own clients. Of a file that no format knows for sure, the other shapes
are tried.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

import orjson

from traces.core.canonical import escape_pointer
from traces.core.json_access import as_list, as_object, as_text, has_list
from traces.core.json_types import JSONObject, JSONValue
from traces.importers.files.errors import cut_location
from traces.importers.files.json_reader import parse_embedded
from traces.importers.files.sample import Sample
from traces.importers.files.tables import frame_rows, is_frame

# Enough to detect a format.
_FIRST: Final = 20
_TABLE_ROWS: Final = ("data", "rows", "results")
_LINE: Final = re.compile(r"line ([0-9]+)(?:, )?")


@dataclass(frozen=True, kw_only=True, slots=True)
class Shape:
    """Rows of a file, and whether they are lines; `location` is that of their list in the file."""

    rows: list[JSONValue]
    is_lines: bool
    location: str

    def sample(self, name: str) -> Sample:
        """Return the first rows, to detect their format."""
        return Sample(name=name, head=_write(self.rows[:_FIRST], is_lines=self.is_lines), is_complete=True)

    @property
    def data(self) -> bytes:
        return _write(self.rows, is_lines=self.is_lines)

    def restore_location(self, location: str) -> str:
        """Return the place in the file of a place in this shape."""
        if self.is_lines:
            location = _LINE.sub(lambda match: f"{self.location}/{int(match[1]) - 1}", location, count=1)
        elif location.startswith("/") or not location:
            location = f"{self.location}{location}"
        return cut_location(location)


def other_shapes(sample: Sample) -> Iterator[Shape]:
    """Yield the other shapes of a file, of which the sample has the whole."""
    if not sample.is_complete or sample.source.is_table:
        return
    if sample.is_lines:
        rows = [record.value for record in sample.source.records()]
        if len(rows) > 1 and not sample.source.problems:
            yield Shape(rows=rows, is_lines=False, location="")
        return
    for value in sample.values:
        yield from _shapes_of(value, "")


def _shapes_of(value: JSONValue, location: str) -> Iterator[Shape]:
    if isinstance(value, list) and _has_records(value):
        if location:
            yield Shape(rows=value, is_lines=False, location=location)
        yield Shape(rows=value, is_lines=True, location=location)
    if isinstance(value, dict) and (rows := _table_rows(value)):
        yield Shape(rows=rows, is_lines=False, location="")
        yield Shape(rows=rows, is_lines=True, location="")
    elif isinstance(value, dict) and is_frame(value):
        yield Shape(rows=frame_rows(value), is_lines=True, location="")
        yield Shape(rows=[*value.values()], is_lines=True, location="")
    elif isinstance(value, dict):
        lists = [name for name, item in value.items() if _has_records(item)]
        # A document with several lists is no envelope of one.
        if len(lists) == 1:
            yield from _shapes_of(value[lists[0]], f"{location}/{escape_pointer(lists[0])}")


def _table_rows(table: JSONObject) -> list[JSONValue]:
    """Return the rows of a table whose columns are listed, with their values or beside the rows; empty for others.

    Logfire and pandas write such tables, and PostHog for queries.
    """
    columns = as_list(table.get("columns"))
    names = [as_text(as_object(column).get("name")) or as_text(column) for column in columns]
    if all(has_list(column, "values") for column in columns):
        lists = [as_list(as_object(column)["values"]) for column in columns]
        # Filled up, a long column beside many short ones would have too many cells.
        is_table = all(len(values) == len(lists[0]) for values in lists)
        cells: Iterable[list[JSONValue]] = map(list, zip(*lists, strict=True)) if is_table else []
    else:
        cells = (as_list(row) for name in _TABLE_ROWS for row in as_list(table.get(name)))
    if not names or len({*names}) != len(names) or "" in names:
        return []
    return [
        {name: parse_embedded(cell) for name, cell in zip(names, row, strict=True)}
        for row in cells
        if len(row) == len(names)
    ]


def _has_records(value: JSONValue) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(item, dict | list) and item for item in value)


def _write(rows: list[JSONValue], *, is_lines: bool) -> bytes:
    return b"\n".join(map(orjson.dumps, rows)) if is_lines else orjson.dumps(rows)
