"""Bulk reads, inserts and updates: executemany on SQLite, COPY on PostgreSQL; five to eight times as fast as the ORM.

Rows are consumed in batches, so that those of a long run are never in memory together. They may query the database
themselves, because no statement is open while a batch is read.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from functools import lru_cache
from itertools import chain, islice
from typing import Any, Final
from uuid import UUID

import orjson
from django.db import connection, models
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models.sql.compiler import SQLCompiler
from pydantic import TypeAdapter

from traces.core.storable_text import storable
from traces.models.digests import DigestField, digest_key, digest_keys

# Below every database's limit of variables per statement, and few enough to plan quickly.
CHUNK: Final = 900
# Fewer rows are not worth a COPY.
_COPY_FROM: Final = 20
_UUIDS: Final = TypeAdapter(list[UUID | None])
_UTC: Final = frozenset({UTC})
# Rows per executemany or COPY.
_BATCH: Final = 1_000
Row = Sequence[Any]


def chunks(values: Iterable[Any], size: int = CHUNK) -> Iterator[list[Any]]:
    """Yield `values` in lists of at most `size`."""
    items = list(values)
    for start in range(0, len(items), size):
        yield items[start : start + size]


def select(model: type[models.Model], columns: Sequence[str], ending: str, values: Sequence[Any]) -> list[Row]:
    """Return rows as the driver reads them, for a statement that ends with `ending`: conditions and an order.

    A replay or a diff reads all steps of a run: the conversions of the ORM would take longer than the query.
    """
    names = ", ".join(column_names(model, columns))
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {names} FROM {connection.ops.quote_name(model._meta.db_table)} {ending}", values)
        rows: list[Row] = cursor.fetchall()
    return rows


def uuids_of(values: Sequence[UUID | str | None]) -> list[UUID | None]:
    """Return ids that were read by `select`: SQLite stores text."""
    # A sixth of the time of `UUID(value)`.
    return _UUIDS.validate_python(values)


def rows_of(columns: models.QuerySet[Any, Any]) -> list[Row]:
    """Return the rows of a `values_list` as the driver reads them, without the conversions of the ORM."""
    statement, values = columns.query.sql_with_params()
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        rows: list[Row] = cursor.fetchall()
    return rows


def batches_of(columns: models.QuerySet[Any, Any], size: int) -> Iterator[list[Row]]:
    """Yield the rows of a `values_list` in batches, as the driver reads them."""
    statement, values = columns.query.sql_with_params()
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        while rows := cursor.fetchmany(size):
            yield rows


def uuid_of(value: UUID | str) -> UUID:
    """Return an id as the driver reads it: SQLite stores text."""
    # Half the time of `UUID(value)`, which also reads other notations.
    return value if isinstance(value, UUID) else UUID(int=int(value, 16))


def time_of(value: datetime | None) -> datetime | None:
    """Return a time as the driver reads it: SQLite stores UTC without the offset."""
    return value if value is None or value.tzinfo is not None else value.replace(tzinfo=UTC)


def json_of(value: str | None) -> Any:
    """Return a JSON value as the driver reads it: as text."""
    return None if value is None else orjson.loads(value)


class _IdCondition(models.Func):
    output_field = models.BooleanField()

    def as_sqlite(self, compiler: SQLCompiler, connection: BaseDatabaseWrapper, **_: Any) -> Any:
        return self.as_sql(
            compiler,
            connection,
            template="%(expressions)s))",
            arg_joiner=" IN (SELECT value FROM json_each(",
        )

    def as_postgresql(self, compiler: SQLCompiler, connection: BaseDatabaseWrapper, **_: Any) -> Any:
        return self.as_sql(compiler, connection, template="%(expressions)s AS uuid[]))", arg_joiner=" = ANY(CAST(")


def id_condition(column: str, ids: Iterable[UUID | None]) -> models.Func:
    """Return the condition that a column has one of these ids, of which there may be many.

    The driver gets them as one value: Django takes dozens of calls to prepare each id of an `__in`.
    """
    texts = orjson.dumps([*ids]).decode()
    if connection.vendor == "sqlite":
        return _IdCondition(models.F(column), models.Value(texts.replace("-", "")))
    return _IdCondition(models.F(column), models.Value("{" + texts[1:-1] + "}"))


def insert(
    model: type[models.Model], columns: Sequence[str], rows: Iterable[Row], *, ignore_conflicts: bool = False
) -> int:
    """Insert `rows`, with values in the order of `columns` (field names), and return how many were inserted.

    Atomic only inside a transaction.
    """
    remaining = iter(rows)
    first = list(islice(remaining, _COPY_FROM))
    if not first:
        return 0
    all_rows = chain(first, remaining)
    if connection.vendor == "postgresql" and len(first) == _COPY_FROM:
        return _copy(model, columns, all_rows, ignore_conflicts=ignore_conflicts)
    return _execute_many(model, columns, all_rows, ignore_conflicts=ignore_conflicts)


def insert_for_ids(model: type[models.Model], columns: Sequence[str], rows: Sequence[Row]) -> list[int]:
    """Insert a few rows with one statement, and return their generated ids, in the order of the rows."""
    converters = _converters(model, columns)
    values = [value for row in rows for value in _convert(row, converters)]
    places = ", ".join([f"({', '.join(['%s'] * len(columns))})"] * len(rows))
    table = connection.ops.quote_name(model._meta.db_table)
    with connection.cursor() as cursor:
        names = ", ".join(column_names(model, columns))
        cursor.execute(f"INSERT INTO {table} ({names}) VALUES {places} RETURNING id", values)
        # Both databases give ascending ids in the order of the rows, but need not return them in that order.
        return sorted(id for (id,) in cursor.fetchall())


def update(model: type[models.Model], columns: Sequence[str], rows: Iterable[Row]) -> None:
    """Update rows by id, with the values of `columns` and then the id. Atomic only inside a transaction."""
    names = (*columns, "id")
    *targets, key = (f"{name} = %s" for name in column_names(model, names))
    table = connection.ops.quote_name(model._meta.db_table)
    converters = _converters(model, names)
    values = [_convert(row, converters) for row in rows]
    if values:
        with connection.cursor() as cursor:
            cursor.executemany(f"UPDATE {table} SET {', '.join(targets)} WHERE {key}", values)


def database_values(model: type[models.Model], columns: Sequence[str], row: Row) -> Row:
    """Convert a row for the driver; for a few values this takes a fifth of the time of `get_db_prep_save`."""
    return _convert(row, _converters(model, columns))


def column_names(model: type[models.Model], columns: Iterable[str]) -> Sequence[str]:
    """The quoted database columns of fields."""
    return _quoted_names(model, tuple(columns), connection.vendor)


@lru_cache
def _quoted_names(model: type[models.Model], columns: tuple[str, ...], _vendor: str) -> Sequence[str]:
    return [connection.ops.quote_name(str(_field(model, name).column)) for name in columns]


def _field(model: type[models.Model], name: str) -> "models.Field[Any, Any]":
    field = model._meta.get_field(name)
    if not isinstance(field, models.Field):
        raise TypeError(f"{model.__name__}.{name} is not a column")
    return field


def _execute_many(
    model: type[models.Model], columns: Sequence[str], rows: Iterable[Row], *, ignore_conflicts: bool
) -> int:
    names = ", ".join(column_names(model, columns))
    places = ", ".join(["%s"] * len(columns))
    table = connection.ops.quote_name(model._meta.db_table)
    ending = " ON CONFLICT DO NOTHING" if ignore_conflicts else ""
    count = 0
    with connection.cursor() as cursor:
        # In batches, because Django reads the first row through `itertools.tee`, which retains all rows.
        for batch in _batches(model, columns, rows):
            cursor.executemany(f"INSERT INTO {table} ({names}) VALUES ({places}){ending}", batch)
            count += cursor.rowcount
    return count


def _copy(model: type[models.Model], columns: Sequence[str], rows: Iterable[Row], *, ignore_conflicts: bool) -> int:
    names = ", ".join(column_names(model, columns))
    table = target = connection.ops.quote_name(model._meta.db_table)
    with connection.cursor() as cursor:
        if ignore_conflicts:
            # COPY has no ON CONFLICT, so the rows go through a temporary table.
            target = connection.ops.quote_name(f"staged_{model._meta.db_table}")
            cursor.execute(f"CREATE TEMP TABLE IF NOT EXISTS {target} (LIKE {table})")
        count = 0
        # Batches are read before their COPY begins: a query within it would wait forever for the COPY to end.
        for batch in _batches(model, columns, rows):
            with cursor.cursor.copy(f"COPY {target} ({names}) FROM STDIN") as copy:
                for row in batch:
                    copy.write_row(row)
            count += cursor.rowcount
        if ignore_conflicts:
            cursor.execute(f"INSERT INTO {table} ({names}) SELECT {names} FROM {target} ON CONFLICT DO NOTHING")
            count = cursor.rowcount
            cursor.execute(f"TRUNCATE {target}")
    return count


def _batches(model: type[models.Model], columns: Sequence[str], rows: Iterable[Row]) -> Iterator[list[Row]]:
    """Yield rows in batches, converted for the driver."""
    converters = _converters(model, columns)
    remaining = iter(rows)
    while batch := list(islice(remaining, _BATCH)):
        # By column: half the time of row by row.
        values: list[Sequence[Any]] = [*zip(*batch, strict=True)]
        for position, convert in converters.items():
            values[position] = _convert_column(values[position], convert)
        yield list(zip(*values, strict=True)) if converters else batch


def _convert_column(column: Sequence[Any], convert: Callable[[Any], Any]) -> Sequence[Any]:
    """Convert the values of a column."""
    if convert is digest_key and None not in column:
        return digest_keys(column)
    if convert is _sqlite_uuid:
        hexadecimals: list[str | None] = orjson.loads(orjson.dumps(column).replace(b"-", b""))
        return hexadecimals
    if convert is _sqlite_time and {value.tzinfo for value in column if value is not None} <= _UTC:
        # A fifth of the time of one by one, as for ids.
        text = orjson.dumps(column).replace(b"T", b" ").replace(b"+00:00", b"")
        times: list[str | None] = orjson.loads(text)
        return times
    return [None if value is None else convert(value) for value in column]


def _converters(model: type[models.Model], columns: Sequence[str]) -> dict[int, Callable[[Any], Any]]:
    """Return by position how to convert values for the driver; most columns need no conversion."""
    return _converters_for(model, tuple(columns), connection.vendor)


@lru_cache
def _converters_for(
    model: type[models.Model], columns: tuple[str, ...], vendor: str
) -> dict[int, Callable[[Any], Any]]:
    by_type = _SQLITE if vendor == "sqlite" else _POSTGRESQL
    converters: dict[int, Callable[[Any], Any]] = {}
    for position, name in enumerate(columns):
        field = _field(model, name)
        if isinstance(field, models.ForeignKey):
            field = field.target_field
        for kind, convert in by_type.items():
            if isinstance(field, kind):
                converters[position] = convert
    return converters


def _convert(row: Row, converters: dict[int, Callable[[Any], Any]]) -> Row:
    values = list(row)
    for position, convert in converters.items():
        if values[position] is not None:
            values[position] = convert(values[position])
    return values


def _json_text(value: Any) -> str:
    # Most rows have no detail.
    if value == {} and isinstance(value, dict):
        return "{}"
    text = orjson.dumps(value).decode()
    return text if "\\u0000" not in text else orjson.dumps(storable(value)).decode()


def _sqlite_time(value: datetime) -> str:
    # As Django stores it: UTC, without the offset.
    return str(value)[:-6] if value.tzinfo is UTC else str(value.astimezone(UTC).replace(tzinfo=None))


def _sqlite_uuid(value: UUID) -> str:
    return value.hex


def _sqlite_decimal(value: Decimal) -> str:
    return f"{value:f}"


_SQLITE: Final[dict[type, Callable[[Any], Any]]] = {
    models.UUIDField: _sqlite_uuid,
    models.DateTimeField: _sqlite_time,
    models.DecimalField: _sqlite_decimal,
    models.JSONField: _json_text,
    DigestField: digest_key,
}
_POSTGRESQL: Final[dict[type, Callable[[Any], Any]]] = {models.JSONField: _json_text, DigestField: digest_key}
