"""A copy of the database at one moment."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from cockpit.backups.archive_reader import Archive


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """Files by the names of their members, and what they contain."""

    files: tuple[tuple[str, Path], ...]
    tables: dict[str, list[str]] = field(default_factory=dict)
    migrations: tuple[tuple[str, str], ...]
    runs: int
    steps: int


class Database(Protocol):
    """A kind of database."""

    def take_snapshot(self, folder: Path) -> Snapshot: ...
    def restore(self, archive: Archive) -> None: ...
