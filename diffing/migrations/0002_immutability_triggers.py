"""Triggers: a report never changes once it is made, nor do its evidence and its lanes.

With a retention pass, a report may lose its content when a run that it compares is deleted.
"""

from django.db import migrations

from traces.storage.immutability_triggers import NO_PASS, Rule, creating, dropping

READY = "OLD.status = 'ready'"
CONTENT = "NEW.body IS NOT NULL OR NEW.sentence <> '' OR NEW.status <> 'deleted' OR NEW.cause <> '' OR NEW.effect <> ''"
IDENTITY = "NEW.id <> OLD.id OR NEW.key <> OLD.key OR NEW.base_id <> OLD.base_id OR NEW.candidate_id <> OLD.candidate_id"
RULES = [
    Rule(
        "diff_update",
        "diffing_diffreport",
        "UPDATE",
        f"{READY} AND ({NO_PASS} OR {CONTENT} OR {IDENTITY})",
        "a diff report that is made cannot be changed",
    ),
    Rule("diff_delete", "diffing_diffreport", "DELETE", f"{READY} AND {NO_PASS}", "a diff report cannot be deleted"),
    Rule("evidence_update", "diffing_evidence", "UPDATE", "1 = 1", "evidence cannot be changed"),
    Rule("evidence_delete", "diffing_evidence", "DELETE", NO_PASS, "evidence cannot be deleted"),
    Rule("lane_update", "diffing_lane", "UPDATE", "1 = 1", "a lane cannot be changed"),
    Rule("lane_delete", "diffing_lane", "DELETE", NO_PASS, "a lane cannot be deleted"),
]


class Migration(migrations.Migration):
    dependencies = [("diffing", "0001_tables"), ("traces", "0002_immutability_triggers")]
    operations = [migrations.RunPython(creating(RULES), dropping(RULES))]
