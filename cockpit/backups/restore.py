"""Restore a backup into an empty store."""

from collections.abc import Callable
from pathlib import Path

from django.core.management import call_command

from cockpit.backups.archive_reader import open_archive
from cockpit.backups.keys import check_keys, restore_keys
from cockpit.backups.manifest import Manifest
from cockpit.backups.state import database, require_fit, require_no_runs
from cockpit.backups.stored_files import restore_files


def restore(source: Path, report: Callable[[str], None]) -> Manifest:
    """Restore a backup; raise `BackupError`, before anything is written.

    The database is last: what an interrupted restore leaves is an empty store, into which it can be restored again.
    """
    require_no_runs()
    report("verifying the backup")
    with open_archive(source) as archive:
        require_fit(archive.manifest)
        check_keys(archive)
        report("restoring the files")
        restore_files(archive)
        restore_keys(archive)
        report("restoring the database")
        database().restore(archive)
    call_command("migrate", verbosity=0)
    return archive.manifest
