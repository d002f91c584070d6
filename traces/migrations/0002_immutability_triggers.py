"""Triggers: a sealed run and what belongs to it never changes, and neither do artifacts, audit entries and share links.

Only a transaction that holds a retention pass (see `RetentionPass`) may delete. Deleting a run may also blank the texts that
forks copied from it, and nothing else. Provenance may be computed once after a run is sealed: its edges, and the unexplained
content of its steps.
"""

from django.db import migrations

from traces.storage.immutability_triggers import NO_PASS, Rule, creating, dropping

SEALED = "(SELECT sealed_at FROM traces_run WHERE id = {row}.run_id) IS NOT NULL"
OLD_SEALED, NEW_SEALED = SEALED.format(row="OLD"), SEALED.format(row="NEW")
NOT_PENDING = "NOT EXISTS (SELECT 1 FROM traces_pendingprovenance WHERE run_id = NEW.run_id)"


def other(*columns: str) -> str:
    """Return the condition that an update changes one of the columns."""
    return " OR ".join(f"NEW.{name} <> OLD.{name}" for name in columns)


OTHER_RUN = other("id", "external_id", "app", "revision", "content_digest", "status", "source", "step_count")
NO_LONGER_SEALED = "NEW.sealed_at IS NULL OR NEW.sealed_at <> OLD.sealed_at"
RUNS = [
    Rule(
        "run_update",
        "traces_run",
        "UPDATE",
        f"OLD.sealed_at IS NOT NULL AND ({NO_PASS} OR NEW.search <> '' OR {OTHER_RUN} OR {NO_LONGER_SEALED})",
        "a sealed run cannot be changed",
    ),
    Rule(
        "run_delete",
        "traces_run",
        "DELETE",
        f"OLD.sealed_at IS NOT NULL AND {NO_PASS}",
        "a sealed run cannot be deleted",
    ),
]

# All columns of a step but `unexplained`.
COLUMNS = """
    id run_id sequence_no parent_no external_id type name status started_at duration_ms label reason signature input_ref
    output_ref attributes_ref detail error summary provider model tool_name call_id tokens_in tokens_out tokens_cached
    cost_usd retries document_count source_step
""".split()
OTHER_STEP = other("id", "run_id", "sequence_no", "type", "status", "label", "reason", "input_ref", "output_ref")
TEXTS = "NEW.summary <> '' OR NEW.error <> '' OR NEW.unexplained IS NOT NULL"
STEP_OF_SEALED = f"({OLD_SEALED} OR {NEW_SEALED})"
STEP_CHANGE = f"{STEP_OF_SEALED} AND ({NO_PASS} OR {TEXTS} OR {OTHER_STEP})"
ORIGINS_CHANGE = f"{STEP_OF_SEALED} AND {NOT_PENDING} AND ({NO_PASS} OR NEW.unexplained IS NOT NULL)"
CHANGED = "steps of a sealed run cannot be changed"
STEPS = [
    Rule("step_insert", "traces_step", "INSERT", NEW_SEALED, "steps of a sealed run cannot be added"),
    Rule("step_update", "traces_step", f"UPDATE OF {', '.join(COLUMNS)}", STEP_CHANGE, CHANGED),
    Rule("step_origins", "traces_step", "UPDATE OF unexplained", ORIGINS_CHANGE, CHANGED),
    Rule(
        "step_delete",
        "traces_step",
        "DELETE",
        f"{OLD_SEALED} AND {NO_PASS}",
        "steps of a sealed run cannot be deleted",
    ),
]
EDGES = [
    Rule(
        "edge_insert",
        "traces_edge",
        "INSERT",
        f"{NEW_SEALED} AND {NOT_PENDING}",
        "edges of a sealed run cannot be added",
    ),
    Rule(
        "edge_update",
        "traces_edge",
        "UPDATE",
        f"{OLD_SEALED} OR {NEW_SEALED}",
        "edges of a sealed run cannot be changed",
    ),
    Rule(
        "edge_delete",
        "traces_edge",
        "DELETE",
        f"{OLD_SEALED} AND {NO_PASS}",
        "edges of a sealed run cannot be deleted",
    ),
    *(
        Rule(f"pending_{event.lower()}", "traces_pendingprovenance", event, NEW_SEALED, "provenance is computed once")
        for event in ("INSERT", "UPDATE")
    ),
]
OTHER_ARTIFACT = "NOT (OLD.sha256 = NEW.sha256 AND OLD.size = NEW.size)"
ARTIFACTS = [
    Rule(
        "artifact_update", "traces_artifact", "UPDATE", f"{OTHER_ARTIFACT} OR {NO_PASS}", "an artifact cannot be changed"
    ),
    Rule("artifact_delete", "traces_artifact", "DELETE", NO_PASS, "an artifact cannot be deleted"),
    Rule("pack_update", "traces_pack", "UPDATE", "1 = 1", "a pack cannot be changed"),
    Rule("pack_delete", "traces_pack", "DELETE", NO_PASS, "a pack cannot be deleted"),
]
AUDIT = [
    Rule("audit_update", "traces_auditentry", "UPDATE", "1 = 1", "an audit entry cannot be changed"),
    Rule("audit_delete", "traces_auditentry", "DELETE", NO_PASS, "an audit entry cannot be deleted"),
]
OTHER_SUBJECT = "OLD.kind <> NEW.kind OR OLD.subject <> NEW.subject OR OLD.token_hash <> NEW.token_hash"
REOPENED = "(OLD.revoked_at IS NOT NULL AND NEW.revoked_at IS NULL)"
LINKS = [
    Rule(
        "shared_subject",
        "traces_sharelink",
        "UPDATE",
        f"{OTHER_SUBJECT} OR {REOPENED}",
        "a share link opens one subject, until it is revoked",
    )
]
RULES = [*RUNS, *STEPS, *EDGES, *ARTIFACTS, *AUDIT, *LINKS]


class Migration(migrations.Migration):
    dependencies = [("traces", "0001_tables")]
    operations = [migrations.RunPython(creating(RULES), dropping(RULES))]
