"""Tables as CSV: exports of interfaces, and data frames."""

import csv
import io
import re
from collections.abc import Iterator
from typing import Final

from traces.core.json_types import JSONObject
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
    is_header = len(names) > 1 and len({*names}) == len(names) and all(map(_NAME.fullmatch, columns))
    return is_header and bool(rest.strip()) and rest.lstrip()[:1] not in {"{", "["}


def read_rows(data: bytes, problems: Problems) -> Iterator[tuple[JSONObject, str]]:
    """Yield the rows of a table as objects without their empty cells; cells with JSON are parsed."""
    csv.field_size_limit(file_opener.LINE_LIMIT)
    text = file_opener.decode_text(data)
    rows = csv.DictReader(io.StringIO(text, newline=""), delimiter=_delimiter(text.partition("\n")[0]))
    try:
        for row in rows:
            if None in row:
                problems.append(BadFile("more cells than the table has columns", f"line {rows.line_num}"))
            cells: JSONObject = {name: parse_embedded(cell) for name, cell in row.items() if name is not None and cell}
            yield cells, f"line {rows.line_num}"
    except csv.Error as error:
        problems.append(BadFile(f"not CSV: {error}", f"line {rows.line_num}"))


def _read_names(line: str) -> list[str]:
    try:
        return next(csv.reader([line], delimiter=_delimiter(line)), [])
    except csv.Error:
        return []


def _delimiter(header: str) -> str:
    return max(_DELIMITERS, key=header.count)
