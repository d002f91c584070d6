"""A PostgreSQL database in a backup: the rows of every table, in PostgreSQL's binary format."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from django.apps import apps
from django.core.management.color import no_style
from django.db import connection, transaction
from django.db.backends.utils import CursorWrapper
from django.db.migrations.executor import MigrationExecutor

from cockpit.backups.archive_reader import Archive
from cockpit.backups.errors import BackupError, UnusableBackup
from cockpit.backups.manifest import Manifest, table_member
from cockpit.backups.private_files import create_file
from cockpit.backups.snapshots import Snapshot


def take_snapshot(folder: Path) -> Snapshot:
    """Copy the rows that one transaction sees into a folder. Others can write meanwhile."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        tables = {name: _columns(cursor, name) for name in _table_names(cursor)}
        return Snapshot(
            files=tuple((table_member(name), _copy_out(cursor, name, tables[name], folder)) for name in tables),
            tables=tables,
            migrations=_migrations(cursor),
            runs=_rows(cursor, "SELECT COUNT(*) FROM traces_run")[0][0],
            steps=_rows(cursor, "SELECT COUNT(*) FROM traces_step")[0][0],
        )


def restore(archive: Archive) -> None:
    """Fill the tables, which have no runs, in one transaction."""
    manifest = archive.manifest
    _migrate(manifest)
    with transaction.atomic(), connection.cursor() as cursor:
        _check_columns(cursor, manifest)
        _empty(cursor, manifest.tables)
        _switch_triggers(cursor, manifest.tables, "DISABLE")
        for name, columns in manifest.tables.items():
            _copy_in(cursor, archive, name, columns)
        # Foreign keys are checked now: a table with open checks cannot be altered.
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        _switch_triggers(cursor, manifest.tables, "ENABLE")
        _reset_sequences(cursor, manifest.tables)


def _migrations(cursor: CursorWrapper) -> tuple[tuple[str, str], ...]:
    rows = _rows(cursor, "SELECT app, name FROM django_migrations ORDER BY id")
    return tuple((app, name) for app, name in rows)


def _table_names(cursor: CursorWrapper) -> list[str]:
    names = connection.introspection.django_table_names(only_existing=True, include_views=False)
    return sorted(set(names) & set(connection.introspection.table_names(cursor)))


def _columns(cursor: CursorWrapper, table: str) -> list[str]:
    """Return the columns of a table that are not computed from other ones."""
    statement = (
        "SELECT column_name FROM information_schema.columns "
        "WHERE table_schema = current_schema() AND table_name = %s AND is_generated = 'NEVER' ORDER BY ordinal_position"
    )
    return [name for (name,) in _rows(cursor, statement, [table])]


def _copy_out(cursor: CursorWrapper, table: str, columns: Iterable[str], folder: Path) -> Path:
    path = folder / f"{table}.copy"
    statement = f"COPY (SELECT {_quote(*columns)} FROM {_quote(table)}) TO STDOUT (FORMAT binary)"
    with create_file(path) as file, cursor.cursor.copy(statement) as copy:
        for data in copy:
            file.write(data)
    return path


def _copy_in(cursor: CursorWrapper, archive: Archive, table: str, columns: Iterable[str]) -> None:
    statement = f"COPY {_quote(table)} ({_quote(*columns)}) FROM STDIN (FORMAT binary)"
    with cursor.cursor.copy(statement) as copy:
        archive.copy(table_member(table), copy)


def _migrate(manifest: Manifest) -> None:
    """Create the tables as the version that made the backup had them."""
    executor = MigrationExecutor(connection)
    applied_migrations = executor.loader.applied_migrations
    executor.migrate([migration for migration in manifest.migrations if migration not in applied_migrations])


def _check_columns(cursor: CursorWrapper, manifest: Manifest) -> None:
    """Raise `UnusableBackup` if the database lacks a column of the backup."""
    for table, columns in manifest.tables.items():
        if missing_columns := set(columns) - set(_columns(cursor, table)):
            raise UnusableBackup(f"the database has no column {table}.{min(missing_columns)}")


def _empty(cursor: CursorWrapper, tables: Iterable[str]) -> None:
    """Remove the rows of migrations and of an empty store; raise `BackupError` if a server stored a run meanwhile."""
    cursor.execute("LOCK TABLE traces_run IN ACCESS EXCLUSIVE MODE")
    if _rows(cursor, "SELECT 1 FROM traces_run LIMIT 1"):
        raise BackupError("a server has stored a run in this database: stop all web and worker processes")
    cursor.execute(f"TRUNCATE {_quote(*tables)}")


def _switch_triggers(cursor: CursorWrapper, tables: Iterable[str], action: str) -> None:
    """Switch what refuses changes of sealed runs, and what writes the rows of other tables, which come as they were."""
    for table in tables:
        cursor.execute(f"ALTER TABLE {_quote(table)} {action} TRIGGER USER")


def _reset_sequences(cursor: CursorWrapper, tables: Iterable[str]) -> None:
    models = [model for model in apps.get_models(include_auto_created=True) if model._meta.db_table in set(tables)]
    for statement in connection.ops.sequence_reset_sql(no_style(), models):
        cursor.execute(statement)


def _quote(*names: str) -> str:
    return ", ".join(map(connection.ops.quote_name, names))


def _rows(cursor: CursorWrapper, statement: str, values: Sequence[str] = ()) -> list[tuple[Any, ...]]:
    cursor.execute(statement, values)
    rows: list[tuple[Any, ...]] = cursor.fetchall()
    return rows
