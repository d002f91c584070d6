"""Recorded runs over REST: read-only views; see `traces.imports.api` for what comes in."""

from urllib.parse import quote

from django.http import HttpResponse, HttpResponseRedirect
from django.utils.http import parse_etags
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from traces.errors import NotFound
from traces.http.paging import page_of
from traces.http.responses import PROBLEMS, path, query
from traces.models import Run
from traces.runs import queries, run_list, search
from traces.runs.presenters import StepDict
from traces.schemas import EdgeList, RunDetail, RunFacets, RunList, StepDetail, StepList
from traces.storage import artifacts

_RUN = path("id", "The run's id, a unique beginning of it, its external id, or `last`.")
_MANY = "Several values are joined by commas."
_FILTERS = [
    query("q", "Words that all occur in the run's name, ids, app, models, tags or first input."),
    query("app", f"Runs of these apps. {_MANY}"),
    query("environment", _MANY),
    query("status", f"`running`, `completed`, `failed`. {_MANY}"),
    query("source", f"`live`, `import`, `replay`, `bundle`, `probe`. {_MANY} Probes are left out unless named."),
    query("tag", f"Runs with any of these tags. {_MANY}"),
    query("label", f"Runs with a step of any of these labels. {_MANY}"),
    query("since", "Runs that started at this time or later."),
    query("until", "Runs that started at this time or earlier."),
    query("min_cost", "Runs that cost at least this, in US dollars."),
    query("max_cost", "Runs that cost at most this."),
    query("outcome", f"`passed`, `failed`, `unverified`, `unknown`. {_MANY}"),
    query("sort", "`newest` (default), `outcome` (failed runs first) or `-outcome`."),
    query("cursor", "`next` of the page before."),
    query("limit", f"How many; at most {run_list.MAX_LIMIT}."),
]


class RunListView(APIView):
    @extend_schema(operation_id="list_runs", parameters=_FILTERS, responses={200: RunList, **PROBLEMS})
    def get(self, request: Request) -> Response:
        """Runs in the order in which they arrived, the newest first, or by outcome."""
        return Response(run_list.page(run_list.parse_filter(request.query_params)))


class RunFacetsView(APIView):
    @extend_schema(operation_id="run_facets", responses={200: RunFacets, **PROBLEMS})
    def get(self, request: Request) -> Response:
        """The values that the filters of the list offer."""
        return Response(run_list.facets())


class RunView(APIView):
    @extend_schema(operation_id="get_run", parameters=[_RUN], responses={200: RunDetail, **PROBLEMS})
    def get(self, request: Request, id: str) -> Response:
        """One run, with the runs derived from it."""
        return Response(queries.run_detail(queries.find_run(id)))


class StepListView(APIView):
    @extend_schema(
        operation_id="list_steps",
        parameters=[
            _RUN,
            query(
                "q",
                "Words that all occur in the step: anywhere in its payloads, attributes, names or error. "
                "What later requests repeat is found in the step that has it first.",
            ),
            query("after", "Only steps after this sequence number."),
            query("limit", f"How many; at most {queries.MAX_STEPS}."),
        ],
        responses={200: StepList, **PROBLEMS},
    )
    def get(self, request: Request, id: str) -> Response:
        """Compact steps in sequence order, without payloads."""
        after, limit = page_of(request.query_params, maximum=queries.MAX_STEPS)
        words = search.words_of(request.query_params.get("q", ""))
        steps, rest = queries.step_summaries(queries.find_run(id), after=after, limit=limit, words=words)
        return Response({"steps": steps, "next": rest})


class EdgeListView(APIView):
    @extend_schema(
        operation_id="list_edges",
        parameters=[
            _RUN,
            query("after", "Only edges into steps after this sequence number."),
            query("limit", f"Into how many steps; at most {queries.MAX_EDGES_INTO}."),
        ],
        responses={200: EdgeList, **PROBLEMS},
    )
    def get(self, request: Request, id: str) -> Response:
        """Which step of a run fed which, by consumer: the provenance without its paths."""
        after, limit = page_of(request.query_params, maximum=queries.MAX_EDGES_INTO)
        edges, rest = queries.edge_list(queries.find_run(id).id, after=after, limit=limit)
        return Response({"edges": edges, "next": rest})


class StepView(APIView):
    @extend_schema(
        operation_id="get_step", parameters=[path("id", "The step's id.")], responses={200: StepDetail, **PROBLEMS}
    )
    def get(self, request: Request, id: str) -> Response:
        """One step with its payloads and its provenance."""
        return Response(queries.step_detail(queries.step_by_id(id)))


class RunStepView(APIView):
    @extend_schema(
        operation_id="get_step_of_run",
        parameters=[_RUN, path("step", "The step's sequence number, id or external id.")],
        responses={200: StepDetail, **PROBLEMS},
    )
    def get(self, request: Request, id: str, step: str) -> Response:
        """One step by its place in the run."""
        return Response(_detail(queries.find_run(id), step))


class ArtifactView(APIView):
    @extend_schema(
        operation_id="get_artifact",
        parameters=[path("sha256", "The name of the artifact.")],
        responses={(200, "application/octet-stream"): OpenApiTypes.BINARY, 304: None, **PROBLEMS},
    )
    def get(self, request: Request, sha256: str) -> HttpResponse:
        """The bytes that hash to this name. They never change."""
        etag = f'"{sha256}"'
        if etag in parse_etags(request.headers.get("If-None-Match", "")) and artifacts.present([sha256]):
            return HttpResponse(status=304, headers=_artifact_headers(etag))
        if not artifacts.present([sha256]):
            raise NotFound(f"there is no artifact {sha256}")
        found = artifacts.read_one(sha256)
        # Recorded bytes are somebody else's: never a page of ours.
        kind = found.media_type if found.media_type == artifacts.JSON_TYPE else "application/octet-stream"
        return HttpResponse(found.data, content_type=kind, headers=_artifact_headers(etag))


class TraceRedirectView(APIView):
    @extend_schema(
        operation_id="redirect_trace",
        parameters=[path("trace", "The id under which the run was recorded.")],
        responses={302: None, **PROBLEMS},
    )
    def get(self, request: Request, trace: str) -> HttpResponseRedirect:
        """To the page of the run."""
        return HttpResponseRedirect(f"/runs/{queries.run_by_trace(trace).id}")


class SpanRedirectView(APIView):
    @extend_schema(
        operation_id="redirect_span",
        parameters=[path("span", "The id under which the step was recorded.")],
        responses={302: None, **PROBLEMS},
    )
    def get(self, request: Request, span: str) -> HttpResponseRedirect:
        """To the step on the page of its run."""
        step = queries.step_by_span(span)
        return HttpResponseRedirect(f"/runs/{quote(str(step.run_id))}?step={step.sequence_no}")


def _detail(run: Run, ref: str) -> StepDict:
    step = queries.find_step(run, ref)
    step.run = run
    return queries.step_detail(step)


def _artifact_headers(etag: str) -> dict[str, str]:
    return {
        "ETag": etag,
        "Cache-Control": "private, max-age=31536000, immutable",
        "X-Content-Type-Options": "nosniff",
        "Content-Security-Policy": "sandbox; default-src 'none'",
        "Content-Disposition": "attachment",
    }
