"""Schemas of exports to Langfuse in the REST API."""

from datetime import datetime
from uuid import UUID

from replay.core.vocabulary import ExportStatus
from traces.core.schema import Schema


class ExportRequest(Schema):
    """`target` names a configured Langfuse target; null: the only one."""

    target: str | None = None


class ExportView(Schema):
    """Export of one run to Langfuse; `done_events` of `events` were acknowledged."""

    id: UUID
    run: UUID
    target: str
    status: ExportStatus
    events: int
    done_events: int
    # Events that Langfuse rejected permanently; `error` contains the first reason.
    rejected: int
    # Payloads omitted because of their size.
    cut: int
    error: str
    retry_at: datetime | None
    # Address of the trace in Langfuse.
    url: str
    created_at: datetime
    ended_at: datetime | None


class ExportList(Schema):
    """Exports, newest first; `targets` are the names that an export request may use."""

    exports: list[ExportView]
    targets: list[str]
