"""REST interface of hooks and telemetry: configuration and outcomes. Read-only."""

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from replay.hook_reports import queries as hook_reports_queries
from replay.hook_reports.schemas import HookList, HookOutcomeList
from replay.sessions import queries
from replay.sessions.api import PAGE, requested_page
from traces.http.responses import PROBLEMS


class HooksView(APIView):
    @extend_schema(operation_id="list_hooks", responses={200: HookList, **PROBLEMS})
    def get(self, request: Request) -> Response:
        """The configured hooks in their order, and the telemetry targets with what was sent and dropped."""
        return Response(hook_reports_queries.configured_hooks())


class SessionHooksView(APIView):
    @extend_schema(operation_id="list_hook_outcomes", parameters=PAGE, responses={200: HookOutcomeList, **PROBLEMS})
    def get(self, request: Request, id: str) -> Response:
        """What hooks decided in a session, and where they failed, in the order in which it happened."""
        return Response(hook_reports_queries.outcomes(queries.find_session(id).id, requested_page(request)))
