"""REST view of a step's snippets."""

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from replay.snippets import queries
from replay.snippets.core.schemas import StepSnippets
from traces.http.responses import PROBLEMS, path
from traces.runs.queries import step_by_id


class StepSnippetsView(APIView):
    @extend_schema(
        operation_id="get_step_snippets",
        parameters=[path("id", "The step's id.")],
        responses={200: StepSnippets, **PROBLEMS},
    )
    def get(self, request: Request, id: str) -> Response:
        """Return a step's call as a curl command and as Python. Keys are read from the environment."""
        return Response(queries.snippets(step_by_id(id)))
