"""The first bytes of a file, for format detection."""

import io
import itertools
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from traces.core.json_types import JSONObject, JSONValue
from traces.importers.files import file_opener
from traces.importers.files.errors import BadFile
from traces.importers.files.json_reader import json_value
from traces.importers.files.source import Source

SIZE: Final = 8 * 2**20
# Lines with values, and lines in all: damaged ones may come first.
_LINES: Final = 20
_MAX_LINES: Final = 1_000
_BEGINNING: Final = 1_000
# No binary format begins like this, so a control character is that of a damaged line.
_JSON_STARTS: Final = (b"{", b"[")


@dataclass(kw_only=True)
class Sample:
    """The first bytes of a decompressed file. `is_complete` if they are the whole file."""

    name: str
    head: bytes
    is_complete: bool

    @cached_property
    def source(self) -> Source:
        return Source(name=self.name, data=self.head)

    @cached_property
    def is_binary(self) -> bool:
        """Whether the sample cannot be text, by its first bytes."""
        return not self.head.startswith(_JSON_STARTS) and file_opener.is_binary(self.head[:_BEGINNING])

    @cached_property
    def is_lines(self) -> bool:
        """Whether the sample looks like JSON Lines."""
        if self.is_binary or self.source.is_table:
            return False
        return self.source.is_lines if self.is_complete else bool(self._first_lines)

    @cached_property
    def values(self) -> list[JSONValue]:
        """The document, the values of the first lines, or the first rows of a table; empty if the sample is neither."""
        if self.is_binary:
            return []
        if self.source.is_table:
            return [record.value for record in itertools.islice(self.source.records(), _LINES)]
        if self.is_lines:
            return self._first_lines
        try:
            return [self.source.value] if self.is_complete else []
        except BadFile:
            return []

    @property
    def objects(self) -> list[JSONObject]:
        """The first objects: the document, or those in its list, or those on its lines."""
        values = [item for value in self.values for item in (value[:_LINES] if isinstance(value, list) else [value])]
        return [item for item in values if isinstance(item, dict)]

    @cached_property
    def _first_lines(self) -> list[JSONValue]:
        """Objects and lists on the first lines. Bad lines are ignored, since the last line may be cut off."""
        values: list[JSONValue] = []
        try:
            for line in file_opener.read_lines(io.BufferedReader(io.BytesIO(self.head))):
                values += _value_of(line.data)
                if not values and not self.is_complete:
                    # An indented document: one of its later lines may be a complete value by chance.
                    return []
                if len(values) >= _LINES or line.number >= _MAX_LINES:
                    break
        except BadFile:
            return []
        return values


def _value_of(data: bytes) -> list[JSONValue]:
    try:
        value = json_value(data)
    except BadFile:
        return []
    return [value] if isinstance(value, dict | list) and value else []
