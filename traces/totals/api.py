"""REST endpoint of the usage over all runs."""

from collections.abc import Mapping
from datetime import date

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from traces.errors import InvalidQuery
from traces.http.responses import PROBLEMS, query
from traces.totals import queries
from traces.totals.queries import UsageFilter
from traces.totals.schemas import UsageReport


class UsageReportView(APIView):
    @extend_schema(
        operation_id="usage_report",
        parameters=[
            query("app", "Runs of these apps. Separate several values by commas."),
            query("first", "Runs that started on this day or later, in UTC: `2026-11-21`."),
            query("last", "Runs that started on this day or earlier."),
        ],
        responses={200: UsageReport, **PROBLEMS},
    )
    def get(self, request: Request) -> Response:
        """Return the calls, tokens and cost of sealed runs by model, tool, app and day."""
        parameters = request.query_params
        usage_filter = UsageFilter(
            apps=[app for app in parameters.get("app", "").split(",") if app],
            first=_day(parameters, "first"),
            last=_day(parameters, "last"),
        )
        return Response(queries.report(usage_filter))


def _day(parameters: Mapping[str, str], name: str) -> date | None:
    text = parameters.get(name, "")
    try:
        return date.fromisoformat(text) if text else None
    except ValueError as error:
        raise InvalidQuery(f"{name} is “{text}”: it must be a day such as 2026-11-21", where=f"/{name}") from error
