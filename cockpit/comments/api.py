"""REST API of comments for those who are signed in."""

from uuid import UUID

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from cockpit.comments.subjects import anchor_quote, find_subject, subject_of
from traces.comments import services
from traces.comments.queries import Author, CommentSubject, comment_list, comment_view, find_comment
from traces.comments.schemas import CommentEdit, CommentList, CommentRequest, CommentView
from traces.core.json_types import JSONValue
from traces.core.vocabulary import CommentKind
from traces.errors import InvalidQuery
from traces.http.bodies import parse_body
from traces.http.idempotency import Key, make_once
from traces.http.responses import KEY, PROBLEMS, caller_of, key_of, role_of
from traces.runs import deleted_runs
from traces.runs.queries import as_uuid

SUBJECT = (
    OpenApiParameter("kind", str, enum=[kind.value for kind in CommentKind], required=True),
    OpenApiParameter("subject", OpenApiTypes.UUID, required=True, description="The id of the run or the report."),
)
_WRITING_ROLES = ("debugger", "admin")


class CommentsView(APIView):
    """Comments on a run or a report."""

    @extend_schema(operation_id="list_comments", parameters=[*SUBJECT], responses={200: CommentList, **PROBLEMS})
    def get(self, request: Request) -> Response:
        """List the comments on a run or a report, oldest first."""
        return Response(comment_list(requested_subject(request), _author(request)))

    @extend_schema(
        operation_id="add_comment",
        parameters=[*SUBJECT, KEY],
        request=CommentRequest,
        responses={201: CommentView, **PROBLEMS},
    )
    def post(self, request: Request) -> Response:
        """Comment on a step of a run, on a place in a report, or in a thread."""
        body, author = parse_body(CommentRequest, request.data), _author(request)
        return Response(add(requested_subject(request), body, author, key_of(request)), 201)


class CommentDetailView(APIView):
    """One comment."""

    @extend_schema(operation_id="edit_comment", request=CommentEdit, responses={200: CommentView, **PROBLEMS})
    def patch(self, request: Request, id: UUID) -> Response:
        """Edit one's own comment, or resolve or reopen its thread."""
        return Response(edit(subject_of(id), id, parse_body(CommentEdit, request.data), _author(request)))

    @extend_schema(operation_id="delete_comment", responses={204: None, **PROBLEMS})
    def delete(self, request: Request, id: UUID) -> Response:
        """Delete a comment: one's own, one of a visitor, or as an admin any. It can be restored for an hour."""
        services.delete_comment(subject_of(id), id, _author(request))
        return Response(status=204)


class CommentRestoreView(APIView):
    """The deletion of one comment."""

    @extend_schema(operation_id="restore_comment", request=None, responses={200: CommentView, **PROBLEMS})
    def post(self, request: Request, id: UUID) -> Response:
        """Undo the deletion of a comment."""
        author = _author(request)
        return Response(comment_view(services.restore_comment(subject_of(id), id, author), author))


def requested_subject(request: Request) -> CommentSubject:
    """Return the subject that the query names; raise `InvalidQuery` or `NotFound`."""
    kind, ref = (request.query_params.get(name, "") for name in ("kind", "subject"))
    if kind not in list(CommentKind):
        raise InvalidQuery(f"unknown kind “{kind}”; use one of {', '.join(CommentKind)}", where="/kind")
    if (id := as_uuid(ref)) is None:
        raise InvalidQuery(f"subject is “{ref}”: it must be an id", where="/subject")
    return find_subject(CommentKind(kind), id)


def add(subject: CommentSubject, body: CommentRequest, author: Author, key: Key | None = None) -> CommentView:
    """Store a comment on what it names. A repeated idempotency key returns the comment that it stored."""
    quote = anchor_quote(subject, body)

    def make() -> str:
        if subject.kind == CommentKind.RUN:
            deleted_runs.hold([subject.id])
        return str(services.add_comment(subject, body, author, quote=quote).id)

    request: JSONValue = [subject.kind, str(subject.id), body.model_dump(mode="json")]
    comment_id = make_once("comment", key, request, make)
    return comment_view(find_comment(subject, UUID(comment_id)), author)


def edit(subject: CommentSubject, id: UUID, body: CommentEdit, author: Author) -> CommentView:
    """Apply a change to a comment."""
    if body.text is not None:
        return comment_view(services.edit_comment(subject, id, body.text, author), author)
    is_resolved = bool(body.is_resolved)
    return comment_view(services.resolve_thread(subject, id, author, is_resolved=is_resolved), author)


def _author(request: Request) -> Author:
    role = role_of(request)
    return Author(name=caller_of(request), is_member=role in _WRITING_ROLES, is_admin=role == "admin")
