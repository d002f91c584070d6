"""What this store contains, and which backups fit it."""

from django.conf import settings
from django.db import connection
from django.db.migrations.loader import MigrationLoader

from cockpit.backups.errors import BackupError, UnusableBackup
from cockpit.backups.manifest import Manifest
from diffing.sentences.text import count_noun
from traces.models import Run


def require_embedded() -> None:
    """Raise `BackupError` if the store is in PostgreSQL."""
    if connection.vendor != "sqlite":
        raise BackupError(
            "the store is in PostgreSQL: back it up with `pg_dump`, and then copy the folder or bucket of the artifacts"
        )


def has_tables() -> bool:
    return Run._meta.db_table in connection.introspection.table_names()


def require_no_runs() -> None:
    """Raise `BackupError` if the store contains runs."""
    if has_tables() and (runs := Run.objects.count()):
        raise BackupError(
            f"{settings.HOME} contains {count_noun(runs, 'run')}: a backup is restored only into an empty store; "
            "set FORKPOINT_HOME to a new folder"
        )


def require_fit(manifest: Manifest) -> None:
    """Raise `UnusableBackup` if a backup comes from another database, or from a newer version."""
    if manifest.database != connection.vendor:
        raise UnusableBackup(
            f"the backup is of a store in {_TITLES[manifest.database]}, and this one is in "
            f"{_TITLES[connection.vendor]}: move runs with `forkpoint bundle export` and `forkpoint bundle import`"
        )
    migrations = set(MigrationLoader(None).disk_migrations)
    if unknown := [f"{app}.{name}" for app, name in manifest.migrations if (app, name) not in migrations]:
        raise UnusableBackup(
            f"the backup was made by version {manifest.version}, which is newer than this one ({settings.VERSION}): "
            f"update first (unknown migration: {unknown[0]})"
        )


_TITLES = {"sqlite": "SQLite", "postgresql": "PostgreSQL"}
