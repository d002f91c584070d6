"""The embedded database in a backup: a copy of the whole file."""

import sqlite3
from contextlib import closing
from pathlib import Path

from django.db import connection, connections

from cockpit.backups.archive_reader import Archive
from cockpit.backups.manifest import DATABASE
from cockpit.backups.private_files import create_file, replace_file
from cockpit.backups.snapshots import Snapshot


def take_snapshot(folder: Path) -> Snapshot:
    """Copy the state of one moment into a folder, without free pages. Other processes can write meanwhile."""
    path = folder / DATABASE
    with create_file(path):
        pass
    with connection.cursor() as cursor:
        cursor.execute("VACUUM INTO %s", [str(path)])
    with closing(sqlite3.connect(path)) as copy:
        return Snapshot(
            files=((DATABASE, path),),
            migrations=tuple(copy.execute("SELECT app, name FROM django_migrations ORDER BY id").fetchall()),
            runs=copy.execute("SELECT COUNT(*) FROM traces_run").fetchone()[0],
            steps=copy.execute("SELECT COUNT(*) FROM traces_step").fetchone()[0],
        )


def restore(archive: Archive) -> None:
    """Replace the database, which has no runs."""
    path = Path(connection.settings_dict["NAME"])
    with replace_file(path) as file:
        archive.copy(DATABASE, file)
        connections.close_all()
        # The journal of the old database would be applied to the new one.
        for suffix in ("", "-wal", "-shm"):
            path.with_name(path.name + suffix).unlink(missing_ok=True)
