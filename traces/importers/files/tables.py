"""Tables as CSV: exports of interfaces, and data frames."""

import csv
import io
import re
from collections.abc import Iterator
from typing import Final

from traces.core.json_access import as_object
from traces.core.json_types import JSONObject, JSONValue
from traces.importers.files import file_opener
from traces.importers.files.errors import BadFile, Problems
from traces.importers.files.json_reader import parse_embedded

_DELIMITERS: Final = (",", ";", "\t")
# A first line with other names is text.
_NAME: Final = re.compile(r"[A-Za-z_$#@][\w$#.:/() \[\]-]{0,199}")
_BEGINNING: Final = 20_000


def is_table(data: bytes) -> bool:
    """Return whether a file that starts with `data` is a table: a line of names, and no JSON on the next one."""
    beginning = data[:_BEGINNING]
    if beginning.lstrip()[:1] in {b"{", b"["} or file_opener.is_binary(beginning[:1000]):
        return False
    try:
        first, _, rest = file_opener.decode_text(beginning).partition("\n")
    except BadFile:
        return False
    names = _read_names(first.rstrip("\r"))
    # Data frames number their rows in a column without a name.
    columns = names[1:] if names[:1] == [""] else names
    is_header = len({*names}) > 1 and all(map(_NAME.fullmatch, columns))
    return is_header and bool(rest.strip()) and rest.lstrip()[:1] not in {"{", "["}


def is_frame(value: JSONValue) -> bool:
    """Return whether a value is a data frame as pandas writes it by columns or by the labels of rows.

    **Example:** `{"name": {"0": "a", "1": "b"}, "age": {"0": 1, "1": 2}}`, the default of `to_json`.
    """
    if not isinstance(value, dict) or len(value) < 2:
        return False
    first = next(iter(value.values()))
    if not isinstance(first, dict) or not first:
        return False
    return all(isinstance(column, dict) and column.keys() == first.keys() for column in value.values())


def frame_rows(frame: JSONObject) -> list[JSONValue]:
    """Return the rows of a data frame that is written by columns, without missing cells."""
    columns = {name: as_object(column) for name, column in frame.items()}
    labels = as_object(next(iter(frame.values())))
    return [{name: cell for name, column in columns.items() if (cell := column[label]) is not None} for label in labels]


def read_rows(data: bytes, problems: Problems) -> Iterator[tuple[JSONObject, str]]:
    """Yield the rows of a table as objects without their empty cells; cells with JSON are parsed.

    The index of a data frame may have the name of a column: a second column has its number in its name if it differs.
    """
    csv.field_size_limit(file_opener.LINE_LIMIT)
    text = file_opener.decode_text(data)
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=_delimiter(text.partition("\n")[0]))
    try:
        names = next(rows, [])
        for row in rows:
            if not row:
                continue
            if len(row) > len(names):
                problems.append(BadFile("more cells than the table has columns", f"line {rows.line_num}"))
            yield _cells(names, row), f"line {rows.line_num}"
    except csv.Error as error:
        problems.append(BadFile(f"not CSV: {error}", f"line {rows.line_num}"))


def _cells(names: list[str], row: list[str]) -> JSONObject:
    cells: dict[str, str] = {}
    for number, (name, cell) in enumerate(zip(names, row, strict=False), 1):
        if cell and cells.setdefault(name, cell) != cell:
            cells[f"{name}.{number}"] = cell
    return {name: parse_embedded(cell) for name, cell in cells.items()}


def _read_names(line: str) -> list[str]:
    try:
        return next(csv.reader([line], delimiter=_delimiter(line)), [])
    except csv.Error:
        return []


def _delimiter(header: str) -> str:
    return max(_DELIMITERS, key=header.count)
