"""REST API of diffs."""

from uuid import UUID

from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from diffing import queries, services
from diffing.errors import DiffFailed
from diffing.models import DiffReport
from diffing.render.html import POLICY, as_html
from diffing.render.markdown import as_markdown
from diffing.schemas.report import DiffList, DiffPending, DiffRequest, DiffStatus
from diffing.schemas.report import DiffReport as Report
from traces.comments.queries import Author, CommentSubject, comment_list
from traces.core.vocabulary import CommentKind
from traces.errors import InvalidQuery
from traces.http.bodies import parse_body
from traces.http.idempotency import check_key
from traces.http.negotiation import AnyMediaType
from traces.http.paging import yes_or_no
from traces.http.responses import KEY, PROBLEMS, caller_of, key_of, query
from traces.runs.queries import find_run

_FORMAT_NAMES = ("json", "md", "html")
FORMAT_PARAMETER = OpenApiParameter("format", str, enum=_FORMAT_NAMES, description="`html` is one self-contained file.")


class DiffsView(APIView):
    """Reports."""

    @extend_schema(
        operation_id="diffs_list",
        parameters=[OpenApiParameter("run", OpenApiTypes.STR, description="Only reports of this run.")],
        responses={200: DiffList, **PROBLEMS},
    )
    def get(self, request: Request) -> Response:
        """The newest reports."""
        run_ref = request.query_params.get("run")
        run = find_run(run_ref).id if run_ref else None
        return Response(DiffList(diffs=queries.latest(run=run)))

    @extend_schema(
        operation_id="diffs_create",
        parameters=[KEY],
        request=DiffRequest,
        responses={
            200: Report,
            202: OpenApiResponse(DiffPending, "A worker computes the report; poll `/diffs/{id}` for it."),
            **PROBLEMS,
        },
    )
    def post(self, request: Request) -> HttpResponse:
        """Compare two runs. The same question gives the same report.

        Without embeddings the answer is the report itself. With them (the extra `semantic` is installed and
        `similarity` is `auto`) a worker makes it: 202 with its id.
        """
        diff_request = parse_body(DiffRequest, request.data)
        check_key("diff", key_of(request), request.data)
        row = services.request(
            base_id=find_run(diff_request.base).id,
            candidate_id=find_run(diff_request.candidate).id,
            options=diff_request.options,
            by=caller_of(request),
        )
        return _row_response(row, "json")


class DiffView(APIView):
    """One report."""

    content_negotiation_class = AnyMediaType

    @extend_schema(
        operation_id="diffs_retrieve",
        parameters=[FORMAT_PARAMETER, query("comments", "`true`: list the comments in `md` and `html`.")],
        responses={
            (200, "application/json"): Report,
            (200, "text/markdown"): OpenApiTypes.STR,
            (200, "text/html"): OpenApiTypes.STR,
            202: OpenApiResponse(DiffPending, "Not ready yet: try again, or wait for a message on the `diff` socket."),
            **PROBLEMS,
        },
    )
    def get(self, request: Request, id: UUID) -> HttpResponse:
        """A report as JSON, Markdown, or one HTML file that opens offline."""
        has_comments = yes_or_no(request.query_params, "comments", default=False)
        return _row_response(queries.find(id), format_name(request), has_comments=has_comments)


def format_name(request: Request) -> str:
    """The format that a request asks for; raise `InvalidQuery`."""
    form = request.query_params.get("format", "json")
    if form not in _FORMAT_NAMES:
        raise InvalidQuery(f"unknown format “{form}”; use one of {', '.join(_FORMAT_NAMES)}", where="/format")
    return form


def _row_response(row: DiffReport, form: str, *, has_comments: bool = False) -> HttpResponse:
    if row.status == DiffStatus.READY:
        return report_response(row.id, form, has_comments=has_comments)
    # A run may have been deleted while the report was made.
    queries.check_content(row)
    if row.status == DiffStatus.FAILED:
        raise DiffFailed(f"the comparison failed: {row.error}")
    return Response(queries.pending(row), 202)


def report_response(diff_id: UUID, form: str, *, has_comments: bool = False) -> HttpResponse:
    """The stored report as JSON, Markdown or HTML; JSON has no comments."""
    if form == "json":
        return _content_response(queries.body(diff_id), "application/json")
    subject = CommentSubject(CommentKind.DIFF, diff_id, frozenset())
    comments = comment_list(subject, Author(name="")).comments if has_comments else []
    if form == "html":
        return _content_response(as_html(queries.report(diff_id), comments), "text/html; charset=utf-8")
    return _content_response(as_markdown(queries.report(diff_id), comments), "text/markdown; charset=utf-8")


def _content_response(content: str | bytes, media_type: str) -> HttpResponse:
    response = HttpResponse(content, content_type=media_type)
    response["Cache-Control"] = "private, no-store"
    response["X-Content-Type-Options"] = "nosniff"
    if media_type.startswith("text/html"):
        # The file contains the policy as well, for when it is opened from a disk.
        response["Content-Security-Policy"] = POLICY
    return response
