"""The replays of an experiment as CSV, for spreadsheets and notebooks. Pure."""

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from replay.experiments.core.schemas import ExperimentRowView

# A spreadsheet evaluates a text that begins so as a formula.
_FORMULA_STARTS: Final = ("=", "+", "-", "@", "\t", "\r")
_Value = str | int | float | None

_COLUMNS: Final[Mapping[str, Callable[[ExperimentRowView], _Value]]] = {
    "status": lambda row: row.status,
    "checks": lambda row: None if row.checks is None else len(row.checks),
    "checks_passed": lambda row: None if row.checks is None else sum(check.passed for check in row.checks),
    "unverified": lambda row: row.unverified,
    "ars": lambda row: row.ars,
    "answer_similarity": lambda row: row.output_similarity,
    "similarity_method": lambda row: row.similarity_method,
    "tokens_in": lambda row: row.tokens_in,
    "tokens_out": lambda row: row.tokens_out,
    "cost_usd": lambda row: row.cost_usd,
    "latency_ms": lambda row: row.latency_ms,
    "live_calls": lambda row: row.live_calls,
    "exact": lambda row: row.labels.exact,
    "cached": lambda row: row.labels.cached,
    "simulated": lambda row: row.labels.simulated,
    "new_tools": lambda row: row.new_tools,
    "unused_tools": lambda row: row.unused_tools,
    "answer": lambda row: row.answer,
    "error": lambda row: row.error,
    "session": lambda row: str(row.session),
    "run": lambda row: str(row.run) if row.run else None,
    "diff": lambda row: str(row.diff) if row.diff else None,
}


def as_csv(rows: Sequence[ExperimentRowView]) -> str:
    """A line of names, and one for each replay; the field of an unknown value is empty.

    Each axis is a column, such as `axis: model`. Latencies are in milliseconds, costs in US dollars, scores from 0
    to 1.
    """
    output = io.StringIO()
    writer = csv.writer(output)
    axes = list(dict.fromkeys(setting.axis for row in rows for setting in row.settings))
    writer.writerow(["number", "sample", *(f"axis: {axis}" for axis in axes), *_COLUMNS])
    for row in rows:
        value_of = {setting.axis: setting.value for setting in row.settings}
        values = [*(value_of.get(axis, "") for axis in axes), *(read(row) for read in _COLUMNS.values())]
        writer.writerow([row.number, row.sample, *map(_plain, values)])
    return output.getvalue()


def _plain(value: _Value) -> _Value:
    """The value; a text that a spreadsheet would evaluate is quoted for it."""
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA_STARTS) else value
