from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("replay", "0001_tables")]

    operations = [
        migrations.AddField(
            model_name="rerun",
            name="unpriced_calls",
            field=models.PositiveIntegerField(default=0, help_text="answered live calls whose cost is not known"),
        ),
    ]
