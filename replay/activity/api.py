"""REST interface of the activity list."""

from typing import Final
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from replay.activity import queries
from replay.activity.schemas import ActivityList, Kind
from traces.errors import InvalidQuery
from traces.http.paging import whole_number
from traces.http.responses import PROBLEMS, query
from traces.runs.queries import as_uuid

_MAX_LIMIT: Final = 200


class ActivityView(APIView):
    @extend_schema(
        operation_id="list_activity",
        parameters=[
            query("kind", f"Entries of these kinds: {', '.join(queries.KINDS)}. Separate several values by commas."),
            query("cursor", "`next` of the previous page."),
            query("limit", f"Entries per page; at most {_MAX_LIMIT}."),
        ],
        responses={200: ActivityList, **PROBLEMS},
    )
    def get(self, request: Request) -> Response:
        """List replays, diffs, proofs, experiments, bisections and calibrations, newest first."""
        limit = whole_number(request.query_params, "limit", default=50, maximum=_MAX_LIMIT)
        return Response(queries.page(_kinds(request), cursor=_place(request), limit=limit))


def _kinds(request: Request) -> list[Kind]:
    names = [name for name in request.query_params.get("kind", "").split(",") if name]
    unknown = next((name for name in names if name not in queries.KINDS), None)
    if unknown is not None:
        raise InvalidQuery(f"there is no kind {unknown!r}: use {', '.join(queries.KINDS)}", where="/kind")
    return [kind for kind in queries.KINDS if kind in names or not names]


def _place(request: Request) -> UUID | None:
    text = request.query_params.get("cursor", "")
    place = as_uuid(text) if text else None
    if text and place is None:
        raise InvalidQuery(f"cursor is {text!r}: it must be `next` of a page", where="/cursor")
    return place
