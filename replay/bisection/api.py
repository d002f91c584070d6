"""REST interface of bisections."""

from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from replay.bisection import queries, services
from replay.bisection.core.schemas import BisectionList, BisectionView, BisectPlan, BisectPreview, BisectRequest
from replay.saved_profiles import queries as library
from replay.sessions import previews
from replay.sessions.api import LIMIT, limit_of
from traces.http.bodies import parse_body
from traces.http.responses import KEY, PROBLEMS, caller_of, key_of, path, query
from traces.runs.queries import find_run

_RUN = query("run", "Only bisections of this run.")


class BisectPreviewView(APIView):
    @extend_schema(operation_id="preview_bisection", request=BisectPreview, responses={200: BisectPlan, **PROBLEMS})
    def post(self, request: Request) -> Response:
        """Estimate the probes, live calls and dollars of a bisection. Nothing runs; refusals are in the plan."""
        subject = parse_body(BisectPreview, library.insert_documents(request.data))
        previews.count(request, previews.SEARCHES)
        return Response(services.preview(subject))


class BisectRunView(APIView):
    @extend_schema(
        operation_id="bisect_run",
        parameters=[KEY, path("id", "The failing run.")],
        request=BisectRequest,
        responses={201: BisectionView, **PROBLEMS},
    )
    def post(self, request: Request, id: str) -> Response:
        """Bisect a failing run: find the last step from which regenerating it still passes."""
        bisect_request = parse_body(BisectRequest, library.insert_documents(request.data))
        bisection = services.start(find_run(id), bisect_request, key_of(request), by=caller_of(request))
        return Response(queries.view(bisection), 201)


class BisectDiffView(APIView):
    @extend_schema(
        operation_id="bisect_diff",
        parameters=[KEY],
        request=BisectRequest,
        responses={201: BisectionView, **PROBLEMS},
    )
    def post(self, request: Request, id: UUID) -> Response:
        """Bisect the run of a diff that fails the checks."""
        bisect_request = parse_body(BisectRequest, library.insert_documents(request.data))
        run = services.failing_run(id, bisect_request)
        bisection = services.start(run, bisect_request, key_of(request), diff_id=id, by=caller_of(request))
        return Response(queries.view(bisection), 201)


class BisectionsView(APIView):
    @extend_schema(operation_id="list_bisections", parameters=[_RUN, LIMIT], responses={200: BisectionList, **PROBLEMS})
    def get(self, request: Request) -> Response:
        """The newest bisections."""
        ref = request.query_params.get("run")
        run = find_run(ref).id if ref else None
        return Response(queries.newest(run=run, limit=limit_of(request)))


class BisectionDetailView(APIView):
    @extend_schema(operation_id="get_bisection", responses={200: BisectionView, **PROBLEMS})
    def get(self, request: Request, id: str) -> Response:
        """A bisection with its probes and its result so far."""
        return Response(queries.view(queries.find(id)))


class BisectionCancelView(APIView):
    @extend_schema(operation_id="cancel_bisection", request=None, responses={200: BisectionView, **PROBLEMS})
    def post(self, request: Request, id: str) -> Response:
        """Cancel a bisection. Its result so far remains."""
        return Response(queries.view(services.cancel(queries.find(id).id)))
