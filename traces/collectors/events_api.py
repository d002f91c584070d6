"""REST endpoints that record runs event by event."""

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.parsers import BaseParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from traces.collectors import events
from traces.collectors.back_pressure import slot
from traces.collectors.encoded_bodies import read_body
from traces.http.responses import PROBLEMS, path
from traces.recordings import arrivals
from traces.schemas import EventReceipt

EVENTS_BODY = {"application/x-ndjson": OpenApiTypes.STR}


class RawParser(BaseParser):
    """Leaves the body to the view, which decompresses it."""

    media_type = "*/*"


class EventsView(APIView):
    parser_classes = (RawParser,)

    @extend_schema(operation_id="record_events", request=EVENTS_BODY, responses={200: EventReceipt, **PROBLEMS})
    def post(self, request: Request) -> Response:
        """Record events of any number of runs, one JSON object per line, in any order.

        Accepted events are stored when the response arrives. Sending them again changes nothing.
        """
        return Response(_record(request, None))


class RunEventsView(APIView):
    parser_classes = (RawParser,)

    @extend_schema(
        operation_id="record_events_of_run",
        parameters=[path("id", "The run's id in its events.")],
        request=EVENTS_BODY,
        responses={200: EventReceipt, **PROBLEMS},
    )
    def post(self, request: Request, id: str) -> Response:
        """Record events of one run; those of other runs are rejected."""
        return Response(_record(request, id))


class FinalizeView(APIView):
    parser_classes = (RawParser,)

    @extend_schema(
        operation_id="finalize_run",
        parameters=[path("id", "The run's id in its events.")],
        request=None,
        responses={204: None, **PROBLEMS},
    )
    def post(self, request: Request, id: str) -> Response:
        """Seal a run without waiting for more events. Events that arrive later become its next revision."""
        arrivals.finalize(id)
        return Response(status=204)


def _record(request: Request, run_id: str | None) -> EventReceipt:
    body = read_body(request._request)
    with slot():
        segments, rejected = events.split(body, run_id=run_id)
        arrivals.accept(segments)
    return EventReceipt(
        accepted=sum(segment.data.count(b"\n") for segment in segments),
        rejected=rejected,
    )
