from typing import Any

from django.db import migrations, models


def forget_values(apps: Any, _: Any) -> None:
    """Delete the values of variables whose sessions have ended."""
    sessions = apps.get_model("replay", "ReplaySession").objects
    sessions.filter(ended_at__isnull=False).update(variables={})


class Migration(migrations.Migration):
    dependencies = [("replay", "0012_agent_questions")]

    operations = [
        migrations.AlterField(
            model_name="replaysession",
            name="variables",
            field=models.JSONField(
                default=dict,
                help_text="of the agent's environment, if its runner allows them; empty when the session has ended",
            ),
        ),
        migrations.AddField(
            model_name="replaysession",
            name="variable_digests",
            field=models.JSONField(default=dict, help_text="keyed digests of their values, which stay"),
        ),
        migrations.RunPython(forget_values, migrations.RunPython.noop),
    ]
