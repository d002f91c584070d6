"""Steps that were not verified. SQLite has no width of a text, and changing a table there would take its triggers away."""

from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps

_STATUSES = ["ok", "error", "timeout", "partial", "denied", "unverified", "running"]


def widen(apps: StateApps, editor: BaseDatabaseSchemaEditor) -> None:
    if editor.connection.vendor == "postgresql":
        editor.execute("ALTER TABLE traces_step ALTER COLUMN status TYPE varchar(10)")


class Migration(migrations.Migration):
    dependencies = [("traces", "0013_unexplained")]
    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[migrations.RunPython(widen, migrations.RunPython.noop)],
            state_operations=[
                migrations.AlterField(
                    model_name="step",
                    name="status",
                    field=models.CharField(choices=[(each, each) for each in _STATUSES], max_length=10),
                ),
            ],
        ),
    ]
