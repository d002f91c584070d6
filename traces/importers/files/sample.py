"""The beginning of a file, as detection looks at it."""

import io
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from traces.core.json_types import JSONObject, JSONValue
from traces.importers.files import file_opener
from traces.importers.files.errors import BadFile
from traces.importers.files.json_reader import json_value
from traces.importers.files.source import Source

SIZE: Final = 8 * 2**20
_LINES: Final = 20


@dataclass(kw_only=True)
class Sample:
    """The first bytes of an unpacked file; `complete` when they are all."""

    name: str
    head: bytes
    complete: bool

    @cached_property
    def source(self) -> Source:
        return Source(name=self.name, data=self.head)

    @cached_property
    def is_lines(self) -> bool:
        """JSON Lines, as far as the beginning shows."""
        return self.source.is_lines if self.complete else bool(self._first_lines)

    @cached_property
    def values(self) -> list[JSONValue]:
        """The document, or the values of the first lines; none when it is no JSON."""
        if self.is_lines:
            return self._first_lines
        try:
            return [self.source.value] if self.complete else []
        except BadFile:
            return []

    @property
    def objects(self) -> list[JSONObject]:
        """The first objects: the document, those of its list, or those of its lines."""
        listed = [item for value in self.values for item in (value[:_LINES] if isinstance(value, list) else [value])]
        return [item for item in listed if isinstance(item, dict)]

    @cached_property
    def _first_lines(self) -> list[JSONValue]:
        """Values of the first lines that are objects or lists; the last may be cut off, so a bad one says nothing."""
        found: list[JSONValue] = []
        try:
            for line in file_opener.read_lines(io.BufferedReader(io.BytesIO(self.head))):
                found += _value_of(line.data)
                if not found and not self.complete:
                    return []  # a document in lines of its own, of which a later one may well be a whole value
                if line.number >= _LINES:
                    break
        except BadFile:
            return []
        return found


def _value_of(data: bytes) -> list[JSONValue]:
    try:
        value = json_value(data)
    except BadFile:
        return []
    return [value] if isinstance(value, dict | list) and value else []
