"""JSON bodies of batches: one unreadable record must not cause the others to be lost."""

import json
from dataclasses import dataclass

from traces.core.json_types import JSONValue
from traces.errors import ProblemError
from traces.importers.files.errors import BadFile
from traces.importers.files.json_reader import json_value


class NotJson(ProblemError):
    """A body that is not JSON."""


@dataclass(frozen=True, kw_only=True, slots=True)
class JsonBody:
    """The JSON of a request; `is_strict` is False if it contains what cannot be stored, such as NaN."""

    value: JSONValue
    is_strict: bool

    def check(self, record: JSONValue) -> None:
        """Raise `BadFile` if this record of the body cannot be stored."""
        if not self.is_strict:
            json_value(json.dumps(record).encode())


def read_json(body: bytes) -> JsonBody:
    """Read a body. Raises `NotJson`."""
    try:
        return JsonBody(value=json_value(body), is_strict=True)
    except BadFile as problem:
        try:
            return JsonBody(value=json.loads(body), is_strict=False)
        except (ValueError, RecursionError):
            raise NotJson(str(problem)) from problem
