"""What the REST interface says about exports to Langfuse."""

from datetime import datetime
from uuid import UUID

from replay.core.vocabulary import ExportStatus
from traces.core.schema import Schema


class ExportRequest(Schema):
    """`target` is a Langfuse target by its name in the configuration; null: the only one."""

    target: str | None = None


class ExportView(Schema):
    """One run on its way to Langfuse: `done_events` of `events` were acknowledged."""

    id: UUID
    run: UUID
    target: str
    status: ExportStatus
    events: int
    done_events: int
    rejected: int  # refused by Langfuse for good; `error` holds the first reason
    cut: int  # payloads left out because no request can carry them
    error: str
    retry_at: datetime | None
    url: str  # the trace in Langfuse
    created_at: datetime
    ended_at: datetime | None


class ExportList(Schema):
    """The newest first; `targets` are the names that an export can be asked for with."""

    exports: list[ExportView]
    targets: list[str]
