from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("diffing", "0002_immutability_triggers")]

    operations = [
        # Nullable: SQLite adds such a column without a new table, which would lose the triggers.
        migrations.AddField(
            model_name="evidence",
            name="headline",
            field=models.JSONField(help_text="of the report, if this evidence decides its verdict", null=True),
        ),
    ]
