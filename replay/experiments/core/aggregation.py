"""Aggregates of the rows of each cell. Pure."""

from collections.abc import Iterable, Sequence

from replay.core.vocabulary import COMPLETED, FAILED
from replay.experiments.core.schemas import CellView, ExperimentRowView, Spread


def aggregate(rows: Sequence[ExperimentRowView]) -> list[CellView]:
    """Aggregate the rows of each cell, in order. Cancelled rows do not count; failed ones passed no check."""
    by_cell: dict[int, list[ExperimentRowView]] = {}
    for row in sorted(rows, key=lambda row: (row.cell, row.sample)):
        by_cell.setdefault(row.cell, []).append(row)
    return [_cell(cell, cell_rows) for cell, cell_rows in by_cell.items()]


def spread(values: Iterable[float | None]) -> Spread | None:
    """Mean, minimum and maximum of the known values; None if there are none."""
    numbers = [value for value in values if value is not None]
    return Spread(mean=sum(numbers) / len(numbers), min=min(numbers), max=max(numbers)) if numbers else None


def passed_all(row: ExperimentRowView) -> bool:
    return row.checks is not None and all(check.passed for check in row.checks)


def _cell(cell: int, rows: Sequence[ExperimentRowView]) -> CellView:
    completed_rows = [row for row in rows if row.status in COMPLETED]
    failed = sum(row.status in FAILED for row in rows)
    return CellView(
        cell=cell,
        settings=rows[0].settings,
        rows=len(rows),
        finished=len(completed_rows),
        failed=failed,
        pass_rate=_pass_rate(rows),
        ars=spread(row.ars for row in completed_rows),
        output_similarity=spread(row.output_similarity for row in completed_rows),
        tokens=spread(map(_tokens, completed_rows)),
        cost_usd=spread(row.cost_usd for row in completed_rows),
        latency_ms=spread(row.latency_ms for row in completed_rows),
    )


def _pass_rate(rows: Sequence[ExperimentRowView]) -> float | None:
    rows_with_checks = [row for row in rows if row.checks]
    if not rows_with_checks:
        return None
    failed = sum(row.status in FAILED for row in rows)
    return sum(map(passed_all, rows_with_checks)) / (len(rows_with_checks) + failed)


def _tokens(row: ExperimentRowView) -> float | None:
    counts = [count for count in (row.tokens_in, row.tokens_out) if count is not None]
    return sum(counts) if counts else None
