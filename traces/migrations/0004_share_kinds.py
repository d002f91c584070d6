"""Columns of older installations get the length that `0001_tables` gives them now. SQLite has no lengths."""

from typing import Any

from django.db import migrations


def lengthen(apps: Any, schema_editor: Any) -> None:
    if schema_editor.connection.vendor == "postgresql":
        table = apps.get_model("traces", "ShareLink")._meta.db_table
        schema_editor.execute(f"ALTER TABLE {table} ALTER COLUMN kind TYPE varchar(10)")


class Migration(migrations.Migration):
    dependencies = [("traces", "0003_lists_and_search")]

    operations = [migrations.RunPython(lengthen, migrations.RunPython.noop)]
