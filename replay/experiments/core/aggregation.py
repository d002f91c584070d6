"""Aggregates of the rows of each cell. Pure."""

from collections.abc import Iterable, Sequence

from replay.core.vocabulary import COMPLETED, FAILED
from replay.experiments.core.schemas import CellView, ExperimentRowView, RateInterval, Spread
from traces.statistics.rate_intervals import wilson


def aggregate(rows: Sequence[ExperimentRowView]) -> list[CellView]:
    """Aggregate the rows of each cell, in order.

    Failed rows passed no check. Cancelled rows do not count, nor do those whose checks prove nothing.
    """
    by_cell: dict[int, list[ExperimentRowView]] = {}
    for row in sorted(rows, key=lambda row: (row.cell, row.sample)):
        by_cell.setdefault(row.cell, []).append(row)
    return [_cell(cell, cell_rows) for cell, cell_rows in by_cell.items()]


def spread(values: Iterable[float | None]) -> Spread | None:
    """Mean, minimum and maximum of the known values; None if there are none."""
    numbers = [value for value in values if value is not None]
    return Spread(mean=sum(numbers) / len(numbers), min=min(numbers), max=max(numbers)) if numbers else None


def passed_all(row: ExperimentRowView) -> bool:
    return bool(row.checks) and all(check.passed for check in row.checks or ())


def _cell(cell: int, rows: Sequence[ExperimentRowView]) -> CellView:
    completed_rows = [row for row in rows if row.status in COMPLETED]
    failed = sum(row.status in FAILED for row in rows)
    judged_rows = [row for row in completed_rows if row.checks]
    decided_rows = [row for row in judged_rows if not row.unverified]
    verdicts = len(decided_rows) + failed if judged_rows else 0
    passed = sum(map(passed_all, decided_rows))
    return CellView(
        cell=cell,
        settings=rows[0].settings,
        rows=len(rows),
        finished=len(completed_rows),
        failed=failed,
        verdicts=verdicts,
        passed=passed,
        unverified=len(judged_rows) - len(decided_rows),
        pass_rate=passed / verdicts if verdicts else None,
        pass_interval=_interval(passed, verdicts) if verdicts else None,
        ars=spread(row.ars for row in completed_rows),
        output_similarity=spread(row.output_similarity for row in completed_rows),
        tokens=spread(map(_tokens, completed_rows)),
        cost_usd=spread(row.cost_usd for row in completed_rows),
        latency_ms=spread(row.latency_ms for row in completed_rows),
    )


def _interval(passed: int, verdicts: int) -> RateInterval:
    low, high = wilson(passed, verdicts)
    return RateInterval(low=low, high=high)


def _tokens(row: ExperimentRowView) -> float | None:
    counts = [count for count in (row.tokens_in, row.tokens_out) if count is not None]
    return sum(counts) if counts else None
