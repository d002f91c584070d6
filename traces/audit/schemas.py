"""Schemas of the audit log."""

from datetime import datetime
from uuid import UUID

from traces.core.json_types import JSONObject
from traces.core.schema import Schema


class AuditEntryView(Schema):
    """An entry of the audit log."""

    id: UUID
    at: datetime
    by: str
    action: str
    subject: str
    detail: JSONObject
    # What the run that it is about is called now; empty if it is about none or several, or the run is deleted.
    run_name: str


class AuditLog(Schema):
    """Entries of the audit log, newest first; `next` is where the older ones begin, null at the end."""

    entries: list[AuditEntryView]
    next: UUID | None
