"""Deletions, marks, retention policies and the audit log; and the only changes that a deletion may make to sealed runs."""

import django.db.models.deletion
import traces.core.ids
from django.db import migrations, models


from traces.storage.immutability_triggers import NO_PASS, Rule, creating, dropping

# With a pass, the texts that a fork copied from a deleted run may be blanked, and nothing else.
_SAME_RUN = "OR ".join(
    f"NEW.{name} <> OLD.{name} "
    for name in ("id", "external_id", "app", "revision", "content_digest", "status", "source", "step_count")
)
_SAME_STEP = "OR ".join(
    f"NEW.{name} <> OLD.{name} "
    for name in ("id", "run_id", "sequence_no", "type", "status", "label", "reason", "input_ref", "output_ref")
)
_NO_LONGER_SEALED = "NEW.sealed_at IS NULL OR NEW.sealed_at <> OLD.sealed_at"
_SEALED = "EXISTS (SELECT 1 FROM traces_run WHERE id = {row}.run_id AND sealed_at IS NOT NULL)"
_STEP_OF_SEALED = f"({_SEALED.format(row='OLD')} OR {_SEALED.format(row='NEW')})"
_TEXTS = "NEW.summary <> '' OR NEW.error <> '' OR NEW.unexplained IS NOT NULL"

BEFORE = [
    Rule("run_update", "traces_run", "UPDATE", "OLD.sealed_at IS NOT NULL", "a sealed run cannot be changed"),
    Rule("step_update", "traces_step", "UPDATE", _STEP_OF_SEALED, "steps of a sealed run cannot be changed"),
]
AFTER = [
    Rule(
        "run_update",
        "traces_run",
        "UPDATE",
        f"OLD.sealed_at IS NOT NULL AND ({NO_PASS} OR NEW.search <> '' OR {_SAME_RUN}OR {_NO_LONGER_SEALED})",
        "a sealed run cannot be changed",
    ),
    Rule(
        "step_update",
        "traces_step",
        "UPDATE",
        f"{_STEP_OF_SEALED} AND ({NO_PASS} OR {_TEXTS} OR {_SAME_STEP})",
        "steps of a sealed run cannot be changed",
    ),
]
AUDIT = [
    Rule("audit_update", "traces_auditentry", "UPDATE", "1 = 1", "an audit entry cannot be changed"),
    Rule("audit_delete", "traces_auditentry", "DELETE", NO_PASS, "an audit entry cannot be deleted"),
]


class Migration(migrations.Migration):

    dependencies = [
        ('traces', '0023_artifact_owners'),
    ]

    operations = [
        migrations.CreateModel(
            name='LooseFile',
            fields=[
                ('path', models.CharField(max_length=100, primary_key=True, serialize=False)),
            ],
        ),
        migrations.CreateModel(
            name='RunMark',
            fields=[
                ('run', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='mark', serialize=False, to='traces.run')),
                ('is_pinned', models.BooleanField(default=False)),
                ('is_held', models.BooleanField(default=False, help_text='under legal hold')),
                ('by', models.CharField(blank=True, max_length=120)),
                ('at', models.DateTimeField(auto_now=True)),
            ],
        ),
        migrations.CreateModel(
            name='AuditEntry',
            fields=[
                ('id', models.UUIDField(default=traces.core.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('at', models.DateTimeField(auto_now_add=True)),
                ('by', models.CharField(blank=True, help_text='empty: the server itself', max_length=120)),
                ('action', models.CharField(max_length=40)),
                ('subject', models.CharField(help_text='id of the object', max_length=200)),
                ('detail', models.JSONField(default=dict)),
            ],
            options={
                'indexes': [models.Index(fields=['subject'], name='audit_subject')],
            },
        ),
        migrations.CreateModel(
            name='Deletion',
            fields=[
                ('run', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='deletion', serialize=False, to='traces.run')),
                ('by', models.CharField(blank=True, max_length=120)),
                ('reason', models.CharField(blank=True, help_text='the policy that deletes it; empty: a request', max_length=200)),
                ('includes_citations', models.BooleanField(default=False, help_text='delete it although other objects cite it')),
                ('at', models.DateTimeField()),
                ('due_at', models.DateTimeField(help_text='until then it can be restored')),
                ('removed_at', models.DateTimeField(help_text='when its contents were removed', null=True)),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('removed_at__isnull', True)), fields=['due_at'], name='deletion_due')],
            },
        ),
        migrations.CreateModel(
            name='RetentionPolicy',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('app', models.CharField(blank=True, help_text='empty: all apps', max_length=120)),
                ('tag', models.CharField(blank=True, help_text='empty: runs with any tags or none', max_length=100)),
                ('days', models.PositiveIntegerField(help_text='null: forever', null=True)),
                ('keep_pinned', models.BooleanField(default=True)),
                ('legal_hold', models.BooleanField(default=False, help_text='these runs cannot be deleted at all')),
                ('by', models.CharField(blank=True, max_length=120)),
                ('at', models.DateTimeField(auto_now=True)),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('app', 'tag'), name='retention_policy_identity')],
            },
        ),
        migrations.RunPython(dropping(BEFORE), creating(BEFORE)),
        migrations.RunPython(creating(AFTER), dropping(AFTER)),
        migrations.RunPython(creating(AUDIT), dropping(AUDIT)),
    ]
