"""Computing a report and storing it, once."""

from collections.abc import Iterable
from typing import Final
from uuid import UUID

import zstandard

from diffing import queries
from diffing.content.similarity import measure
from diffing.models import DiffReport
from diffing.report.build import build_report
from diffing.schemas.report import DiffOptions, DiffStatus
from diffing.schemas.report import DiffReport as Report
from diffing.stored_cosines import StoredCosines
from traces import notify
from traces.core.gc_pause import without_pauses
from traces.core.json_types import JSONValue
from traces.storage import artifacts
from traces.transitions import reach

_LEVEL: Final = 3


def compute(diff_id: UUID) -> None:
    """Make the report of a row that waits for it; a row that has one stays as it is."""
    row = (
        DiffReport.objects.filter(id=diff_id)
        .exclude(status=DiffStatus.READY)
        .select_related("base", "candidate")
        .first()
    )
    if row is None:
        return
    options = DiffOptions.model_validate(row.options)
    with without_pauses():
        made, body = _made(row, options)
    reach(
        DiffReport.objects.filter(id=diff_id),
        DiffStatus.READY,
        error="",
        sentence=made.attribution.sentence,
        ars=made.scores.ars,
        output_similarity=made.scores.output_similarity,
        tool_accuracy=made.scores.tool_accuracy,
        confidence=made.attribution.confidence or "",
        body=body,
    )
    notify.touch(f"diff.{diff_id}")


def _made(row: DiffReport, options: DiffOptions) -> tuple[Report, bytes]:
    under = queries.list_for(row.base, row.candidate)
    made = build_report(
        id=row.id,
        created_at=row.created_at,
        base=queries.side(row.base, links=True, under=under),
        candidate=queries.side(row.candidate, links=True, under=under),
        options=options,
        measure=measure(lexical=options.similarity == "lexical", memory=StoredCosines()),
        load=_readable,
    )
    return made, packed(made.model_dump_json(exclude={"outcomes"}).encode())


def _readable(digests: Iterable[str]) -> dict[str, JSONValue]:
    return artifacts.readable(digests).values


def packed(body: bytes) -> bytes:
    return zstandard.ZstdCompressor(level=_LEVEL).compress(body)


def give_up(diff_id: UUID, why: str) -> None:
    """Note that the report could not be made."""
    reach(DiffReport.objects.filter(id=diff_id), DiffStatus.FAILED, error=why)
    notify.touch(f"diff.{diff_id}")
