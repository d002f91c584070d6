"""REST endpoints that name, tag, delete and restore runs."""

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from django.db import transaction
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from traces.errors import NotFound
from traces.http.bodies import parse_body
from traces.http.responses import PROBLEMS, caller_of, is_admin, path, query, require_admin
from traces.models import Deletion, RunMark
from traces.retention import deletions, holds, marks, purge, tags
from traces.retention.citations import Citation
from traces.retention.deletions import Refusal
from traces.retention.schemas import (
    CitationList,
    CitationView,
    DeletedRun,
    DeletionRequest,
    DeletionResult,
    DeletionView,
    RefusedRun,
    RenameRequest,
    RestoredRun,
    TagRequest,
    TagResult,
)
from traces.runs import api as runs_api
from traces.runs.queries import as_uuid, find_run, run_detail
from traces.schemas import RunDetail

_RUN: Final = path("id", "The run's id, a unique prefix of it, its external id, or `last`.")


class RunView(runs_api.RunView):
    @extend_schema(
        operation_id="rename_run", parameters=[_RUN], request=RenameRequest, responses={200: RunDetail, **PROBLEMS}
    )
    def patch(self, request: Request, id: str) -> Response:
        """Give a run a name, a note and tags. Its recording does not change."""
        naming = parse_body(RenameRequest, request.data)
        run, by = find_run(id), caller_of(request)
        with transaction.atomic():
            if naming.title is not None or naming.note is not None:
                marks.rename(run.id, title=naming.title, note=naming.note, by=by)
            if naming.tags is not None:
                tags.replace_tags(run.id, naming.tags, by=by, is_admin=is_admin(request))
        return Response(run_detail(find_run(str(run.id))))

    @extend_schema(
        operation_id="delete_run",
        parameters=[
            _RUN,
            query("cited", "`true`: even if forks or reports cite it; they lose its contents. For admins."),
            query("at_once", "`true`: remove its contents now; it cannot be restored. For admins."),
        ],
        responses={200: DeletedRun, **PROBLEMS},
    )
    def delete(self, request: Request, id: str) -> Response:
        """Delete a run with the revisions that it continues. It is hidden now; its contents are removed later."""
        includes_citations, at_once = (request.query_params.get(name) == "true" for name in ("cited", "at_once"))
        body = DeletionRequest(runs=[id], includes_citations=includes_citations, at_once=at_once)
        (result,) = _delete(request, body)
        if isinstance(result, Refusal):
            raise result.problem
        return Response(_deletion_view(result))


class RunTagsView(APIView):
    @extend_schema(operation_id="tag_runs", request=TagRequest, responses={200: TagResult, **PROBLEMS})
    def post(self, request: Request) -> Response:
        """Add tags to runs, and remove tags from them: all changes or none."""
        changes = parse_body(TagRequest, request.data).changes
        undo = tags.change_tags(changes, by=caller_of(request), is_admin=is_admin(request))
        return Response(TagResult(changed_runs=sum(len(change.runs) for change in undo), undo=undo))


class RunDeletionsView(APIView):
    @extend_schema(operation_id="delete_runs", request=DeletionRequest, responses={200: DeletionResult, **PROBLEMS})
    def post(self, request: Request) -> Response:
        """Delete several runs. Those that are refused stay, and are named with the reason."""
        results = _delete(request, parse_body(DeletionRequest, request.data))
        return Response(
            DeletionResult(
                deletions=[_deletion_view(result) for result in results if isinstance(result, Deletion)],
                refusals=[_refusal_view(result) for result in results if isinstance(result, Refusal)],
            )
        )


class RunDeletionView(APIView):
    @extend_schema(
        operation_id="retrieve_deletion",
        parameters=[path("id", "The full id of a deleted run.")],
        responses={200: DeletionView, **PROBLEMS},
    )
    def get(self, request: Request, id: str) -> Response:
        """Return who deleted a run and when, and until when it can be restored."""
        return Response(deletions.find_deletion(_full_id(id)))


class RunRestoreView(APIView):
    @extend_schema(
        operation_id="restore_run", parameters=[_RUN], request=None, responses={200: RestoredRun, **PROBLEMS}
    )
    def post(self, request: Request, id: str) -> Response:
        """Restore a deleted run whose contents still exist."""
        key = _full_id(id)
        deletions.restore(key, by=caller_of(request))
        return Response(RestoredRun(id=key))


class CitationsView(APIView):
    @extend_schema(operation_id="list_citations", parameters=[_RUN], responses={200: CitationList, **PROBLEMS})
    def get(self, request: Request, id: str) -> Response:
        """List what cites a run, and would lose its source if the run were deleted."""
        run = find_run(id)
        mark = RunMark.objects.filter(run=run).first()
        return Response(
            CitationList(
                citations=_views(deletions.find_citations(run.id)),
                is_pinned=bool(mark and mark.is_pinned),
                is_held=holds.is_held(run.id),
            )
        )


def _full_id(ref: str) -> UUID:
    key = as_uuid(ref)
    if key is None:
        raise NotFound("a deleted run is found by its full id only")
    return key


def _delete(request: Request, body: DeletionRequest) -> list[Deletion | Refusal]:
    if body.includes_citations or body.at_once:
        require_admin(request)
    run_ids = list(dict.fromkeys(find_run(ref).id for ref in body.runs))
    results = deletions.delete(
        run_ids, by=caller_of(request), includes_citations=body.includes_citations, at_once=body.at_once
    )
    if body.at_once:
        purge.remove_due()
    return results


def _deletion_view(deletion: Deletion) -> DeletedRun:
    return DeletedRun(id=deletion.run_id, due_at=deletion.due_at)


def _refusal_view(refusal: Refusal) -> RefusedRun:
    return RefusedRun(id=refusal.run_id, detail=refusal.problem.detail, citations=_views(refusal.citations))


def _views(citations: Sequence[Citation]) -> list[CitationView]:
    return [CitationView(kind=item.kind, id=item.id, name=item.name) for item in citations]
