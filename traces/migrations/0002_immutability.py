"""Triggers: a sealed run and what belongs to it never changes, and neither do the bytes of an artifact.

Only a transaction that holds a retention pass (see `RetentionPass`) may delete.
"""

from django.db import migrations

from traces.storage.immutability_triggers import NO_PASS, Rule, creating, dropping

SEALED = "EXISTS (SELECT 1 FROM traces_run WHERE id = {row}.run_id AND sealed_at IS NOT NULL)"
OLD_SEALED, NEW_SEALED = SEALED.format(row="OLD"), SEALED.format(row="NEW")

RULES = [
    Rule("run_update", "traces_run", "UPDATE", "OLD.sealed_at IS NOT NULL", "a sealed run cannot be changed"),
    Rule("run_delete", "traces_run", "DELETE", f"OLD.sealed_at IS NOT NULL AND {NO_PASS}", "a sealed run cannot be deleted"),
    Rule("artifact_update", "traces_artifact", "UPDATE", "1 = 1", "an artifact cannot be changed"),
    Rule("artifact_delete", "traces_artifact", "DELETE", NO_PASS, "an artifact cannot be deleted"),
] + [
    Rule(f"{one}_{event.lower()}", f"traces_{one}", event, when, f"{one}s of a sealed run cannot be {done}")
    for one in ("step", "edge")
    for event, when, done in (
        ("INSERT", NEW_SEALED, "added"),
        ("UPDATE", f"{OLD_SEALED} OR {NEW_SEALED}", "changed"),
        ("DELETE", f"{OLD_SEALED} AND {NO_PASS}", "deleted"),
    )
]


class Migration(migrations.Migration):
    dependencies = [("traces", "0001_ground")]
    operations = [migrations.RunPython(creating(RULES), dropping(RULES))]
