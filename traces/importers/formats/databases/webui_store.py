"""Open WebUI's database (`webui.db`): its chats as their export has them."""

from collections.abc import Iterator
from typing import Final

from traces.core.json_access import as_text
from traces.importers.files.json_reader import parse_embedded
from traces.importers.files.source import Record
from traces.importers.files.sqlite_file import Database
from traces.importers.formats.databases.stores import Store

_FACTS: Final = ("id", "user_id", "title", "archived", "pinned", "folder_id", "created_at", "updated_at")
_OBJECTS: Final = ("chat", "meta")


def _read(database: Database) -> Iterator[Record]:
    for row in database.rows("chat", "ORDER BY created_at, id"):
        objects = {name: parse_embedded(row.get(name)) for name in _OBJECTS}
        yield Record(value={**row, **objects}, location=f"chat {as_text(row.get('id'))}")


STORE: Final = Store(title="Open WebUI", mark="share_id", columns={"chat": (*_FACTS, *_OBJECTS)}, read=_read)
