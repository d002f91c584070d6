"""REST endpoints that record runs event by event."""

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.parsers import BaseParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from traces.collectors import event_bodies, events
from traces.collectors.back_pressure import slot
from traces.collectors.collector_view import project_of
from traces.collectors.encoded_bodies import read_body
from traces.collectors.schemas import NewRun, StartedRun
from traces.core.ids import new_id
from traces.http.bodies import parse_body
from traces.http.idempotency import make_once
from traces.http.responses import KEY, PROBLEMS, key_of, path
from traces.importers.files.json_reader import json_value
from traces.recordings import arrivals
from traces.run_lists.api import RunListView
from traces.schemas import EventReceipt

EVENTS_BODY = {"application/x-ndjson": OpenApiTypes.STR}


class RawParser(BaseParser):
    """Leaves the body to the view, which decompresses it."""

    media_type = "*/*"


class RunsView(RunListView):
    parser_classes = (RawParser,)

    @extend_schema(operation_id="start_run", parameters=[KEY], request=NewRun, responses={201: StartedRun, **PROBLEMS})
    def post(self, request: Request) -> Response:
        """Start a run that is recorded event by event, and return its id for `/runs/{id}/events`.

        Its page opens with its first step. The same request with the same id changes nothing; a different one is a
        conflict.
        """
        body = read_body(request._request)
        # Rejected as a whole, unlike a list of events, of which the good ones are kept.
        document = json_value(body) if body.strip() else {}
        run = parse_body(NewRun, document)
        with slot():
            run_id = run.id or make_once("start-run", key_of(request), document, lambda: str(new_id()))
            split = events.split_records(event_bodies.list_records(run.events), run_id=run_id)
            receipt = events.store(split, opening=events.opening(run, run_id), project=project_of(request._request))
        return Response(StartedRun(id=run_id, **dict(receipt)), status=201)


class EventsView(APIView):
    parser_classes = (RawParser,)

    @extend_schema(operation_id="record_events", request=EVENTS_BODY, responses={200: EventReceipt, **PROBLEMS})
    def post(self, request: Request) -> Response:
        """Record events of any number of runs, in any order: one JSON object per line, or a list of them.

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
        """Record events of one run, which need not name it; those of other runs are rejected.

        Events that contradict stored ones are rejected; if there are no others, the request is a conflict.
        """
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
        arrivals.finalize(id, project=project_of(request._request))
        return Response(status=204)


def _record(request: Request, run_id: str | None) -> EventReceipt:
    body = read_body(request._request)
    with slot():
        project = project_of(request._request)
        return events.store(events.split(body, run_id=run_id), project=project, refuses_conflicts=run_id is not None)
