"""Pins, legal holds and names of runs."""

from uuid import UUID

from django.db import transaction

from traces import notify
from traces.audit import audit_log
from traces.captions import services as captions
from traces.core.vocabulary import AuditAction
from traces.models import RunMark
from traces.runs import deleted_runs


def mark(run_id: UUID, *, is_pinned: bool | None, is_held: bool | None, by: str) -> RunMark:
    """Change the pin or the legal hold of a run; None leaves it as it is."""
    columns = {name: value for name, value in (("is_pinned", is_pinned), ("is_held", is_held)) if value is not None}
    with transaction.atomic():
        deleted_runs.hold([run_id])
        row, _ = RunMark.objects.update_or_create(run_id=run_id, defaults={**columns, "by": by})
        audit_log.append(AuditAction.RUN_MARKED, run_id, by=by, **columns)
        notify.touch(f"run.{run_id}")
    return row


def rename(run_id: UUID, *, title: str | None, note: str | None, by: str) -> None:
    """Change the name or the note that users gave a run; None leaves it as it is. The log does not repeat the words."""
    columns = {name: value for name, value in (("title", title), ("note", note)) if value is not None}
    with transaction.atomic():
        deleted_runs.hold([run_id])
        captions.rename(run_id, **columns)
        audit_log.append(AuditAction.RUN_RENAMED, run_id, by=by)
