"""Call ids of any length. SQLite has no width of a text, and changing a table there would take its triggers away."""

from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps


def widen(apps: StateApps, editor: BaseDatabaseSchemaEditor) -> None:
    if editor.connection.vendor == "postgresql":
        editor.execute("ALTER TABLE traces_step ALTER COLUMN call_id TYPE text")


class Migration(migrations.Migration):
    dependencies = [("traces", "0011_outcomes_of_stored_runs")]
    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[migrations.RunPython(widen, migrations.RunPython.noop)],
            state_operations=[
                migrations.AlterField(
                    model_name="step",
                    name="call_id",
                    field=models.TextField(blank=True, help_text="as the client set it, of any length"),
                ),
            ],
        ),
    ]
