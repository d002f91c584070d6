"""REST interface of the activity list."""

from collections.abc import Sequence
from typing import Final, TypeVar
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from replay.activity import queries
from replay.activity.filters import KINDS, STATES, ActivityFilter
from replay.activity.schemas import ActivityList, Authors
from traces.core.vocabulary import Outcome
from traces.errors import InvalidQuery
from traces.http.paging import time_of, whole_number
from traces.http.responses import PROBLEMS, query
from traces.runs.queries import as_uuid

_MAX_LIMIT: Final = 200
_MAX_TEXT: Final = 200
_Choice = TypeVar("_Choice", bound=str)


class ActivityView(APIView):
    @extend_schema(
        operation_id="list_activity",
        parameters=[
            query("kind", f"Entries of these kinds: {', '.join(KINDS)}. Separate several values by commas."),
            query("state", f"Entries in these states: {', '.join(STATES)}."),
            query("outcome", f"Entries whose fork or candidate has one of these outcomes: {', '.join(Outcome)}."),
            query("author", "Entries that this person or program started, by the name of the token."),
            query("q", "Entries with this text in their change, their finding, or the name of a run."),
            query("since", "Entries from this time on."),
            query("until", "Entries before this time."),
            query("cursor", "`next` of the previous page."),
            query("limit", f"Entries per page; at most {_MAX_LIMIT}."),
        ],
        responses={200: ActivityList, **PROBLEMS},
    )
    def get(self, request: Request) -> Response:
        """List replays, diffs, proofs, experiments, bisections and calibrations, newest first."""
        limit = whole_number(request.query_params, "limit", default=50, maximum=_MAX_LIMIT)
        return Response(queries.page(_filter(request), cursor=_place(request), limit=limit))


class AuthorsView(APIView):
    @extend_schema(operation_id="list_activity_authors", responses={200: Authors, **PROBLEMS})
    def get(self, request: Request) -> Response:
        """List the names of those who started anything."""
        return Response(queries.authors())


def _filter(request: Request) -> ActivityFilter:
    params = request.query_params
    text = params.get("q", "").strip()
    if len(text) > _MAX_TEXT:
        raise InvalidQuery(f"q has {len(text)} characters, more than {_MAX_TEXT}", where="/q")
    return ActivityFilter(
        kinds=_choices(request, "kind", KINDS) or KINDS,
        states=_choices(request, "state", STATES),
        outcomes=_choices(request, "outcome", list(Outcome)),
        author=params.get("author", ""),
        text=text,
        start=time_of(params, "since"),
        end=time_of(params, "until"),
    )


def _choices(request: Request, name: str, options: Sequence[_Choice]) -> list[_Choice]:
    """Return the options that a query parameter names, in their own order."""
    names = [text for text in request.query_params.get(name, "").split(",") if text]
    unknown = next((text for text in names if text not in options), None)
    if unknown is not None:
        raise InvalidQuery(f"there is no {name} “{unknown}”: use {', '.join(options)}", where=f"/{name}")
    return [option for option in options if option in names]


def _place(request: Request) -> UUID | None:
    text = request.query_params.get("cursor", "")
    place = as_uuid(text) if text else None
    if text and place is None:
        raise InvalidQuery(f"cursor is “{text}”: it must be `next` of a page", where="/cursor")
    return place
