"""Usage totals and the search index, filled from the runs that are stored already.

Full-text indexes are out of Django's reach: FTS5 on SQLite, a GIN index on PostgreSQL.
"""

import django.db.models.deletion
import traces.models.search
from django.db import migrations, models

COUNTED = (
    "run.sealed_at IS NOT NULL AND NOT EXISTS (SELECT 1 FROM traces_deletion AS gone WHERE gone.run_id = run.id) "
    "AND NOT EXISTS "
    "(SELECT 1 FROM traces_run AS next WHERE next.supersedes_id = run.id AND next.sealed_at IS NOT NULL)"
)
MADE = "step.label = 'live'"
TOTALS = f"""
INSERT INTO traces_usagetotal (app, day, source, type, provider, name, calls, reused_calls, failed_calls, tokens_in,
    tokens_out, tokens_cached, cost, unpriced_calls, newest_run)
SELECT run.app, {{day}}, run.source, step.type,
    CASE WHEN step.type = 'model' THEN step.provider ELSE '' END,
    CASE WHEN step.type = 'model' THEN step.model WHEN step.tool_name <> '' THEN step.tool_name ELSE step.name END,
    SUM(CASE WHEN {MADE} THEN 1 ELSE 0 END),
    SUM(CASE WHEN {MADE} THEN 0 ELSE 1 END),
    SUM(CASE WHEN {MADE} AND step.status IN ('error', 'timeout') THEN 1 ELSE 0 END),
    SUM(CASE WHEN {MADE} THEN COALESCE(step.tokens_in, 0) ELSE 0 END),
    SUM(CASE WHEN {MADE} THEN COALESCE(step.tokens_out, 0) ELSE 0 END),
    SUM(CASE WHEN {MADE} THEN COALESCE(step.tokens_cached, 0) ELSE 0 END),
    SUM(CASE WHEN {MADE} THEN CAST(ROUND(COALESCE(step.cost_usd, 0) * 100000000) AS bigint) ELSE 0 END),
    SUM(CASE WHEN {MADE} AND step.type = 'model' AND step.cost_usd IS NULL THEN 1 ELSE 0 END),
    MAX(CAST(step.run_id AS char(36)))
FROM traces_run AS run JOIN traces_step AS step ON step.run_id = run.id
WHERE {COUNTED} AND step.type IN ('model', 'tool') GROUP BY 1, 2, 3, 4, 5, 6
"""
QUEUE = f"INSERT INTO traces_unindexedrun (run_id) SELECT run.id FROM traces_run AS run WHERE {COUNTED} AND run.source <> 'probe'"
# ASCII letters and digits, and all other characters: the words are cut before, so that both databases have the same.
FTS5 = (
    "CREATE VIRTUAL TABLE traces_search_words USING fts5(words, content='', detail=none, columnsize=0, tokenize='ascii')"
)
GIN = "CREATE INDEX traces_search_words ON traces_searchdocument USING gin (words)"


def fill(apps, editor):
    if editor.connection.vendor == "sqlite":
        day = "substr(COALESCE(run.started_at, run.created_at), 1, 10)"
    else:
        day = "CAST(COALESCE(run.started_at, run.created_at) AT TIME ZONE 'UTC' AS date)"
    editor.execute(TOTALS.format(day=day), params=None)
    editor.execute(QUEUE, params=None)


def create_index(apps, editor):
    editor.execute(FTS5 if editor.connection.vendor == "sqlite" else GIN, params=None)


def drop_index(apps, editor):
    kind = "TABLE" if editor.connection.vendor == "sqlite" else "INDEX"
    editor.execute(f"DROP {kind} traces_search_words", params=None)


class Migration(migrations.Migration):

    dependencies = [
        ('traces', '0025_pending_provenance'),
    ]

    operations = [
        migrations.CreateModel(
            name='SearchDocument',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('first_step', models.PositiveIntegerField(help_text="sequence_no of the section's first step")),
                ('words', traces.models.search.WordsField()),
            ],
        ),
        migrations.CreateModel(
            name='UnindexedRun',
            fields=[
                ('run', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='+', serialize=False, to='traces.run')),
                ('leased_until', models.DateTimeField(help_text='a worker indexes it until then', null=True)),
            ],
        ),
        migrations.CreateModel(
            name='UsageTotal',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('app', models.CharField(max_length=120)),
                ('day', models.DateField(help_text='UTC')),
                ('source', models.CharField(choices=[('live', 'live'), ('import', 'import'), ('replay', 'replay'), ('probe', 'probe'), ('bundle', 'bundle')], max_length=8)),
                ('type', models.CharField(choices=[('prompt', 'prompt'), ('retrieval', 'retrieval'), ('tool', 'tool'), ('model', 'model'), ('agent', 'agent'), ('turn', 'turn'), ('planner', 'planner'), ('validator', 'validator'), ('safety', 'safety'), ('output', 'output')], max_length=10)),
                ('provider', models.CharField(blank=True, max_length=80)),
                ('name', models.CharField(blank=True, help_text='of the model or the tool', max_length=300)),
                ('calls', models.BigIntegerField(help_text='calls that were made, rather than reused from a recording')),
                ('reused_calls', models.BigIntegerField()),
                ('failed_calls', models.BigIntegerField()),
                ('tokens_in', models.BigIntegerField(help_text='of the calls that were made')),
                ('tokens_out', models.BigIntegerField()),
                ('tokens_cached', models.BigIntegerField()),
                ('cost', models.BigIntegerField(help_text='in 1e-8 US dollars: integers add up exactly')),
                ('unpriced_calls', models.BigIntegerField(help_text='calls without a known cost')),
                ('newest_run', models.CharField(blank=True, help_text='the newest run with a call; it may be deleted', max_length=36)),
            ],
        ),
        migrations.RemoveIndex(
            model_name='step',
            name='step_tools',
        ),
        migrations.AddIndex(
            model_name='step',
            index=models.Index(condition=models.Q(('status__in', ['error', 'timeout'])), fields=['run', '-sequence_no'], name='step_failed'),
        ),
        migrations.AddField(
            model_name='searchdocument',
            name='run',
            field=models.ForeignKey(on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='traces.run'),
        ),
        migrations.AddIndex(
            model_name='usagetotal',
            index=models.Index(fields=['day', 'app'], name='usage_total_day'),
        ),
        migrations.AddIndex(
            model_name="run",
            index=models.Index(
                fields=[
                    "id",
                    "app",
                    "environment",
                    "status",
                    "source",
                    "started_at",
                    "cost_usd",
                    "step_count",
                    "exact_count",
                    "cached_count",
                    "simulated_count",
                ],
                name="run_listed",
            ),
        ),
        migrations.AddIndex(
            model_name="run",
            index=models.Index(
                condition=models.Q(("error_count__gt", 0)), fields=["id", "app"], name="run_failures"
            ),
        ),
        migrations.AddIndex(
            model_name="run",
            index=models.Index(condition=models.Q(("sealed_at__isnull", True)), fields=["id"], name="run_open"),
        ),
        migrations.RunPython(create_index, drop_index),
        migrations.RunPython(fill, migrations.RunPython.noop),
    ]
