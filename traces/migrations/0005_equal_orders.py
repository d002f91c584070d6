"""Metadata keep the order of their members, and names are sorted, as in SQLite, by their code points and without regard
to the case of ASCII letters: whatever the collation of a PostgreSQL database is.
"""

from importlib import import_module
from typing import Any

from django.db import migrations

_lists = import_module("traces.migrations.0003_lists_and_search")


def as_in_sqlite(apps: Any, schema_editor: Any) -> None:
    if schema_editor.connection.vendor != "postgresql":
        return
    runs, listing = (apps.get_model("traces", name)._meta.db_table for name in ("Run", "RunListing"))
    schema_editor.execute(f"ALTER TABLE {runs} ALTER COLUMN metadata TYPE json USING metadata::json")
    schema_editor.execute(
        f'ALTER TABLE {listing} ALTER COLUMN sort_name TYPE varchar(60) COLLATE "C" USING lower(sort_name COLLATE "C")'
    )
    for name, _, _, statements in _lists.TRIGGERS:
        if _lists.SORT_NAME in statements:
            function = f"CREATE OR REPLACE FUNCTION listing_{name}() RETURNS trigger LANGUAGE plpgsql AS"
            statements = statements.replace(_lists.SORT_NAME, _SORT_NAME)
            schema_editor.execute(f"{function} $$ BEGIN {statements}; RETURN NULL; END $$", params=None)


_SORT_NAME = """substr(lower(COALESCE(NULLIF(caption.title, ''), run.name) COLLATE "C"), 1, 60)"""


class Migration(migrations.Migration):
    dependencies = [("traces", "0004_share_kinds")]

    operations = [migrations.RunPython(as_in_sqlite, migrations.RunPython.noop)]
