"""Triggers that make rows immutable, with the same rules on SQLite and PostgreSQL. Used by migrations.

A condition is plain SQL over OLD and NEW; only the statement around it differs between the databases.
"""

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps

NO_PASS: Final = "NOT EXISTS (SELECT 1 FROM traces_retentionpass)"


class Rule(NamedTuple):
    """Rejects an event on a table with a message where the condition is true."""

    name: str
    table: str
    event: str
    condition: str
    message: str


Operation = Callable[[StateApps, BaseDatabaseSchemaEditor], None]


def creating(rules: Sequence[Rule]) -> Operation:
    """Return an operation for `RunPython` that creates the triggers."""

    def create(apps: StateApps, editor: BaseDatabaseSchemaEditor) -> None:
        frame = _sqlite if editor.connection.vendor == "sqlite" else _postgresql
        for rule in rules:
            editor.execute(frame(rule), params=None)

    return create


def dropping(rules: Sequence[Rule]) -> Operation:
    """Return an operation for `RunPython` that drops the triggers."""

    def drop(apps: StateApps, editor: BaseDatabaseSchemaEditor) -> None:
        for rule in rules:
            if editor.connection.vendor == "sqlite":
                editor.execute(f"DROP TRIGGER immutable_{rule.name}", params=None)
            else:
                editor.execute(f"DROP FUNCTION immutable_{rule.name}() CASCADE", params=None)

    return drop


def _sqlite(rule: Rule) -> str:
    # To show a row to a trigger before it is inserted takes SQLite half as long as to insert it.
    moment = "AFTER" if rule.event == "INSERT" else "BEFORE"
    return (
        f"CREATE TRIGGER immutable_{rule.name} {moment} {rule.event} ON {rule.table} FOR EACH ROW "
        f"WHEN {rule.condition} BEGIN SELECT RAISE(ABORT, '{rule.message}'); END"
    )


def _postgresql(rule: Rule) -> str:
    row = "OLD" if rule.event == "DELETE" else "NEW"
    return (
        f"CREATE FUNCTION immutable_{rule.name}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        f"IF {rule.condition} THEN RAISE EXCEPTION '{rule.message}' USING ERRCODE = 'integrity_constraint_violation'; "
        f"END IF; RETURN {row}; END $$; "
        f"CREATE TRIGGER immutable_{rule.name} BEFORE {rule.event} ON {rule.table} FOR EACH ROW "
        f"EXECUTE FUNCTION immutable_{rule.name}()"
    )
