from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("replay", "0015_fork_changes")]

    operations = [
        migrations.AddIndex(
            model_name="replaysession",
            index=models.Index(condition=models.Q(("is_probe", False)), fields=["-id"], name="session_listed"),
        ),
    ]
