"""Provenance may be computed once after a run is sealed: its edges, and the unexplained content of its steps."""

import django.db.models.deletion
from django.db import migrations, models

from traces.storage.immutability_triggers import NO_PASS, Rule, creating, dropping

SEALED = "EXISTS (SELECT 1 FROM traces_run WHERE id = {row}.run_id AND sealed_at IS NOT NULL)"
OLD_SEALED, NEW_SEALED = SEALED.format(row="OLD"), SEALED.format(row="NEW")
NOT_PENDING = "NOT EXISTS (SELECT 1 FROM traces_pendingprovenance WHERE run_id = NEW.run_id)"
CHANGED = "steps of a sealed run cannot be changed"
ADDED = "edges of a sealed run cannot be added"
# All columns of a step but `unexplained`.
COLUMNS = """
    id run_id sequence_no parent_no external_id type name status started_at duration_ms label reason signature input_ref
    output_ref attributes_ref detail error summary provider model tool_name call_id tokens_in tokens_out tokens_cached
    cost_usd retries document_count source_step
""".split()

STEP_OF_SEALED = f"({OLD_SEALED} OR {NEW_SEALED})"
# What a deletion may do to the steps of a fork, as before.
SAME_STEP = "OR ".join(
    f"NEW.{name} <> OLD.{name} "
    for name in ("id", "run_id", "sequence_no", "type", "status", "label", "reason", "input_ref", "output_ref")
)
TEXTS = "NEW.summary <> '' OR NEW.error <> '' OR NEW.unexplained IS NOT NULL"
STEP_CHANGE = f"{STEP_OF_SEALED} AND ({NO_PASS} OR {TEXTS} OR {SAME_STEP})"
ORIGINS_CHANGE = f"{STEP_OF_SEALED} AND {NOT_PENDING} AND ({NO_PASS} OR NEW.unexplained IS NOT NULL)"

BEFORE = [
    Rule("step_update", "traces_step", "UPDATE", STEP_CHANGE, CHANGED),
    Rule("edge_insert", "traces_edge", "INSERT", NEW_SEALED, ADDED),
]
AFTER = [
    Rule("step_update", "traces_step", f"UPDATE OF {', '.join(COLUMNS)}", STEP_CHANGE, CHANGED),
    Rule("step_origins", "traces_step", "UPDATE OF unexplained", ORIGINS_CHANGE, CHANGED),
    Rule("edge_insert", "traces_edge", "INSERT", f"{NEW_SEALED} AND {NOT_PENDING}", ADDED),
] + [
    Rule(f"pending_{event.lower()}", "traces_pendingprovenance", event, NEW_SEALED, "provenance is computed once")
    for event in ("INSERT", "UPDATE")
]


class Migration(migrations.Migration):
    dependencies = [("traces", "0024_deletions")]
    operations = [
        migrations.CreateModel(
            name="PendingProvenance",
            fields=[
                (
                    "run",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="+",
                        serialize=False,
                        to="traces.run",
                    ),
                ),
            ],
        ),
        migrations.RunPython(dropping(BEFORE), creating(BEFORE)),
        migrations.RunPython(creating(AFTER), dropping(AFTER)),
    ]
