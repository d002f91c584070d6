"""The REST interface of diffs and share links."""

from collections.abc import Iterable
from uuid import UUID

from django.conf import settings
from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.parsers import BaseParser
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from diffing import queries, services
from diffing.errors import DiffFailed
from diffing.models import DiffReport
from diffing.render.html import POLICY, as_html
from diffing.render.markdown import as_markdown
from diffing.schemas.report import DiffList, DiffPending, DiffRequest, DiffStatus, ShareList, ShareRequest, ShareView
from diffing.schemas.report import DiffReport as Report
from traces.errors import InvalidQuery
from traces.http.bodies import parse_body
from traces.http.idempotency import check_key
from traces.http.responses import KEY, PROBLEMS, caller_of, key_of
from traces.http.throttling import Window
from traces.runs.queries import find_run

_OPENED = Window(name="share-window", limit=120, seconds=60)  # enough for people, useless for guessing
_MADE = ("json", "md", "html")
_FORMATS = OpenApiParameter("format", str, enum=_MADE, description="`html` is one self-contained file.")


class _AsAsked(BaseContentNegotiation):
    """`format` names what the view makes itself, not a renderer of the framework; problems are always JSON."""

    def select_parser(self, request: Request, parsers: Iterable[BaseParser]) -> BaseParser | None:
        return next(iter(parsers), None)

    def select_renderer(
        self, request: Request, renderers: Iterable[BaseRenderer], format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        renderer = next(iter(renderers))
        return renderer, renderer.media_type


class DiffsView(APIView):
    """Reports."""

    @extend_schema(
        operation_id="diffs_list",
        parameters=[OpenApiParameter("run", OpenApiTypes.STR, description="Only reports of this run.")],
        responses={200: DiffList, **PROBLEMS},
    )
    def get(self, request: Request) -> Response:
        """The newest reports."""
        given = request.query_params.get("run")
        run = find_run(given).id if given else None
        return Response(DiffList(diffs=queries.latest(run=run)))

    @extend_schema(
        operation_id="diffs_create",
        parameters=[KEY],
        request=DiffRequest,
        responses={
            200: Report,
            202: OpenApiResponse(DiffPending, "A worker makes the report; ask for it at `/diffs/{id}`."),
            **PROBLEMS,
        },
    )
    def post(self, request: Request) -> HttpResponse:
        """Compare two runs. The same question gives the same report.

        Without embeddings the answer is the report itself. With them (the extra `semantic` is installed and
        `similarity` is `auto`) a worker makes it: 202 with its id.
        """
        asked = parse_body(DiffRequest, request.data)
        check_key("diff", key_of(request), request.data)
        row = services.request(
            base_id=find_run(asked.base).id, candidate_id=find_run(asked.candidate).id, options=asked.options
        )
        return _answer(row, "json")


class DiffView(APIView):
    """One report."""

    content_negotiation_class = _AsAsked

    @extend_schema(
        operation_id="diffs_retrieve",
        parameters=[_FORMATS],
        responses={
            (200, "application/json"): Report,
            (200, "text/markdown"): OpenApiTypes.STR,
            (200, "text/html"): OpenApiTypes.STR,
            202: OpenApiResponse(DiffPending, "Not there yet: ask again, or wait for the `diff` socket to wake."),
            **PROBLEMS,
        },
    )
    def get(self, request: Request, id: UUID) -> HttpResponse:
        """A report as JSON, Markdown, or one HTML file that opens offline."""
        return _answer(queries.find(id), _form(request))


class SharesView(APIView):
    """The links to one report."""

    @extend_schema(operation_id="shares_list", responses={200: ShareList, **PROBLEMS})
    def get(self, request: Request, id: UUID) -> Response:
        """All links, without their tokens."""
        return Response(queries.shares(queries.find(id).id))

    @extend_schema(
        operation_id="shares_create", parameters=[KEY], request=ShareRequest, responses={201: ShareView, **PROBLEMS}
    )
    def post(self, request: Request, id: UUID) -> Response:
        """A new link. Its address is in this answer only."""
        asked = parse_body(ShareRequest, request.data)
        link, token = services.share(diff_id=id, asked=asked, by=caller_of(request), key=key_of(request))
        path = f"/share/{token}"
        url = f"{settings.PUBLIC_URL}{path}" if settings.PUBLIC_URL else request.build_absolute_uri(path)
        return Response(queries.share_view(link, url), 201)


class ShareRevokeView(APIView):
    """One link."""

    @extend_schema(operation_id="shares_delete", responses={200: ShareView, **PROBLEMS})
    def delete(self, request: Request, id: UUID) -> Response:
        """Revoke a link."""
        return Response(queries.share_view(services.revoke(id), None))


class SharedReportView(APIView):
    """What a share link opens."""

    content_negotiation_class = _AsAsked

    @extend_schema(
        operation_id="share_retrieve",
        parameters=[_FORMATS],
        responses={
            (200, "application/json"): Report,
            (200, "text/markdown"): OpenApiTypes.STR,
            (200, "text/html"): OpenApiTypes.STR,
            **PROBLEMS,
        },
    )
    def get(self, request: Request, token: str) -> HttpResponse:
        """The report of a share link, for whoever has it. Nothing else can be reached through it."""
        form = _form(request)
        address = str(request.META.get("REMOTE_ADDR", ""))
        _OPENED.count(address, "too many share links were opened from this address; wait a minute")
        response = _rendered(services.open_share(token, caller_of(request)), form)
        response["X-Robots-Tag"] = "noindex, nofollow"
        response["Referrer-Policy"] = "no-referrer"
        return response


def _form(request: Request) -> str:
    form = request.query_params.get("format", "json")
    if form not in _MADE:
        raise InvalidQuery(f"there is no format {form!r}; there are {', '.join(_MADE)}", where="/format")
    return form


def _answer(row: DiffReport, form: str) -> HttpResponse:
    if row.status == DiffStatus.READY:
        return _rendered(row.id, form)
    if row.status == DiffStatus.FAILED:
        raise DiffFailed(f"the diff could not be made: {row.error}")
    return Response(queries.pending(row), 202)


def _rendered(diff_id: UUID, form: str) -> HttpResponse:
    """The stored bytes, or one of the two texts made from them."""
    if form == "html":
        return _file(as_html(queries.report(diff_id)), "text/html; charset=utf-8")
    if form == "md":
        return _file(as_markdown(queries.report(diff_id)), "text/markdown; charset=utf-8")
    return _file(queries.body(diff_id), "application/json")


def _file(content: str | bytes, media_type: str) -> HttpResponse:
    response = HttpResponse(content, content_type=media_type)
    response["Cache-Control"] = "private, no-store"
    response["X-Content-Type-Options"] = "nosniff"
    if media_type.startswith("text/html"):
        response["Content-Security-Policy"] = POLICY  # also in the file, for when it lies on a disk
    return response
