"""REST views of calibrations and ignore lists."""

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from replay.calibration import agent_starts, queries, services
from replay.calibration.core.schemas import (
    AcceptRequest,
    AgentCalibrationView,
    CalibrationList,
    CalibrationRequest,
    CalibrationView,
    IgnoreLists,
    IgnoreListView,
    SetIgnoreList,
)
from replay.sessions.api import LIMIT, limit_of
from traces.http.bodies import parse_body
from traces.http.idempotency import check_key
from traces.http.responses import KEY, PROBLEMS, caller_of, key_of, path, query
from traces.runs.queries import find_run

_APP = query("app", "Only the lists of this app.")


class CalibrationsView(APIView):
    @extend_schema(operation_id="list_calibrations", parameters=[LIMIT], responses={200: CalibrationList, **PROBLEMS})
    def get(self, request: Request) -> Response:
        """List the newest calibrations, with what ignoring their fields would do."""
        return Response(queries.newest(limit=limit_of(request)))

    @extend_schema(
        operation_id="calibrate",
        parameters=[KEY],
        request=CalibrationRequest,
        responses={201: CalibrationView, **PROBLEMS},
    )
    def post(self, request: Request) -> Response:
        """Compare two recordings of the same work, and propose fields that signatures should ignore."""
        calibration_request = parse_body(CalibrationRequest, request.data)
        check_key("calibration", key_of(request), request.data)
        row = services.calibrate(calibration_request, by=caller_of(request))
        return Response(queries.view(queries.find(row.id)), 201)


class CalibrateRunView(APIView):
    @extend_schema(
        operation_id="calibrate_run",
        parameters=[KEY, path("id", "The recording of the agent.")],
        request=None,
        responses={201: AgentCalibrationView, **PROBLEMS},
    )
    def post(self, request: Request, id: str) -> Response:
        """Let a runner start the agent twice, with its calls answered from the recording, and compare both runs."""
        row = agent_starts.start(find_run(id), key_of(request), by=caller_of(request))
        return Response(agent_starts.view(row), 201)


class AgentCalibrationDetailView(APIView):
    @extend_schema(operation_id="get_agent_calibration", responses={200: AgentCalibrationView, **PROBLEMS})
    def get(self, request: Request, id: str) -> Response:
        """Return the progress of a calibration whose runs an agent makes."""
        return Response(agent_starts.view(agent_starts.find(id)))


class CalibrationDetailView(APIView):
    @extend_schema(operation_id="get_calibration", responses={200: CalibrationView, **PROBLEMS})
    def get(self, request: Request, id: str) -> Response:
        """Return a calibration, with the app's current ignore list."""
        return Response(queries.view(queries.find(id)))

    @extend_schema(operation_id="delete_calibration", responses={204: None, **PROBLEMS})
    def delete(self, request: Request, id: str) -> Response:
        """Delete a calibration. Fields that were accepted from it stay ignored."""
        services.delete(queries.find(id))
        return Response(status=204)


class AcceptView(APIView):
    @extend_schema(
        operation_id="accept_calibration", request=AcceptRequest, responses={200: IgnoreListView, **PROBLEMS}
    )
    def post(self, request: Request, id: str) -> Response:
        """Add proposals to the app's ignore list, as its next version."""
        accept_request = parse_body(AcceptRequest, request.data)
        row = services.accept(queries.find(id), accept_request.proposals, author=caller_of(request))
        return Response(queries.list_view(row))


class IgnoreListsView(APIView):
    @extend_schema(operation_id="list_ignore_lists", parameters=[_APP], responses={200: IgnoreLists, **PROBLEMS})
    def get(self, request: Request) -> Response:
        """List all versions of the ignore lists."""
        return Response(queries.lists(request.query_params.get("app")))

    @extend_schema(
        operation_id="set_ignore_list",
        parameters=[KEY],
        request=SetIgnoreList,
        responses={201: IgnoreListView, **PROBLEMS},
    )
    def post(self, request: Request) -> Response:
        """Replace the ignore list of an app, as its next version; an empty list ignores nothing."""
        list_request = parse_body(SetIgnoreList, request.data)
        row = services.set_list(
            app=list_request.app, rules=list_request.rules, author=caller_of(request), key=key_of(request)
        )
        return Response(queries.list_view(row), 201)
