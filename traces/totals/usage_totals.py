"""Add runs to the usage totals and subtract them; merge, rebuild and check the totals.

A run counts if it is sealed, not deleted, and not continued by a sealed revision.
"""

from collections.abc import Iterable, Mapping
from datetime import date
from typing import Any, Final, NamedTuple
from uuid import UUID

from django.db import connection, transaction
from django.db.models import Count

from traces.core.vocabulary import Label, StepStatus, StepType
from traces.models import Run, Step, UsageTotal
from traces.storage import bulk

KEY: Final = ("app", "day", "source", "type", "provider", "name")
SUMS: Final = (
    "calls",
    "reused_calls",
    "failed_calls",
    "tokens_in",
    "tokens_out",
    "tokens_cached",
    "cost",
    "unpriced_calls",
)
_COLUMNS: Final = (*KEY, *SUMS, "newest_run")
# Rows of one day that are left alone: merging them costs more than reading them.
_MIN_ROWS: Final = 200
_IS_FAILED: Final = f"step.status IN ('{StepStatus.ERROR}', '{StepStatus.TIMEOUT}')"
_IS_MODEL: Final = f"step.type = '{StepType.MODEL}'"
_PROVIDER: Final = f"CASE WHEN {_IS_MODEL} THEN step.provider ELSE '' END"
_NAME: Final = f"CASE WHEN {_IS_MODEL} THEN step.model WHEN step.tool_name <> '' THEN step.tool_name ELSE step.name END"
_SUMS_OF_MADE_CALLS: Final = {
    "calls": "COUNT(*)",
    "reused_calls": "0",
    "failed_calls": f"SUM(CASE WHEN {_IS_FAILED} THEN 1 ELSE 0 END)",
    **{name: f"SUM(COALESCE(step.{name}, 0))" for name in SUMS if "tokens" in name},
    "cost": "SUM(CAST(ROUND(COALESCE(step.cost_usd, 0) * 100000000) AS bigint))",
    "unpriced_calls": f"SUM(CASE WHEN {_IS_MODEL} AND step.cost_usd IS NULL THEN 1 ELSE 0 END)",
}
_SUMS_OF_REUSED_CALLS: Final = {**dict.fromkeys(SUMS, "0"), "reused_calls": "COUNT(*)"}
_REUSE_COUNT: Final = "(run.exact_count + run.cached_count + run.simulated_count)"


class _Group(NamedTuple):
    """Steps with some labels: their sums, and the condition on the columns of a run that has any."""

    label: str
    runs: str
    sums: Mapping[str, str]


# Steps that were made, and steps that a replay reused: most runs have only the ones or the others.
_GROUPS: Final = (
    _Group(f"= '{Label.LIVE}'", f"run.step_count > {_REUSE_COUNT}", _SUMS_OF_MADE_CALLS),
    _Group(f"<> '{Label.LIVE}'", f"{_REUSE_COUNT} > 0", _SUMS_OF_REUSED_CALLS),
)
_IS_COUNTED: Final = (
    "run.sealed_at IS NOT NULL AND NOT EXISTS (SELECT 1 FROM traces_deletion AS gone WHERE gone.run_id = run.id) "
    "AND NOT EXISTS "
    "(SELECT 1 FROM traces_run AS next WHERE next.supersedes_id = run.id AND next.sealed_at IS NOT NULL)"
)


def add(run_ids: Iterable[UUID], *, sign: int = 1) -> None:
    """Add the totals of runs, or with a negative sign their opposites; `traces.runs.sealed_runs` decides which runs."""
    for chunk in bulk.chunks(run_ids):
        keys: list[Any] = [id.hex if connection.vendor == "sqlite" else id for id in chunk]
        places = ", ".join(["%s"] * len(keys))
        with connection.cursor() as cursor:
            cursor.execute(_insertion(_selection(f"run.id IN ({places})", sign=sign)), [*keys, *keys])


def rebuild() -> None:
    """Compute all totals from the steps."""
    with transaction.atomic(), connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            # A run that is sealed between the two statements would be counted twice.
            cursor.execute(f"LOCK TABLE {connection.ops.quote_name(UsageTotal._meta.db_table)} IN EXCLUSIVE MODE")
        UsageTotal.objects.all().delete()
        cursor.execute(_insertion(_selection(_IS_COUNTED, sign=1)))


