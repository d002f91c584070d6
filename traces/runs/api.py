"""Read-only REST endpoints of recorded runs; see `traces.imports.api` for imports."""

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
from traces.http.search_words import words_of
from traces.models import Run
from traces.runs import queries
from traces.runs.presenters import StepDict
from traces.runs.steps.step_list import MAX_STEPS, step_list
from traces.schemas import EdgeList, RunDetail, StepDetail, StepList
from traces.storage import artifacts

_RUN = path("id", "The run's id, a unique prefix of it, its external id, or `last`.")


class RunView(APIView):
    @extend_schema(operation_id="get_run", parameters=[_RUN], responses={200: RunDetail, **PROBLEMS})
    def get(self, request: Request, id: str) -> Response:
        """Return a run with the runs derived from it."""
        return Response(queries.run_detail(queries.find_run(id)))


class StepListView(APIView):
    @extend_schema(
        operation_id="list_steps",
        parameters=[
            _RUN,
            query(
                "q",
                "Words; a step matches if all occur in its payloads, attributes, names or error. "
                "Content that later requests repeat is found only in the first step that contains it.",
            ),
            query("after", "Only steps after this sequence number."),
            query("limit", f"Steps per page; at most {MAX_STEPS}."),
        ],
        responses={200: StepList, **PROBLEMS},
    )
    def get(self, request: Request, id: str) -> Response:
        """List compact steps in sequence order, without payloads."""
        after, limit = page_of(request.query_params, maximum=MAX_STEPS)
        words = words_of(request.query_params.get("q", ""))
        steps, rest = step_list(queries.find_run(id), after=after, limit=limit, words=words)
        return Response({"steps": steps, "next": rest})


class EdgeListView(APIView):
    @extend_schema(
        operation_id="list_edges",
        parameters=[
            _RUN,
            query("after", "Only edges into steps after this sequence number."),
            query("limit", f"Consumer steps per page; at most {queries.MAX_EDGES_INTO}."),
        ],
        responses={200: EdgeList, **PROBLEMS},
    )
    def get(self, request: Request, id: str) -> Response:
        """List the provenance edges of a run by consumer, without their paths."""
        after, limit = page_of(request.query_params, maximum=queries.MAX_EDGES_INTO)
        edges, rest = queries.edge_list(queries.find_run(id).id, after=after, limit=limit)
        return Response({"edges": edges, "next": rest})


class StepView(APIView):
    @extend_schema(
        operation_id="get_step", parameters=[path("id", "The step's id.")], responses={200: StepDetail, **PROBLEMS}
    )
    def get(self, request: Request, id: str) -> Response:
        """Return a step with its payloads and provenance."""
        return Response(queries.step_detail(queries.step_by_id(id)))


class RunStepView(APIView):
    @extend_schema(
        operation_id="get_step_of_run",
        parameters=[_RUN, path("step", "The step's sequence number, id or external id.")],
        responses={200: StepDetail, **PROBLEMS},
    )
    def get(self, request: Request, id: str, step: str) -> Response:
        """Return a step of a run."""
        return Response(_detail(queries.find_run(id), step))


class ArtifactView(APIView):
    @extend_schema(
        operation_id="get_artifact",
        parameters=[path("sha256", "The artifact's SHA-256.")],
        responses={(200, "application/octet-stream"): OpenApiTypes.BINARY, 304: None, **PROBLEMS},
    )
    def get(self, request: Request, sha256: str) -> HttpResponse:
        """Return the bytes with this SHA-256. They never change."""
        etag = f'"{sha256}"'
        # The weak comparison of RFC 9110: a compressed response has a weak tag.
        known_tags = {tag.removeprefix("W/") for tag in parse_etags(request.headers.get("If-None-Match", ""))}
        if etag in known_tags and artifacts.present([sha256]):
            return HttpResponse(status=304, headers=_artifact_headers(etag))
        if not artifacts.present([sha256]):
            raise NotFound(f"there is no artifact {sha256}")
        artifact = artifacts.read_one(sha256)
        # Recorded bytes are untrusted: never serve them as a page of this site.
        media_type = artifact.media_type if artifact.media_type == artifacts.JSON_TYPE else "application/octet-stream"
        return HttpResponse(artifact.data, content_type=media_type, headers=_artifact_headers(etag))


class TraceRedirectView(APIView):
    @extend_schema(
        operation_id="redirect_trace",
        parameters=[path("trace", "The run's external id.")],
        responses={302: None, **PROBLEMS},
    )
    def get(self, request: Request, trace: str) -> HttpResponseRedirect:
        """Redirect to the run's page."""
        return HttpResponseRedirect(f"/runs/{queries.run_by_trace(trace).id}")


class SpanRedirectView(APIView):
    @extend_schema(
        operation_id="redirect_span",
        parameters=[path("span", "The step's external id.")],
        responses={302: None, **PROBLEMS},
    )
    def get(self, request: Request, span: str) -> HttpResponseRedirect:
        """Redirect to the step on its run's page."""
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
