"""Copy the files of the storages, in folders or on S3, into a backup and back."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Final

from django.core.files import File
from django.core.files.storage import Storage, default_storage, storages

from cockpit.backups.archive_reader import Archive
from cockpit.backups.archive_writer import ArchiveWriter
from cockpit.backups.errors import BackupError
from cockpit.backups.manifest import ARTIFACTS, FILES
from traces.storage.artifact_files import s3_problem

# Half-written files, and those that test the storage.
_TRANSIENT: Final = frozenset({"parts", "probes"})


@contextmanager
def _s3_errors() -> Iterator[None]:
    try:
        yield
    except Exception as error:
        if (problem := s3_problem(error)) is None:
            raise
        raise BackupError(str(problem)) from error


@_s3_errors()
def add_files(archive: ArchiveWriter) -> None:
    """Add all files. One that a purge removes meanwhile is left out."""
    for prefix, storage in _storages():
        for name in _names(storage):
            try:
                file = storage.open(name)
            except FileNotFoundError:
                continue
            with file:
                archive.add(prefix + name, file, file.size)


@_s3_errors()
def restore_files(archive: Archive) -> None:
    """Store all files of a backup."""
    for prefix, storage in _storages():
        for name in archive.manifest.names(prefix):
            with archive.open(name) as content:
                _save(storage, name.removeprefix(prefix), content)


def _storages() -> list[tuple[str, Storage]]:
    return [(ARTIFACTS, storages["artifacts"]), (FILES, default_storage)]


def _names(storage: Storage, folder: str = "") -> Iterator[str]:
    try:
        folders, files = storage.listdir(folder)
    except FileNotFoundError:
        return
    yield from (folder + name for name in sorted(files) if name)
    for name in sorted(folders):
        if folder or name not in _TRANSIENT:
            yield from _names(storage, f"{folder}{name}/")


def _save(storage: Storage, name: str, content: IO[bytes]) -> None:
    """Store a file under exactly this name, where an interrupted restore may have stored it."""
    try:
        storage.delete(name)
        storage.save(name, File(content, name))
    except OSError as error:
        error.filename = error.filename or name
        raise
