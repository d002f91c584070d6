"""REST endpoint of transcripts."""

from typing import Final

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from traces.http.paging import page_of, whole_number
from traces.http.responses import PROBLEMS, path, query
from traces.models import Run
from traces.runs.queries import find_run
from traces.transcripts import queries
from traces.transcripts.schemas import Transcript

_DEFAULT_LIMIT: Final = 50
_DEFAULT_LENGTH: Final = 3_000
_MAX_LENGTH: Final = 1_000_000


PAGE: Final = [
    query("after", "Only steps after this sequence number."),
    query("limit", f"Steps per page; at most {queries.MAX_STEPS}."),
    query("length", f"Characters of each text; at most {_MAX_LENGTH:,}."),
]


def page_response(request: Request, run: Run) -> Response:
    """Return the page of a run's transcript that a request asks for."""
    after, limit = page_of(request.query_params, maximum=queries.MAX_STEPS, default=_DEFAULT_LIMIT)
    length = whole_number(request.query_params, "length", default=_DEFAULT_LENGTH, maximum=_MAX_LENGTH)
    return Response(queries.transcript(run, after=after, limit=limit, length=length).model_dump())


class TranscriptView(APIView):
    @extend_schema(
        operation_id="get_transcript",
        parameters=[
            path("id", "The run's id, a unique prefix of it, its external id, or `last`."),
            *PAGE,
        ],
        responses={200: Transcript, **PROBLEMS},
    )
    def get(self, request: Request, id: str) -> Response:
        """List the turns of a run's steps, each message once, with the beginnings of their texts."""
        return page_response(request, find_run(id))
