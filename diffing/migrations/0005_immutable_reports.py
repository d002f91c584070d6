"""Triggers: a report never changes once it is made, nor its evidence, and a share link opens what it was made for."""

from django.db import migrations

from traces.storage.immutability_triggers import NO_PASS, Rule, creating, dropping

READY = "OLD.status = 'ready'"
OTHER = "OLD.diff_id <> NEW.diff_id OR OLD.token_hash <> NEW.token_hash"
REOPENED = "(OLD.revoked_at IS NOT NULL AND NEW.revoked_at IS NULL)"

RULES = [
    Rule("diff_update", "diffing_diffreport", "UPDATE", READY, "a diff report that is made cannot be changed"),
    Rule("diff_delete", "diffing_diffreport", "DELETE", f"{READY} AND {NO_PASS}", "a diff report cannot be deleted"),
    Rule("evidence_update", "diffing_evidence", "UPDATE", "1 = 1", "evidence cannot be changed"),
    Rule("evidence_delete", "diffing_evidence", "DELETE", NO_PASS, "evidence cannot be deleted"),
    Rule("share_update", "diffing_sharelink", "UPDATE", f"{OTHER} OR {REOPENED}", "a share link opens one report, until it is revoked"),
]


class Migration(migrations.Migration):
    dependencies = [("diffing", "0004_sharing"), ("traces", "0002_immutability")]
    operations = [migrations.RunPython(creating(RULES), dropping(RULES))]
