"""Zed's database of threads (`threads.db`): each is a JSON document, which newer versions compress."""

import io
from collections.abc import Iterator, Sequence
from typing import Final

from traces.core.json_access import as_text
from traces.core.json_types import JSONObject
from traces.importers.files import file_opener
from traces.importers.files.errors import BadFile
from traces.importers.files.json_reader import json_value, require_object
from traces.importers.files.sample import Sample
from traces.importers.files.source import Source
from traces.importers.files.sqlite_file import Database, has_column

# The document has no id and no start, so that these are added to it.
_ROW_FIELDS: Final = ("id", "parent_id", "folder_paths", "created_at")
_COLUMNS: Final[dict[str, Sequence[str]]] = {"threads": (*_ROW_FIELDS, "data_type")}


def is_database(sample: Sample) -> bool:
    return has_column(sample.head, "threads", "data_type")


def read_threads(source: Source) -> Iterator[tuple[JSONObject, str]]:
    """Yield the threads of a database; each that cannot be read becomes a problem."""
    database = Database(source.data, _COLUMNS)
    try:
        facts = {as_text(row["id"]): row for row in database.rows("threads")}
        rows = list(database.select("id, data FROM threads ORDER BY updated_at, id"))
    finally:
        database.close()
    for id, data in rows:
        location = f"thread {id}"
        try:
            thread = require_object(json_value(_unpack(data)), location)
        except BadFile as problem:
            source.problems.append(problem.prefix_location(location))
        else:
            row: JSONObject = {name: value for name, value in facts[as_text(id)].items() if value is not None}
            yield {**thread, **row}, location


def _unpack(data: object) -> bytes:
    content = data if isinstance(data, bytes) else str(data).encode()
    return file_opener.read_all(file_opener.decompress(io.BytesIO(content)))
