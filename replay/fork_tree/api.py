"""REST API of the fork tree."""

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from replay.fork_tree import queries
from replay.fork_tree.core.schemas import RunTree
from traces.http.responses import PROBLEMS, path
from traces.runs.queries import find_run


class RunTreeView(APIView):
    @extend_schema(
        operation_id="get_run_tree",
        parameters=[path("id", "Any run of the tree.")],
        responses={200: RunTree, **PROBLEMS},
    )
    def get(self, request: Request, id: str) -> Response:
        """The recorded run with all of its forks, their labels, and their scores against their source."""
        return Response(queries.tree(find_run(id)))
