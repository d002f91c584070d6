"""Triggers: a sealed run and what belongs to it never changes, and neither do the bytes of an artifact.

Only a transaction that holds a retention pass (see `RetentionPass`) may delete. The conditions are the same
SQL on both databases; only the frame around them differs.
"""

from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps

NO_PASS = "NOT EXISTS (SELECT 1 FROM traces_retentionpass)"
SEALED = "EXISTS (SELECT 1 FROM traces_run WHERE id = {row}.run_id AND sealed_at IS NOT NULL)"
OLD_SEALED, NEW_SEALED = SEALED.format(row="OLD"), SEALED.format(row="NEW")

# name, table, event, when it is refused, what is said
RULES = [
    ("run_update", "traces_run", "UPDATE", "OLD.sealed_at IS NOT NULL", "a sealed run cannot be changed"),
    ("run_delete", "traces_run", "DELETE", f"OLD.sealed_at IS NOT NULL AND {NO_PASS}", "a sealed run cannot be deleted"),
    ("artifact_update", "traces_artifact", "UPDATE", "1 = 1", "an artifact cannot be changed"),
    ("artifact_delete", "traces_artifact", "DELETE", NO_PASS, "an artifact cannot be deleted"),
] + [
    (f"{one}_{event.lower()}", f"traces_{one}", event, when, f"{one}s of a sealed run cannot be {done}")
    for one in ("step", "edge")
    for event, when, done in (
        ("INSERT", NEW_SEALED, "added"),
        ("UPDATE", f"{OLD_SEALED} OR {NEW_SEALED}", "changed"),
        ("DELETE", f"{OLD_SEALED} AND {NO_PASS}", "deleted"),
    )
]


def _sqlite(name: str, table: str, event: str, when: str, message: str) -> str:
    return (
        f"CREATE TRIGGER immutable_{name} BEFORE {event} ON {table} FOR EACH ROW WHEN {when} "
        f"BEGIN SELECT RAISE(ABORT, '{message}'); END"
    )


def _postgresql(name: str, table: str, event: str, when: str, message: str) -> str:
    row = "OLD" if event == "DELETE" else "NEW"
    return (
        f"CREATE FUNCTION immutable_{name}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        f"IF {when} THEN RAISE EXCEPTION '{message}' USING ERRCODE = 'integrity_constraint_violation'; END IF; "
        f"RETURN {row}; END $$; "
        f"CREATE TRIGGER immutable_{name} BEFORE {event} ON {table} FOR EACH ROW EXECUTE FUNCTION immutable_{name}()"
    )


def create(apps: StateApps, editor: BaseDatabaseSchemaEditor) -> None:
    frame = _sqlite if editor.connection.vendor == "sqlite" else _postgresql
    for rule in RULES:
        editor.execute(frame(*rule), params=None)


def drop(apps: StateApps, editor: BaseDatabaseSchemaEditor) -> None:
    for name, table, *_ in RULES:
        if editor.connection.vendor == "sqlite":
            editor.execute(f"DROP TRIGGER immutable_{name}", params=None)
        else:
            editor.execute(f"DROP FUNCTION immutable_{name}() CASCADE", params=None)


class Migration(migrations.Migration):
    dependencies = [("traces", "0001_ground")]
    operations = [migrations.RunPython(create, drop)]
