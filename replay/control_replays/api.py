"""REST view of a diff's control replay."""

from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from replay.control_replays import services
from replay.control_replays.schemas import UnchangedRequest, UnchangedView
from traces.http.bodies import parse_body
from traces.http.idempotency import check_key
from traces.http.responses import KEY, PROBLEMS, caller_of, key_of


class UnchangedReplayView(APIView):
    @extend_schema(operation_id="get_unchanged", responses={200: UnchangedView, **PROBLEMS})
    def get(self, request: Request, id: UUID) -> Response:
        """Return what replaying the base without the changes would cost, and the replay's progress."""
        return Response(services.view(id))

    @extend_schema(
        operation_id="start_unchanged",
        parameters=[KEY],
        request=UnchangedRequest,
        responses={200: UnchangedView, **PROBLEMS},
    )
    def post(self, request: Request, id: UUID) -> Response:
        """Replay the base without the candidate's changes; repeating the request returns the same replay."""
        unchanged_request = parse_body(UnchangedRequest, request.data)
        check_key("unchanged", key_of(request), [str(id), request.data])
        return Response(services.start(id, unchanged_request, by=caller_of(request)))
