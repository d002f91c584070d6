"""Write a backup of this store."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from django.conf import settings
from django.db import connection

from cockpit.backups.archive_writer import ArchiveWriter, write_archive
from cockpit.backups.errors import BackupError
from cockpit.backups.keys import add_keys
from cockpit.backups.manifest import Manifest
from cockpit.backups.private_files import create_file, sync_folder
from cockpit.backups.snapshots import Snapshot
from cockpit.backups.state import database, has_tables, place
from cockpit.backups.stored_files import add_files


def create(target: Path, report: Callable[[str], None]) -> Manifest:
    """Write a backup to a new file; raise `BackupError`, or OSError if the file cannot be written."""
    if not has_tables():
        raise BackupError(f"{place()} contains no store")
    if not target.absolute().parent.is_dir():
        raise BackupError(f"{target.parent} is not a folder")
    if target.exists():
        raise BackupError(f"{target} exists: choose another name")
    with _work_folder(target) as folder:
        part = folder / target.name
        manifest = _write(part, folder, report)
        part.replace(target)
    sync_folder(target.parent)
    return manifest


@contextmanager
def _work_folder(target: Path) -> Iterator[Path]:
    """Yield a folder beside the target, on the same disk, for what is not complete."""
    folder = target.with_name(f"{target.name}.new")
    try:
        folder.mkdir(mode=0o700)
    except FileExistsError as error:
        raise BackupError(
            f"{folder} exists: another backup is being written, or was interrupted; in that case remove the folder"
        ) from error
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _write(part: Path, folder: Path, report: Callable[[str], None]) -> Manifest:
    """Write the database first: files are stored before the rows that name them."""
    with create_file(part) as file, write_archive(file) as archive:
        report("copying the database")
        snapshot = database().take_snapshot(folder)
        for name, path in snapshot.files:
            archive.add_file(name, path)
            path.unlink()
        report("copying the files")
        add_files(archive)
        add_keys(archive)
        manifest = _manifest(snapshot, archive)
        archive.close(manifest)
    return manifest


def _manifest(snapshot: Snapshot, archive: ArchiveWriter) -> Manifest:
    return Manifest(
        version=settings.VERSION,
        created_at=datetime.now(UTC),
        database=connection.vendor,
        tables=snapshot.tables,
        migrations=list(snapshot.migrations),
        runs=snapshot.runs,
        steps=snapshot.steps,
        members=archive.members,
    )
