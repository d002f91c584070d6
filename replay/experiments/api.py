"""REST interface of experiments."""

from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from replay.experiments import queries, services
from replay.experiments.core.schemas import ExperimentList, ExperimentPlan, ExperimentRequest, ExperimentView
from replay.experiments.core.table import as_csv
from replay.sessions import previews
from replay.sessions.api import LIMIT, limit_of
from traces.http.negotiation import AnyMediaType
from traces.http.responses import KEY, PROBLEMS, caller_of, key_of, query
from traces.runs.queries import find_run

_RUN = query("run", "Only experiments on this run.")


class ExperimentPreviewView(APIView):
    @extend_schema(
        operation_id="preview_experiment", request=ExperimentRequest, responses={200: ExperimentPlan, **PROBLEMS}
    )
    def post(self, request: Request) -> Response:
        """Plan an experiment and estimate its cost. Nothing runs; refusals are in the plan."""
        question = services.parse(request.data)
        plan = previews.answer(
            request,
            previews.SEARCHES,
            question=question,
            run=question.run,
            make=lambda: services.preview(question),
            weigh=lambda plan: len(plan.cells),
        )
        return Response(plan)


class ExperimentsView(APIView):
    @extend_schema(
        operation_id="list_experiments", parameters=[_RUN, LIMIT], responses={200: ExperimentList, **PROBLEMS}
    )
    def get(self, request: Request) -> Response:
        """The newest experiments."""
        ref = request.query_params.get("run")
        source_run = find_run(ref).id if ref else None
        return Response(queries.newest(source_run=source_run, limit=limit_of(request)))

    @extend_schema(
        operation_id="start_experiment",
        parameters=[KEY],
        request=ExperimentRequest,
        responses={201: ExperimentView, **PROBLEMS},
    )
    def post(self, request: Request) -> Response:
        """Start an experiment: one replay for each combination and sample."""
        experiment = services.start(services.parse(request.data), key_of(request), by=caller_of(request))
        return Response(queries.view(experiment), 201)


class ExperimentDetailView(APIView):
    @extend_schema(operation_id="get_experiment", responses={200: ExperimentView, **PROBLEMS})
    def get(self, request: Request, id: str) -> Response:
        """An experiment with the current state of all its rows."""
        return Response(queries.view(queries.find(id)))


class ExperimentTableView(APIView):
    content_negotiation_class = AnyMediaType

    @extend_schema(operation_id="get_experiment_table", responses={(200, "text/csv"): OpenApiTypes.STR, **PROBLEMS})
    def get(self, request: Request, id: str) -> HttpResponse:
        """The replays as CSV, a line each: settings, checks, scores, costs and the beginning of the answer."""
        experiment = queries.find(id)
        response = HttpResponse(as_csv(queries.view(experiment).results), content_type="text/csv; charset=utf-8")
        response["Content-Disposition"] = f'attachment; filename="experiment-{experiment.id}.csv"'
        response["Cache-Control"] = "private, no-store"
        return response


class ExperimentCancelView(APIView):
    @extend_schema(operation_id="cancel_experiment", request=None, responses={200: ExperimentView, **PROBLEMS})
    def post(self, request: Request, id: str) -> Response:
        """Cancel every replay that has not ended."""
        return Response(queries.view(services.cancel(queries.find(id).id)))
