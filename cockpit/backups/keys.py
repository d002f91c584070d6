"""The keys of a store that are files of its home."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from django.conf import settings

from cockpit.backups.archive_reader import Archive
from cockpit.backups.archive_writer import ArchiveWriter
from cockpit.backups.errors import BackupError
from cockpit.backups.manifest import REDACTION_KEY, SECRET_KEY
from cockpit.backups.private_files import replace_file

_VARIABLES: Final = {SECRET_KEY: "FORKPOINT_SECRET_KEY", REDACTION_KEY: "FORKPOINT_REDACTION_KEY"}


def add_keys(archive: ArchiveWriter) -> None:
    """Add the keys, except those that environment variables set."""
    for name in _VARIABLES:
        if not _configured_key(name) and (key := _stored_key(name)):
            archive.add_bytes(name, key)


def check_keys(archive: Archive) -> None:
    """Raise `BackupError` if the keys of a backup would not be used here, or would replace one in use.

    Every command generates a secret key in a new home: that of a store without runs is replaced.
    """
    for name, key in _keys(archive):
        configured_key = _configured_key(name)
        if configured_key and configured_key != key:
            raise BackupError(
                f"{_VARIABLES[name]} sets another key than that of the backup: unset it, or set it to the content of "
                f"the member {name}"
            )
        if name == REDACTION_KEY and not configured_key and _stored_key(name) not in {b"", key}:
            raise BackupError(f"{_path(name)} is another key than that of the backup: move it away")


def restore_keys(archive: Archive) -> None:
    """Write the keys, except those that environment variables set."""
    for name, key in _keys(archive):
        if not _configured_key(name):
            with replace_file(_path(name)) as file:
                file.write(key)


def _keys(archive: Archive) -> Iterator[tuple[str, bytes]]:
    return ((name, archive.read(name)) for name in _VARIABLES if name in archive)


def _configured_key(name: str) -> bytes:
    """Return the key that an environment variable sets, if any: the settings then differ from the file."""
    if name == REDACTION_KEY:
        return str(settings.REDACTION_KEY).encode()
    key = str(settings.SECRET_KEY).encode()
    return key if key != _stored_key(name) else b""


def _stored_key(name: str) -> bytes:
    path = _path(name)
    return path.read_bytes() if path.is_file() else b""


def _path(name: str) -> Path:
    return Path(settings.REDACTION_KEY_FILE) if name == REDACTION_KEY else Path(settings.HOME) / name
