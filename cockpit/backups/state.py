"""What this store contains, and which backups fit it."""

from typing import Final

from django.conf import settings
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from cockpit.backups import postgres_database, sqlite_database
from cockpit.backups.errors import BackupError, UnusableBackup
from cockpit.backups.manifest import Manifest
from cockpit.backups.snapshots import Database
from diffing.sentences.text import count_noun
from traces.models import Run

_TITLES: Final = {"sqlite": "SQLite", "postgresql": "PostgreSQL"}


def database() -> Database:
    return sqlite_database if connection.vendor == "sqlite" else postgres_database


def place() -> str:
    """Return where the store is, for people."""
    if connection.vendor == "sqlite":
        return str(settings.HOME)
    return f"the database {connection.settings_dict['NAME']}"


def has_tables() -> bool:
    return Run._meta.db_table in connection.introspection.table_names()


def require_no_runs() -> None:
    """Raise `BackupError` if the store contains runs."""
    if has_tables() and (runs := Run.objects.count()):
        raise BackupError(
            f"{place()} contains {count_noun(runs, 'run')}: a backup is restored only into an empty store; set "
            f"{'FORKPOINT_HOME to a new folder' if connection.vendor == 'sqlite' else 'DATABASE_URL to a new database'}"
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
    if connection.vendor == "postgresql" and (
        later := MigrationRecorder(connection).applied_migrations().keys() - set(manifest.migrations)
    ):
        raise UnusableBackup(
            f"the backup was made by version {manifest.version}, before the migration {min(later)[1]} of this "
            "database: restore it into a new database"
        )
