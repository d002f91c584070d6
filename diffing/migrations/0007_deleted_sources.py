"""With a retention pass, a report may lose its content when a run that it compares is deleted; nothing else changes it."""

from django.db import migrations, models

from traces.storage.immutability_triggers import NO_PASS, Rule, creating, dropping

READY = "OLD.status = 'ready'"
MESSAGE = "a diff report that is made cannot be changed"
CONTENT = "NEW.body IS NOT NULL OR NEW.sentence <> '' OR NEW.status <> 'deleted'"
IDENTITY = "NEW.id <> OLD.id OR NEW.key <> OLD.key OR NEW.base_id <> OLD.base_id OR NEW.candidate_id <> OLD.candidate_id"

BEFORE = [Rule("diff_update", "diffing_diffreport", "UPDATE", READY, MESSAGE)]
AFTER = [
    Rule(
        "diff_update",
        "diffing_diffreport",
        "UPDATE",
        f"{READY} AND ({NO_PASS} OR {CONTENT} OR {IDENTITY})",
        MESSAGE,
    )
]


class Migration(migrations.Migration):
    dependencies = [("diffing", "0006_lanes"), ("traces", "0024_deletions")]
    operations = [
        migrations.AlterField(
            model_name="diffreport",
            name="status",
            field=models.CharField(
                choices=[
                    ("pending", "Pending"),
                    ("ready", "Ready"),
                    ("failed", "Failed"),
                    ("deleted", "Deleted"),
                ],
                default="pending",
                max_length=7,
            ),
        ),
        migrations.RunPython(dropping(BEFORE), creating(BEFORE)),
        migrations.RunPython(creating(AFTER), dropping(AFTER)),
    ]
