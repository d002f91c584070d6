"""The name of an artifact, which is most of a small one's row, once and in one index.

On SQLite the table itself becomes the tree by name; on PostgreSQL the second index goes that Django makes for
LIKE, which no query uses on a digest. Django has no words for either.
"""

from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps


def keep_once(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    (_sqlite if schema_editor.connection.vendor == "sqlite" else _postgresql)(schema_editor)


def _sqlite(editor: BaseDatabaseSchemaEditor) -> None:
    with editor.connection.cursor() as cursor:
        cursor.execute("SELECT sql FROM sqlite_master WHERE type = 'table' AND name = 'traces_artifact'")
        (table,) = cursor.fetchone()
        cursor.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'traces_artifact'")
        triggers = cursor.fetchall()
        for name, _ in triggers:
            cursor.execute(f"DROP TRIGGER {name}")
        cursor.execute("ALTER TABLE traces_artifact RENAME TO traces_artifact_before")
        cursor.execute(f"{table} WITHOUT ROWID")
        cursor.execute("INSERT INTO traces_artifact SELECT * FROM traces_artifact_before ORDER BY sha256")
        cursor.execute("DROP TABLE traces_artifact_before")
        for _, statement in triggers:
            cursor.execute(statement)


def _postgresql(editor: BaseDatabaseSchemaEditor) -> None:
    with editor.connection.cursor() as cursor:
        cursor.execute(
            "SELECT indexname FROM pg_indexes "
            "WHERE schemaname = current_schema() AND tablename = 'traces_artifact' AND indexdef LIKE %s",
            ["%varchar_pattern_ops%"],
        )
        for (name,) in cursor.fetchall():
            cursor.execute(f'DROP INDEX "{name}"')


class Migration(migrations.Migration):
    dependencies = [("traces", "0003_tool_index")]
    operations = [migrations.RunPython(keep_once, migrations.RunPython.noop)]
