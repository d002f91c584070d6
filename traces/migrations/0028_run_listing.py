"""The listing of runs: what the runs list filters and sorts by, in one narrow table that triggers write."""

import django.db.models.deletion
from django.db import migrations, models


COLUMNS = (
    "app, environment, source, status, started_at, cost_usd, has_errors, has_exact, has_cached, has_simulated, has_live"
)
FACTS = (
    "{run}.app, {run}.environment, {run}.source, {run}.status, {run}.started_at, {run}.cost_usd, {run}.error_count > 0, "
    "{run}.exact_count > 0, {run}.cached_count > 0, {run}.simulated_count > 0, "
    "{run}.step_count > {run}.exact_count + {run}.cached_count + {run}.simulated_count"
)
LISTING = f"""
INSERT INTO traces_runlisting (run_id, {COLUMNS}, outcome, is_deleted, is_superseded)
SELECT run.id, {FACTS.format(run="run")}, {{outcome}},
    EXISTS (SELECT 1 FROM traces_deletion AS gone WHERE gone.run_id = run.id),
    EXISTS (SELECT 1 FROM traces_run AS next WHERE next.supersedes_id = run.id)
"""
FILL = LISTING.format(outcome="verdict.outcome") + (
    "FROM traces_run AS run JOIN traces_runoutcome AS verdict ON verdict.run_id = run.id"
)
# Columns of a run that its listing repeats, in the order of a table's definition.
SOURCES = (
    "app, environment, source, status, started_at, cost_usd, step_count, error_count, exact_count, cached_count, "
    "simulated_count"
)
HIDE = "UPDATE traces_runlisting SET {column} = TRUE WHERE run_id = NEW.{run}"
SHOW = "UPDATE traces_runlisting SET {column} = FALSE WHERE run_id = OLD.{run}"
# Name, event, condition, statements. Whatever happens to a run happens to its listing in the same transaction.
TRIGGERS = (
    (
        "outcome_new",
        "AFTER INSERT ON traces_runoutcome",
        "",
        LISTING.format(outcome="NEW.outcome")
        + "FROM traces_run AS run WHERE run.id = NEW.run_id "
        + "ON CONFLICT (run_id) DO UPDATE SET outcome = excluded.outcome",
    ),
    (
        "outcome",
        "AFTER UPDATE OF outcome ON traces_runoutcome",
        "WHEN (OLD.outcome <> NEW.outcome)",
        "UPDATE traces_runlisting SET outcome = NEW.outcome WHERE run_id = NEW.run_id",
    ),
    (
        "run",
        f"AFTER UPDATE OF {SOURCES} ON traces_run",
        "",
        f"UPDATE traces_runlisting SET ({COLUMNS}) = ROW({FACTS.format(run='NEW')}) WHERE run_id = NEW.id",
    ),
    (
        "revision_new",
        "AFTER INSERT ON traces_run",
        "WHEN (NEW.supersedes_id IS NOT NULL)",
        HIDE.format(column="is_superseded", run="supersedes_id"),
    ),
    (
        "run_gone",
        "AFTER DELETE ON traces_run",
        "",
        f"DELETE FROM traces_runlisting WHERE run_id = OLD.id; {SHOW.format(column='is_superseded', run='supersedes_id')}",
    ),
    ("deletion_new", "AFTER INSERT ON traces_deletion", "", HIDE.format(column="is_deleted", run="run_id")),
    ("deletion_gone", "AFTER DELETE ON traces_deletion", "", SHOW.format(column="is_deleted", run="run_id")),
)


def create_triggers(apps, editor):
    for name, event, condition, statements in TRIGGERS:
        start = f"CREATE TRIGGER listing_{name} {event} FOR EACH ROW {condition}"
        if editor.connection.vendor == "sqlite":
            editor.execute(f"{start} BEGIN {statements.replace('= ROW(', '= (')}; END", params=None)
        else:
            function = f"CREATE FUNCTION listing_{name}() RETURNS trigger LANGUAGE plpgsql AS"
            editor.execute(f"{function} $$ BEGIN {statements}; RETURN NULL; END $$", params=None)
            editor.execute(f"{start} EXECUTE FUNCTION listing_{name}()", params=None)


def drop_triggers(apps, editor):
    for name, *_ in TRIGGERS:
        if editor.connection.vendor == "sqlite":
            editor.execute(f"DROP TRIGGER listing_{name}", params=None)
        else:
            editor.execute(f"DROP FUNCTION listing_{name}() CASCADE", params=None)


class Migration(migrations.Migration):

    dependencies = [
        ('traces', '0026_usage_and_search'),
    ]

    operations = [
        migrations.CreateModel(
            name='RunListing',
            fields=[
                ('run', models.OneToOneField(db_constraint=False, editable=False, on_delete=django.db.models.deletion.DO_NOTHING, primary_key=True, related_name='listing', serialize=False, to='traces.run')),
                ('app', models.CharField(max_length=120)),
                ('environment', models.CharField(blank=True, max_length=60)),
                ('source', models.CharField(choices=[('live', 'live'), ('import', 'import'), ('replay', 'replay'), ('probe', 'probe'), ('bundle', 'bundle')], max_length=8)),
                ('status', models.CharField(choices=[('running', 'running'), ('completed', 'completed'), ('failed', 'failed'), ('partial', 'partial')], max_length=10)),
                ('outcome', models.CharField(choices=[('passed', 'passed'), ('failed', 'failed'), ('unverified', 'unverified'), ('unknown', 'unknown')], max_length=10)),
                ('started_at', models.DateTimeField(null=True)),
                ('cost_usd', models.DecimalField(decimal_places=8, max_digits=14, null=True)),
                ('has_errors', models.BooleanField()),
                ('has_exact', models.BooleanField()),
                ('has_cached', models.BooleanField()),
                ('has_simulated', models.BooleanField()),
                ('has_live', models.BooleanField()),
                ('is_deleted', models.BooleanField()),
                ('is_superseded', models.BooleanField(help_text='there is a later revision')),
            ],
        ),
        migrations.RemoveIndex(
            model_name='run',
            name='run_facets',
        ),
        migrations.RemoveIndex(
            model_name='run',
            name='run_listed',
        ),
        migrations.RemoveIndex(
            model_name='run',
            name='run_failures',
        ),
        migrations.RemoveIndex(
            model_name='runoutcome',
            name='run_outcome_listed',
        ),
        migrations.RemoveField(model_name='runoutcome', name='is_probe'),
        migrations.RunSQL(FILL, migrations.RunSQL.noop),
        migrations.AddIndex(
            model_name='runlisting',
            index=models.Index(condition=models.Q(('is_deleted', False), ('is_superseded', False)), fields=['run', 'outcome', 'source', 'app', 'environment', 'status', 'started_at', 'cost_usd', 'has_exact', 'has_cached', 'has_simulated', 'has_live'], name='listing_newest'),
        ),
        migrations.AddIndex(
            model_name='runlisting',
            index=models.Index(condition=models.Q(('is_deleted', False), ('is_superseded', False)), fields=['outcome', 'run', 'source', 'app', 'environment', 'status', 'started_at', 'cost_usd', 'has_exact', 'has_cached', 'has_simulated', 'has_live'], name='listing_outcomes'),
        ),
        migrations.AddIndex(
            model_name='runlisting',
            index=models.Index(condition=models.Q(('is_deleted', False), ('is_superseded', False), ('has_errors', True)), fields=['run'], name='listing_failures'),
        ),
        migrations.RunPython(create_triggers, drop_triggers),
    ]
