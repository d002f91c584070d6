"""What the rows of one cell have in common. Pure."""

from collections.abc import Iterable, Sequence

from replay.core.vocabulary import COMPLETED, FAILED
from replay.experiments.core.schemas import CellView, ExperimentRowView, Spread


def aggregate(rows: Sequence[ExperimentRowView]) -> list[CellView]:
    """One view for each cell, in order. Cancelled rows say nothing about a cell; failed ones passed no check."""
    found: dict[int, list[ExperimentRowView]] = {}
    for row in sorted(rows, key=lambda row: (row.cell, row.sample)):
        found.setdefault(row.cell, []).append(row)
    return [_cell(cell, of_cell) for cell, of_cell in found.items()]


def spread(values: Iterable[float | None]) -> Spread | None:
    """Mean, least and most of what is known; None when nothing is."""
    known = [value for value in values if value is not None]
    return Spread(mean=sum(known) / len(known), min=min(known), max=max(known)) if known else None


def passed_all(row: ExperimentRowView) -> bool:
    return row.checks is not None and all(check.passed for check in row.checks)


def _cell(cell: int, rows: Sequence[ExperimentRowView]) -> CellView:
    done = [row for row in rows if row.status in COMPLETED]
    failed = sum(row.status in FAILED for row in rows)
    return CellView(
        cell=cell,
        settings=rows[0].settings,
        rows=len(rows),
        finished=len(done),
        failed=failed,
        pass_rate=_pass_rate(rows),
        ars=spread(row.ars for row in done),
        output_similarity=spread(row.output_similarity for row in done),
        tokens=spread(map(_tokens, done)),
        cost_usd=spread(row.cost_usd for row in done),
        latency_ms=spread(row.latency_ms for row in done),
    )


def _pass_rate(rows: Sequence[ExperimentRowView]) -> float | None:
    judged = [row for row in rows if row.checks]
    if not judged:
        return None
    failed = sum(row.status in FAILED for row in rows)
    return sum(map(passed_all, judged)) / (len(judged) + failed)


def _tokens(row: ExperimentRowView) -> float | None:
    known = [count for count in (row.tokens_in, row.tokens_out) if count is not None]
    return sum(known) if known else None
