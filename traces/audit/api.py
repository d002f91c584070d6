"""REST endpoint of the audit log."""

from typing import Final
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from traces.audit.schemas import AuditEntryView, AuditLog
from traces.audit.subjects import run_names, run_of
from traces.errors import InvalidQuery
from traces.http.responses import PROBLEMS, query
from traces.models import AuditEntry

_MOST_ENTRIES: Final = 200
_COLUMNS: Final = ("id", "at", "by", "action", "subject", "detail")


class AuditView(APIView):
    @extend_schema(
        operation_id="list_audit_entries",
        parameters=[
            query("subject", "Only entries about this object, such as the id of a run."),
            query("action", "Only entries about this action, such as `replay_started`."),
            query("cursor", "`next` of the previous page."),
        ],
        responses={200: AuditLog, **PROBLEMS},
    )
    def get(self, request: Request) -> Response:
        """List the newest entries of the audit log."""
        filters = {name: text for name in ("subject", "action") if (text := request.query_params.get(name))}
        entries = AuditEntry.objects.filter(**filters).order_by("-id")
        if cursor := request.query_params.get("cursor"):
            entries = entries.filter(id__lt=_id(cursor))
        rows = list(entries.values(*_COLUMNS)[: _MOST_ENTRIES + 1])
        page = rows[:_MOST_ENTRIES]
        runs = [run_of(row["action"], row["subject"], row["detail"]) for row in page]
        names = run_names(run for run in runs if run)
        views = [
            AuditEntryView(**row, run_name=names.get(run, "") if run else "")
            for row, run in zip(page, runs, strict=True)
        ]
        return Response(AuditLog(entries=views, next=page[-1]["id"] if len(rows) > len(page) else None))


def _id(cursor: str) -> UUID:
    try:
        return UUID(cursor)
    except ValueError as error:
        raise InvalidQuery("the cursor is invalid: use `next` of the previous page", where="/cursor") from error
