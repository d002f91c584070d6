"""REST views of runners."""

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from replay.runners import queries
from replay.runners.schemas import RunnerList
from traces.http.responses import PROBLEMS

_APP = OpenApiParameter("app", OpenApiTypes.STR, description="Only runners of this app.")


class RunnersView(APIView):
    @extend_schema(operation_id="list_runners", parameters=[_APP], responses={200: RunnerList, **PROBLEMS})
    def get(self, request: Request) -> Response:
        """List the runners: programs that start agents again on their users' machines."""
        return Response(queries.runners(request.query_params.get("app")))
