"""Content digests of stored runs. That of a run that was derived here is computed only when a bundle needs it."""

from typing import Any

from traces.ingest import step_rows as ingest_rows
from traces.models import Run, Step


def content_digest(run: Run) -> str:
    """Return the digest of a sealed run; empty for one whose contents were deleted."""
    if run.content_digest or run.source_run_id is None:
        return run.content_digest
    steps: list[Any] = list(Step.objects.filter(run=run).order_by("sequence_no"))
    return ingest_rows.content_digest(ingest_rows.run_content(run), steps) if steps else ""
