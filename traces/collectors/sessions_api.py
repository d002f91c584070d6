"""REST endpoints for agents that write sessions: Krabs events, and files that grow while an agent works."""

from typing import Final

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from traces.collectors import events
from traces.collectors.back_pressure import slot
from traces.collectors.collector_view import project_of
from traces.collectors.encoded_bodies import read_body
from traces.collectors.events_api import RawParser
from traces.errors import InvalidQuery
from traces.http.paging import whole_number
from traces.http.responses import PROBLEMS, path, query
from traces.importers.formats.codex import rollouts
from traces.importers.formats.coding_agents import claude_code
from traces.recordings import arrivals
from traces.recordings.arrivals import NewSegment
from traces.schemas import EventReceipt, SessionFile

FORMATS: Final = (claude_code.FORMAT, rollouts.FORMAT)
_MAX_NAME: Final = 200
_LARGEST_FILE: Final = 2**40


class KrabsEventsView(APIView):
    parser_classes = (RawParser,)

    @extend_schema(
        operation_id="record_krabs_events",
        request={"application/json": OpenApiTypes.OBJECT},
        responses={200: EventReceipt, **PROBLEMS},
    )
    def post(self, request: Request) -> Response:
        """Record telemetry of Krabs: one event, or a list of events, in any order. Bad events of a list are named."""
        body = read_body(request._request)
        with slot():
            split = events.split_krabs(body)
            arrivals.accept(split.segments, project=project_of(request._request))
        return Response(EventReceipt(accepted=split.event_count, rejected=split.rejected))


class SessionFileView(APIView):
    parser_classes = (RawParser,)
    parameters: Final = [
        path("kind", f"One of {', '.join(FORMATS)}."),
        path("session", "The session's id in the file."),
        query("file", "The name of the file."),
    ]

    @extend_schema(operation_id="get_session_file", parameters=parameters, responses={200: SessionFile, **PROBLEMS})
    def get(self, request: Request, kind: str, session: str) -> Response:
        """Return how many bytes of a session's file are stored."""
        _check_format(kind)
        return Response(SessionFile(size=arrivals.file_size(session, _file(request))))

    @extend_schema(
        operation_id="append_session_file",
        parameters=[*parameters, query("offset", "Where this part starts in the file, in bytes.")],
        request={"application/x-ndjson": OpenApiTypes.STR},
        responses={200: SessionFile, **PROBLEMS},
    )
    def post(self, request: Request, kind: str, session: str) -> Response:
        """Store the next part of a session's file: whole lines. If it does not continue the file, it is a conflict."""
        _check_format(kind)
        offset = whole_number(request.query_params, "offset", default=0, minimum=0, maximum=_LARGEST_FILE)
        body = read_body(request._request)
        part = NewSegment(external_id=session, format=kind, data=body, file=_file(request), offset=offset)
        with slot():
            return Response(SessionFile(size=arrivals.append(part)))


def _check_format(format: str) -> None:
    if format not in FORMATS:
        raise InvalidQuery(f"“{format[:40]}” is not a format of session files: use {' or '.join(FORMATS)}")


def _file(request: Request) -> str:
    name: str = request.query_params.get("file", "")
    if not 0 < len(name) <= _MAX_NAME:
        raise InvalidQuery(f"name the file, with at most {_MAX_NAME} characters", where="file")
    return name
