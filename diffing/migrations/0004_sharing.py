import django.db.models.deletion
from django.db import migrations, models

AUDIENCES = [("anyone", "anyone with the link"), ("signed_in", "signed-in users"), ("people", "the named people")]


def pinned(side):
    return migrations.AlterField(
        "diffreport", side,
        models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name=f"diffs_as_{side}", to="traces.run"),
    )


class Migration(migrations.Migration):
    dependencies = [("diffing", "0003_evidence")]
    operations = [
        pinned("base"),
        pinned("candidate"),
        migrations.AddField("diffreport", "output_similarity", models.FloatField(null=True)),
        migrations.AddField("diffreport", "tool_accuracy", models.FloatField(null=True)),
        migrations.AddField("sharelink", "audience", models.CharField(choices=AUDIENCES, default="anyone", max_length=9)),
        migrations.AddField("sharelink", "created_by", models.CharField(blank=True, max_length=120)),
        migrations.AddField("sharelink", "max_views", models.PositiveIntegerField(null=True)),
        migrations.AddField("sharelink", "people", models.JSONField(default=list, help_text="names of API tokens, for the audience `people`")),
    ]
