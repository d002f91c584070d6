"""REST views of exports to Langfuse."""

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from replay.core.errors import InvalidReplay, SessionConflict
from replay.hooks import configuration
from replay.langfuse import export_worker, run_reader
from replay.langfuse.core.schemas import ExportList, ExportRequest, ExportView
from replay.models import LangfuseExport
from traces.http.bodies import parse_body
from traces.http.idempotency import check_key
from traces.http.responses import KEY, PROBLEMS, caller_of, key_of, path
from traces.models import Run
from traces.runs.queries import find_run

_RUN = path("id", "The run's id, a unique prefix of it, its external id, or `last`.")
_LIST_LIMIT = 20


class ExportsView(APIView):
    @extend_schema(operation_id="list_exports", parameters=[_RUN], responses={200: ExportList, **PROBLEMS})
    def get(self, request: Request, id: str) -> Response:
        """List the newest exports of a run, and the configured targets."""
        run = find_run(id)
        rows = LangfuseExport.objects.filter(run=run).order_by("-created_at", "-id")[:_LIST_LIMIT]
        targets = list(configuration.langfuse_targets())
        return Response(ExportList(exports=[view_of(row, run) for row in rows], targets=targets))


class LangfuseView(APIView):
    @extend_schema(
        operation_id="export_to_langfuse",
        parameters=[KEY, _RUN],
        request=ExportRequest,
        responses={202: ExportView, **PROBLEMS},
    )
    def post(self, request: Request, id: str) -> Response:
        """Export a run to Langfuse, in the background. Repeating an export creates no duplicates."""
        export_request = parse_body(ExportRequest, request.data or {})
        run = find_run(id)
        check_key("export", key_of(request), [str(run.id), request.data])
        if run.sealed_at is None:
            raise SessionConflict(f"run {run.id} is still being recorded; export it once it has ended")
        return Response(
            view_of(export_worker.enqueue(run.id, _target(export_request.target), by=caller_of(request)), run), 202
        )


def _target(name: str | None) -> str:
    """Return the requested target, or the only one; raises `InvalidReplay`."""
    names = list(configuration.langfuse_targets())
    if not names:
        detail = "no Langfuse target is configured: add an entry with `langfuse` to FORKPOINT_TELEMETRY"
        raise InvalidReplay(detail)
    if name is None and len(names) == 1:
        return names[0]
    if name not in names:
        raise InvalidReplay(f"target is “{name}”: use one of {', '.join(names)}", where="/target")
    return name


def view_of(row: LangfuseExport, run: Run) -> ExportView:
    place = configuration.langfuse_targets().get(row.target)
    base = str(place.base_url).rstrip("/") if place is not None else ""
    return ExportView(
        id=row.id,
        run=run.id,
        target=row.target,
        status=row.status,
        events=run_reader.count(run),
        done_events=row.done_events,
        rejected=row.rejected,
        cut=row.cut,
        error=row.error,
        retry_at=row.retry_at if row.failures else None,
        url=f"{base}/trace/{run.id.hex}" if base else "",
        created_at=row.created_at,
        ended_at=row.ended_at,
    )
