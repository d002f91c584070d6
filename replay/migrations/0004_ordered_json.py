"""Columns of older installations get the type that `0001_tables` gives them now. The types are equal in SQLite."""

from typing import Any, Final

from django.db import migrations

_COLUMNS: Final = {
    "Attempt": ("outcome",),
    "Bisection": ("request",),
    "Experiment": ("request",),
    "HookOutcome": ("asked", "decision"),
    "OverrideProfile": ("profile",),
    "Proof": ("request",),
    "ProofProbe": ("ask",),
    "ReplaySession": ("answers",),
    "RerunQuestion": ("answer", "arguments"),
    "Trial": ("input", "outcome"),
}


def keep_order(apps: Any, schema_editor: Any) -> None:
    if schema_editor.connection.vendor != "postgresql":
        return
    for model, columns in _COLUMNS.items():
        table = apps.get_model("replay", model)._meta.db_table
        changes = ", ".join(f"ALTER COLUMN {column} TYPE json USING {column}::json" for column in columns)
        schema_editor.execute(f"ALTER TABLE {table} {changes}")


class Migration(migrations.Migration):
    dependencies = [("replay", "0003_operator_wait")]

    operations = [migrations.RunPython(keep_order, migrations.RunPython.noop)]
