"""Statements on single rows as plain SQL: composing one takes Django longer than the database needs to run it."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.db import connection, models

from traces.storage.bulk import column_names, database_values

Columns = Mapping[str, object]


def insert(model: type[models.Model], columns: Columns) -> int:
    """Insert a row with a generated id, and return it."""
    names, values = _names_and_values(model, columns)
    places = ", ".join(["%s"] * len(names))
    statement = f"INSERT INTO {_table(model)} ({', '.join(names)}) VALUES ({places}) RETURNING id"
    row = _first_row(statement, values)
    assert row is not None  # an insert without conflicts returns its row
    return int(row[0])


def select(
    model: type[models.Model], names: Sequence[str], condition: Columns, *, lock: bool = False
) -> Sequence[Any] | None:
    """Columns of the row that meets a condition, as the driver returns them; None if there is none.

    `lock` keeps other transactions from writing the row. SQLite has one writer at a time anyway.
    """
    tests, keys = _names_and_values(model, condition)
    columns = ", ".join(column_names(model, names))
    ending = " FOR UPDATE" if lock and connection.features.has_select_for_update else ""
    return _first_row(f"SELECT {columns} FROM {_table(model)} WHERE {_all(tests)}{ending}", keys)


def update(model: type[models.Model], columns: Columns, condition: Columns) -> bool:
    """Write columns of the row that meets a condition; False if there is none."""
    changes, values = _names_and_values(model, columns)
    tests, keys = _names_and_values(model, condition)
    assignments = ", ".join(f"{change} = %s" for change in changes)
    with connection.cursor() as cursor:
        cursor.execute(f"UPDATE {_table(model)} SET {assignments} WHERE {_all(tests)}", [*values, *keys])
        return bool(cursor.rowcount)


def increase(model: type[models.Model], name: str, by: int, columns: Columns, condition: Columns) -> int | None:
    """Add to a number of the row that meets a condition, and write its `columns`; return the sum, or None."""
    [total] = column_names(model, (name,))
    changes, values = _names_and_values(model, columns)
    tests, keys = _names_and_values(model, condition)
    assignments = ", ".join([f"{total} = {total} + %s", *(f"{change} = %s" for change in changes)])
    statement = f"UPDATE {_table(model)} SET {assignments} WHERE {_all(tests)} RETURNING {total}"
    row = _first_row(statement, [by, *values, *keys])
    return None if row is None else int(row[0])


def _first_row(statement: str, values: Sequence[Any]) -> Sequence[Any] | None:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        row: Sequence[Any] | None = cursor.fetchone()
    return row


def _table(model: type[models.Model]) -> str:
    return connection.ops.quote_name(model._meta.db_table)


def _all(names: Sequence[str]) -> str:
    return " AND ".join(f"{name} = %s" for name in names)


def _names_and_values(model: type[models.Model], columns: Columns) -> tuple[Sequence[str], Sequence[Any]]:
    """Quoted names of columns, and their values for the driver."""
    names = tuple(columns)
    values = database_values(model, names, tuple(columns.values()))
    return column_names(model, names), values
