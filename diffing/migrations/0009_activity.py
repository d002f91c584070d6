"""Reports store their headline and who asked for them, for the activity list."""

from typing import Final

from django.db import migrations, models

from traces.storage.immutability_triggers import NO_PASS, Rule, creating, dropping

_READY: Final = "OLD.status = 'ready'"
_MESSAGE: Final = "a diff report that is made cannot be changed"
_CONTENT: Final = "NEW.body IS NOT NULL OR NEW.sentence <> '' OR NEW.status <> 'deleted'"
_IDENTITY: Final = (
    "NEW.id <> OLD.id OR NEW.key <> OLD.key OR NEW.base_id <> OLD.base_id OR NEW.candidate_id <> OLD.candidate_id"
)


def _rules(content: str) -> list[Rule]:
    condition = f"{_READY} AND ({NO_PASS} OR {content} OR {_IDENTITY})"
    return [Rule("diff_update", "diffing_diffreport", "UPDATE", condition, _MESSAGE)]


_BEFORE: Final = _rules(_CONTENT)
_AFTER: Final = _rules(f"{_CONTENT} OR NEW.cause <> '' OR NEW.effect <> ''")


def _column(name: str, type: str, field: "models.Field[str, str]") -> migrations.RunSQL:
    """Add a column in place: Django would copy the table on SQLite, with all reports and without their triggers."""
    return migrations.RunSQL(
        f"""ALTER TABLE diffing_diffreport ADD COLUMN "{name}" {type} DEFAULT '' NOT NULL""",
        f"""ALTER TABLE diffing_diffreport DROP COLUMN "{name}" """,
        state_operations=[migrations.AddField("diffreport", name, field)],
    )


class Migration(migrations.Migration):
    dependencies = [("diffing", "0008_links_to_all_subjects")]
    operations = [
        _column("by", "varchar(120)", models.CharField(blank=True, help_text="who asked for it first", max_length=120)),
        _column("cause", "text", models.TextField(blank=True, help_text="of its headline")),
        _column("effect", "text", models.TextField(blank=True, help_text="of its headline")),
        migrations.AddIndex("diffreport", models.Index(fields=["by", "-id"], name="diff_by_author")),
        migrations.RunPython(dropping(_BEFORE), creating(_BEFORE)),
        migrations.RunPython(creating(_AFTER), dropping(_AFTER)),
    ]
