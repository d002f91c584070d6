"""REST API of comments for visitors of shared pages, whose links allow them."""

from typing import Final
from uuid import UUID

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from cockpit.comments import api as comments
from cockpit.comments.subjects import find_subject
from cockpit.sharing.subjects import covered_run
from cockpit.sharing.visits import TICKET, SharedView, address_of, check_ticket
from traces.comments import services
from traces.comments.queries import Author, CommentSubject, comment_list, comment_view
from traces.comments.schemas import CommentEdit, CommentList, CommentView, VisitorCommentRequest
from traces.core.vocabulary import CommentKind, ShareAudience, ShareKind
from traces.errors import InvalidQuery
from traces.http.bodies import parse_body
from traces.http.responses import KEY, PROBLEMS, caller_of, key_of
from traces.http.throttling import Window
from traces.models import ShareLink
from traces.sharing import links

# Enough for a discussion, too slow for filling a page.
_WRITES: Final = Window(name="share-comments", limit=20, seconds=60)
_TOO_MANY: Final = "too many comments were written from this address; wait a minute"
_KEY_HEADER: Final = "X-Visitor-Key"
# A shorter key could be guessed.
_KEY_LENGTHS: Final = range(20, 101)
_KEY: Final = OpenApiParameter(
    _KEY_HEADER,
    str,
    OpenApiParameter.HEADER,
    description="20 to 100 random characters that a visitor's browser keeps: who sends them may edit its comments.",
)


class SharedCommentsView(SharedView):
    @extend_schema(
        operation_id="list_shared_comments", parameters=[TICKET, _KEY], responses={200: CommentList, **PROBLEMS}
    )
    def get(self, request: Request, token: str) -> Response:
        """List the comments on the subject of a link."""
        subject = _subject_of(_check_link(request, token))
        return Response(comment_list(subject, Author(name="", visitor_key=_key_of(request))))

    @extend_schema(
        operation_id="add_shared_comment",
        parameters=[TICKET, _KEY, KEY],
        request=VisitorCommentRequest,
        responses={201: CommentView, **PROBLEMS},
    )
    def post(self, request: Request, token: str) -> Response:
        """Comment as a visitor on the subject of a link."""
        link = _check_link(request, token)
        body = parse_body(VisitorCommentRequest, request.data)
        # Only links for signed-in users know who writes.
        name = body.name if link.audience == ShareAudience.ANYONE else caller_of(request)
        writer, key = _writer(request, name), key_of(request)
        # Visitors have no name of their own that another one could not use.
        own_key = key and key._replace(caller=writer.visitor)
        return Response(comments.add(_subject_of(link), body, writer, own_key), 201)


class SharedCommentDetailView(SharedView):
    @extend_schema(
        operation_id="edit_shared_comment",
        parameters=[TICKET, _KEY],
        request=CommentEdit,
        responses={200: CommentView, **PROBLEMS},
    )
    def patch(self, request: Request, token: str, id: UUID) -> Response:
        """Edit one's own comment, or resolve or reopen one's own thread."""
        subject = _subject_of(_check_link(request, token))
        return Response(comments.edit(subject, id, parse_body(CommentEdit, request.data), _writer(request)))

    @extend_schema(operation_id="delete_shared_comment", parameters=[TICKET, _KEY], responses={204: None, **PROBLEMS})
    def delete(self, request: Request, token: str, id: UUID) -> Response:
        """Delete one's own comment. It can be restored for an hour."""
        services.delete_comment(_subject_of(_check_link(request, token)), id, _writer(request))
        return Response(status=204)


class SharedCommentRestoreView(SharedView):
    @extend_schema(
        operation_id="restore_shared_comment",
        parameters=[TICKET, _KEY],
        request=None,
        responses={200: CommentView, **PROBLEMS},
    )
    def post(self, request: Request, token: str, id: UUID) -> Response:
        """Undo the deletion of one's own comment."""
        subject, author = _subject_of(_check_link(request, token)), _writer(request)
        return Response(comment_view(services.restore_comment(subject, id, author), author))


def _check_link(request: Request, token: str) -> ShareLink:
    """Return the link of a ticket if it allows comments; else raise the error of a link that does not open."""
    link = check_ticket(request, token)
    if not link.allows_comments:
        raise links.closed()
    return link


def _subject_of(link: ShareLink) -> CommentSubject:
    """Return what the visitors of a link comment on: its report, or the run whose steps it shows."""
    if link.kind == ShareKind.DIFF:
        return find_subject(CommentKind.DIFF, link.subject)
    run_id = covered_run(link)
    if run_id is None:
        raise links.closed()
    return find_subject(CommentKind.RUN, run_id)


def _writer(request: Request, name: str = "") -> Author:
    """Return the visitor that sent a request; count it."""
    _WRITES.count(address_of(request), _TOO_MANY)
    key = _key_of(request)
    if len(key) not in _KEY_LENGTHS:
        raise InvalidQuery(f"{_KEY_HEADER} must have 20 to 100 characters", where=_KEY_HEADER)
    return Author(name=name, visitor_key=key)


def _key_of(request: Request) -> str:
    return request.headers.get(_KEY_HEADER, "")
