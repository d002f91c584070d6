"""REST API of places worth a look."""

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from replay.inspection import queries
from replay.inspection.core.schemas import RunPlaces
from traces.http.responses import PROBLEMS, path
from traces.runs.queries import find_run

_RUN = path("id", "The run's id, a unique beginning of it, its external id, or `last`.")


class RunPlacesView(APIView):
    @extend_schema(operation_id="get_run_places", parameters=[_RUN], responses={200: RunPlaces, **PROBLEMS})
    def get(self, request: Request, id: str) -> Response:
        """Places of a run that are worth a look, with evidence, and the nearest passing runs. Places are not causes."""
        return Response(queries.places(find_run(id)))
