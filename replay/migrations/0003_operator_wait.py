from datetime import timedelta

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("replay", "0002_unpriced_calls")]

    operations = [
        migrations.AddField(
            model_name="replaysession",
            name="operator_wait",
            field=models.DurationField(
                default=timedelta(0), help_text="for the operator; does not count for its deadline"
            ),
        ),
    ]
