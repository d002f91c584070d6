"""The last member of a backup: what it contains. Pure."""

import re
from collections.abc import Sequence
from datetime import datetime
from pathlib import PurePosixPath
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from cockpit.backups.errors import UnusableBackup

FORMAT: Final = 1
MANIFEST: Final = "manifest.json"
DATABASE: Final = "database.sqlite3"
TABLES: Final = "tables/"
ARTIFACTS: Final = "artifacts/"
FILES: Final = "files/"
SECRET_KEY: Final = "secret_key"
REDACTION_KEY: Final = "redaction_key"
_SINGLE: Final = frozenset({DATABASE, SECRET_KEY, REDACTION_KEY, MANIFEST})
_TABLE: Final = re.compile(re.escape(TABLES) + r"[a-z0-9_]+\.copy")


def table_member(table: str) -> str:
    """Return the name of the member with the rows of a table."""
    return f"{TABLES}{table}.copy"


class Member(BaseModel):
    """A file in the backup."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    size: int
    sha256: str


class Manifest(BaseModel):
    """What a backup contains, and which version made it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: Literal[1] = FORMAT
    version: str
    created_at: datetime
    database: Literal["sqlite", "postgresql"]
    migrations: list[tuple[str, str]]
    tables: dict[str, list[str]] = {}
    runs: int
    steps: int
    members: list[Member]

    def database_members(self) -> set[str]:
        return {DATABASE} if self.database == "sqlite" else set(map(table_member, self.tables))

    def names(self, prefix: str) -> list[str]:
        return [member.name for member in self.members if member.name.startswith(prefix)]


class _Format(BaseModel):
    format: int


def parse_manifest(text: bytes) -> Manifest:
    """Parse a manifest; raise `UnusableBackup`."""
    try:
        number = _Format.model_validate_json(text).format
        if number != FORMAT:
            raise UnusableBackup(
                f"the backup has format {number}, and this version reads format {FORMAT}: use the version that made it"
            )
        return Manifest.model_validate_json(text)
    except ValidationError as error:
        raise UnusableBackup(f"{MANIFEST} is damaged, or not that of a backup of Forkpoint") from error


def check_name(name: str) -> None:
    """Raise `UnusableBackup` if no backup has a member of this name, such as one outside of its folder."""
    is_known = name in _SINGLE or _TABLE.fullmatch(name) or name.startswith((ARTIFACTS, FILES))
    if not is_known or PurePosixPath(name).as_posix() != name or ".." in name.split("/") or "\0" in name:
        raise UnusableBackup(f"the member {name!r} does not belong in a backup")


def check_members(actual: Sequence[Member], manifest: Manifest) -> None:
    """Raise `UnusableBackup` if the members of a file are not those of its manifest."""
    promises = {member.name: member for member in manifest.members}
    for member in actual:
        promise = promises.pop(member.name, None)
        if promise is None:
            raise UnusableBackup(f"the member {member.name} is not in {MANIFEST}")
        if promise != member:
            raise UnusableBackup(f"the member {member.name} is damaged")
    names = {member.name for member in actual}
    if missing_names := sorted((promises.keys() | manifest.database_members()) - names):
        raise UnusableBackup(f"the member {missing_names[0]} is missing")
