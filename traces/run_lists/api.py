"""REST endpoints of lists over all runs."""

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from traces.http.paging import whole_number
from traces.http.responses import PROBLEMS, query
from traces.run_lists import failed_steps, run_list
from traces.run_lists.run_filter import MAX_LIMIT, parse_filter
from traces.schemas import FailedStepList, RunFacets, RunList

_MANY = "Separate several values by commas."
_SEARCH = query(
    "q",
    "Words; a run matches if all of them occur in its names, note, ids, app, models, tags or first input, or in the "
    "payloads of at most 1,000 successive steps. The last word may be the beginning of a word.",
)
_FILTERS = [
    query("app", f"Runs of these apps. {_MANY}"),
    query("environment", _MANY),
    query("status", f"`running`, `completed`, `failed`, `partial`: its end was not recorded. {_MANY}"),
    query("source", f"`live`, `import`, `replay`, `bundle`, `probe`. {_MANY} Probes are excluded by default."),
    query("tag", f"Runs with any of these tags. {_MANY}"),
    query("label", f"Runs with a step of any of these labels. {_MANY}"),
    query("since", "Runs that started at this time or later."),
    query("until", "Runs that started at this time or earlier."),
    query("min_cost", "Minimum cost, in US dollars."),
    query("max_cost", "Maximum cost, in US dollars."),
    query("judgement", f"Runs with a judgement of any of these names, such as a score. {_MANY}"),
    query("judgement_kind", f"`pass`, `fail`, `score`, `note`, `not_run`: what that judgement is. {_MANY}"),
    query("judgement_source", f"`person`, `import`, `check`, `validator`, `model`: who made that judgement. {_MANY}"),
    query("min_score", "The least value of that judgement."),
    query("max_score", "The greatest value of that judgement."),
    query("outcome", f"`passed`, `failed`, `unverified`, `unknown`. {_MANY}"),
    query("family", "Forks of this run, and their forks."),
]
_PAGE = [
    query(
        "forks",
        "`listed` (default) or `nested`: below the first run of their line, which is listed if it or one of its forks "
        "matches. A search lists them in any case.",
    ),
    query(
        "sort",
        "`newest` (default), `outcome` (failed runs first), `started`, `duration`, `tokens`, `cost`, `steps` or "
        "`name`; with a minus, descending. Runs without a value come last.",
    ),
    query("cursor", "`next` of the previous page."),
    query("limit", f"Runs per page; at most {MAX_LIMIT}."),
]
_FILTER_NAMES = frozenset(parameter.name for parameter in _FILTERS)


class RunListView(APIView):
    @extend_schema(
        operation_id="list_runs", parameters=[_SEARCH, *_FILTERS, *_PAGE], responses={200: RunList, **PROBLEMS}
    )
    def get(self, request: Request) -> Response:
        """List runs. A page of a search may have few runs although `next` is set."""
        return Response(run_list.page(parse_filter(request.query_params)))


class RunFacetsView(APIView):
    @extend_schema(operation_id="run_facets", responses={200: RunFacets, **PROBLEMS})
    def get(self, request: Request) -> Response:
        """Return the values that the filters of the list offer."""
        return Response(run_list.facets())


class FailedStepsView(APIView):
    @extend_schema(
        operation_id="list_failed_steps",
        parameters=[
            *_FILTERS,
            query("cursor", "`next` of the previous page."),
            query("limit", f"Steps per page; at most {failed_steps.MAX_LIMIT}."),
        ],
        responses={200: FailedStepList, **PROBLEMS},
    )
    def get(self, request: Request) -> Response:
        """List the failed steps of all runs that match the filters, newest runs first."""
        place = failed_steps.parse_place(request.query_params)
        limit = whole_number(request.query_params, "limit", default=50, maximum=failed_steps.MAX_LIMIT)
        filters = {name: value for name, value in request.query_params.dict().items() if name in _FILTER_NAMES}
        runs = run_list.matching_runs(parse_filter(filters))
        return Response(failed_steps.page(runs, after=place, limit=limit))
