"""Revisions of runs.

On SQLite these changes rebuild the table. This drops its triggers, which are created again, and renames a table while the
triggers of other tables refer to it, which SQLite allows only with `legacy_alter_table`.
"""

import django.db.models.deletion
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps

from traces.storage.immutability_triggers import NO_PASS, Rule, creating

RUN_RULES = [
    Rule("run_update", "traces_run", "UPDATE", "OLD.sealed_at IS NOT NULL", "a sealed run cannot be changed"),
    Rule(
        "run_delete",
        "traces_run",
        "DELETE",
        f"OLD.sealed_at IS NOT NULL AND {NO_PASS}",
        "a sealed run cannot be deleted",
    ),
]


def begin_rebuild(apps: StateApps, editor: BaseDatabaseSchemaEditor) -> None:
    if editor.connection.vendor == "sqlite":
        editor.execute("PRAGMA legacy_alter_table = ON", params=None)


def end_rebuild(apps: StateApps, editor: BaseDatabaseSchemaEditor) -> None:
    if editor.connection.vendor == "sqlite":
        editor.execute("PRAGMA legacy_alter_table = OFF", params=None)
        creating(RUN_RULES)(apps, editor)


class Migration(migrations.Migration):
    dependencies = [("traces", "0014_unverified_steps")]
    operations = [
        migrations.RunPython(begin_rebuild, end_rebuild),
        migrations.RemoveConstraint(model_name="run", name="run_identity"),
        migrations.AddField(
            model_name="run",
            name="revision",
            field=models.PositiveIntegerField(default=1, help_text="from 1, within the identity"),
        ),
        migrations.AddField(
            model_name="run",
            name="supersedes",
            field=models.OneToOneField(
                help_text="the revision that it continues",
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="superseded_by",
                to="traces.run",
            ),
        ),
        migrations.AddConstraint(
            model_name="run",
            constraint=models.UniqueConstraint(fields=("app", "external_id", "revision"), name="run_revision"),
        ),
        migrations.RunPython(end_rebuild, begin_rebuild),
    ]