def merge() -> bool:
    """Merge the rows of one day that has many for the same key; return whether there was one."""
    days = UsageTotal.objects.values("day").annotate(rows=Count("id")).filter(rows__gt=_MIN_ROWS).order_by("-rows")
    for day, rows in days.values_list("day", "rows"):
        keys = UsageTotal.objects.filter(day=day).values(*KEY).distinct().count()
        if rows > 2 * keys:
            _merge_day(day)
            return True
    return False


def differences() -> list[str]:
    """Compare the totals with the steps in one statement, as runs may arrive meanwhile; return the keys that differ."""
    table = connection.ops.quote_name(UsageTotal._meta.db_table)
    names = ", ".join(KEY)
    stored_rows = f"SELECT {', '.join(_COLUMNS)} FROM {table}"
    has_rest = " OR ".join(f"SUM({name}) <> 0" for name in SUMS)
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT {names} FROM ({stored_rows} UNION ALL {_selection(_IS_COUNTED, sign=-1)}) AS entries "
            f"GROUP BY {names} HAVING {has_rest}"
        )
        return sorted(" ".join(map(str, key)) for key in cursor.fetchall())


def _insertion(selection: str) -> str:
    return f"INSERT INTO {connection.ops.quote_name(UsageTotal._meta.db_table)} ({', '.join(_COLUMNS)}) {selection}"


def _selection(condition: str, *, sign: int) -> str:
    """Return the statement that sums up the calls of some runs in the order of the columns; `condition` occurs twice.

    It sums up each run first, because to group steps by what is equal for all steps of a run takes twice as long.
    """
    runs = connection.ops.quote_name(Run._meta.db_table)
    if connection.vendor == "sqlite":
        day = "substr(COALESCE(run.started_at, run.created_at), 1, 10)"
    else:
        day = "CAST(COALESCE(run.started_at, run.created_at) AT TIME ZONE 'UTC' AS date)"
    newest = "MAX(CAST(step.run_id AS char(36)))" if sign > 0 else "''"
    sums = ", ".join(f"{sign} * SUM(step.{name})" for name in SUMS)
    run_sums = " UNION ALL ".join(_run_sums(group, condition) for group in _GROUPS)
    return (
        f"SELECT run.app, {day}, run.source, step.type, step.provider_name, step.callee, {sums}, {newest} "
        f"FROM {runs} AS run JOIN ({run_sums}) AS step ON step.run_id = run.id GROUP BY 1, 2, 3, 4, 5, 6"
    )


def _run_sums(group: _Group, condition: str) -> str:
    """Return the statement that sums up the steps of a group in each run that has any."""
    steps, runs = (connection.ops.quote_name(model._meta.db_table) for model in (Step, Run))
    sums = ", ".join(f"{group.sums[name]} AS {name}" for name in SUMS)
    return (
        f"SELECT step.run_id, step.type, {_PROVIDER} AS provider_name, {_NAME} AS callee, {sums} "
        f"FROM {steps} AS step WHERE step.label {group.label} AND step.type IN ('{StepType.MODEL}', '{StepType.TOOL}') "
        f"AND step.run_id IN (SELECT run.id FROM {runs} AS run WHERE {condition} AND {group.runs}) "
        "GROUP BY 1, 2, 3, 4"
    )


def _merge_day(day: date) -> None:
    with transaction.atomic():
        rows = list(UsageTotal.objects.select_for_update().filter(day=day).values_list("id", *_COLUMNS))
        totals: dict[tuple[object, ...], list[Any]] = {}
        for _, *values in rows:
            key, sums, newest_run = tuple(values[: len(KEY)]), values[len(KEY) : -1], values[-1]
            total = totals.setdefault(key, [*(0 for _ in SUMS), ""])
            total[:] = [*(a + b for a, b in zip(total, sums, strict=False)), max(total[-1], newest_run)]
        for chunk in bulk.chunks(id for id, *_ in rows):
            UsageTotal.objects.filter(id__in=chunk).delete()
        bulk.insert(UsageTotal, _COLUMNS, ((*key, *total) for key, total in totals.items() if any(total[:-1])))
