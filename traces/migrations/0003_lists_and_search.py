"""The listing of runs, one narrow table that triggers write (ADR 12), and the full-text index of their payloads.

Full-text indexes are out of Django's reach: FTS5 on SQLite, a GIN index on PostgreSQL.
"""

from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps

COLUMNS = (
    "app, environment, source, status, started_at, cost_usd, has_errors, has_exact, has_cached, has_simulated, "
    "has_live, duration_ms, tokens, steps"
)
FACTS = (
    "{run}.app, {run}.environment, {run}.source, {run}.status, {run}.started_at, {run}.cost_usd, {run}.error_count > 0, "
    "{run}.exact_count > 0, {run}.cached_count > 0, {run}.simulated_count > 0, "
    "{run}.step_count > {run}.exact_count + {run}.cached_count + {run}.simulated_count, "
    "{run}.duration_ms, NULLIF({run}.tokens_in + {run}.tokens_out, 0), {run}.step_count"
)
SORT_NAME = "substr(lower(COALESCE(NULLIF(caption.title, ''), run.name)), 1, 60)"
# The root of a fork is that of its source, which is listed before it; a source that is no fork is the root.
LISTING = f"""
INSERT INTO traces_runlisting (run_id, {COLUMNS}, root, sort_name, outcome, is_deleted, is_superseded)
SELECT run.id, {FACTS.format(run="run")}, COALESCE(origin.root, run.source_run_id), {SORT_NAME}, NEW.outcome,
    EXISTS (SELECT 1 FROM traces_deletion AS gone WHERE gone.run_id = run.id),
    EXISTS (SELECT 1 FROM traces_run AS next WHERE next.supersedes_id = run.id)
FROM traces_run AS run
LEFT JOIN traces_runlisting AS origin ON origin.run_id = run.source_run_id
LEFT JOIN traces_runcaption AS caption ON caption.run_id = run.id
WHERE run.id = NEW.run_id
ON CONFLICT (run_id) DO UPDATE SET outcome = excluded.outcome
"""
# Columns of a run that its listing repeats, in the order of a table's definition.
SOURCES = (
    "app, environment, source, status, started_at, step_count, error_count, tokens_in, tokens_out, cost_usd, "
    "duration_ms, exact_count, cached_count, simulated_count"
)
HIDE = "UPDATE traces_runlisting SET {column} = TRUE WHERE run_id = NEW.{run}"
SHOW = "UPDATE traces_runlisting SET {column} = FALSE WHERE run_id = OLD.{run}"
# The second statement sees what a transaction committed for which the first one waited.
RENAME = f"""
PERFORM 1 FROM traces_runlisting WHERE run_id = {{run}} FOR UPDATE;
UPDATE traces_runlisting SET sort_name = (
    SELECT {SORT_NAME} FROM traces_run AS run LEFT JOIN traces_runcaption AS caption ON caption.run_id = run.id
    WHERE run.id = {{run}})
WHERE run_id = {{run}}
"""
# Name, event, condition, statements. Whatever happens to a run happens to its listing in the same transaction.
TRIGGERS = (
    ("outcome_new", "AFTER INSERT ON traces_runoutcome", "", LISTING),
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
        "run_name",
        "AFTER UPDATE OF name ON traces_run",
        "WHEN (OLD.name <> NEW.name)",
        RENAME.format(run="NEW.id"),
    ),
    ("caption_new", "AFTER INSERT ON traces_runcaption", "WHEN (NEW.title <> '')", RENAME.format(run="NEW.run_id")),
    ("caption", "AFTER UPDATE OF title ON traces_runcaption", "", RENAME.format(run="NEW.run_id")),
    ("caption_gone", "AFTER DELETE ON traces_runcaption", "WHEN (OLD.title <> '')", RENAME.format(run="OLD.run_id")),
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
# ASCII letters and digits, and all other characters: the words are cut before, so that both databases have the same.
FTS5 = (
    "CREATE VIRTUAL TABLE traces_search_words USING fts5(words, content='', detail=none, columnsize=0, tokenize='ascii')"
)
GIN = "CREATE INDEX traces_search_words ON traces_searchdocument USING gin (words)"


def create_triggers(apps: StateApps, editor: BaseDatabaseSchemaEditor) -> None:
    for name, event, condition, statements in TRIGGERS:
        start = f"CREATE TRIGGER listing_{name} {event} FOR EACH ROW {condition}"
        if editor.connection.vendor == "sqlite":
            # One transaction writes at a time.
            statements = "\n".join(line for line in statements.splitlines() if not line.startswith("PERFORM"))
            editor.execute(f"{start} BEGIN {statements.replace('= ROW(', '= (')}; END", params=None)
        else:
            function = f"CREATE FUNCTION listing_{name}() RETURNS trigger LANGUAGE plpgsql AS"
            editor.execute(f"{function} $$ BEGIN {statements}; RETURN NULL; END $$", params=None)
            editor.execute(f"{start} EXECUTE FUNCTION listing_{name}()", params=None)


def drop_triggers(apps: StateApps, editor: BaseDatabaseSchemaEditor) -> None:
    for name, *_ in TRIGGERS:
        if editor.connection.vendor == "sqlite":
            editor.execute(f"DROP TRIGGER listing_{name}", params=None)
        else:
            editor.execute(f"DROP FUNCTION listing_{name}() CASCADE", params=None)


def create_index(apps: StateApps, editor: BaseDatabaseSchemaEditor) -> None:
    editor.execute(FTS5 if editor.connection.vendor == "sqlite" else GIN, params=None)


def drop_index(apps: StateApps, editor: BaseDatabaseSchemaEditor) -> None:
    kind = "TABLE" if editor.connection.vendor == "sqlite" else "INDEX"
    editor.execute(f"DROP {kind} traces_search_words", params=None)


class Migration(migrations.Migration):
    dependencies = [("traces", "0002_immutability_triggers")]
    operations = [
        migrations.RunPython(create_triggers, drop_triggers),
        migrations.RunPython(create_index, drop_index),
    ]
