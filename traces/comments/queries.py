"""Read comments, and say who may change them."""

from dataclasses import dataclass
from hashlib import sha256
from typing import NamedTuple
from uuid import UUID

from django.db.models import QuerySet

from traces.comments.schemas import CommentList, CommentView, DiffPlace
from traces.core.vocabulary import CommentKind
from traces.errors import NotFound
from traces.models import Comment


class CommentSubject(NamedTuple):
    """A run or a report. The redaction policies of its apps apply to its comments."""

    kind: CommentKind
    id: UUID
    apps: frozenset[str]

    @property
    def name(self) -> str:
        return "this run" if self.kind == CommentKind.RUN else "this report"


@dataclass(frozen=True, kw_only=True, slots=True)
class Author:
    """Who reads or writes comments.

    The browser of a visitor proves by a key that it wrote a comment: visitors choose their names.
    """

    name: str
    visitor_key: str = ""
    # Signed in, with a role that may change data.
    is_member: bool = False
    is_admin: bool = False

    @property
    def visitor(self) -> str:
        return sha256(self.visitor_key.encode(errors="replace")).hexdigest() if self.visitor_key else ""

    def wrote(self, comment: Comment) -> bool:
        if comment.visitor:
            return comment.visitor == self.visitor
        return self.is_member and comment.by == self.name

    def may_delete(self, comment: Comment) -> bool:
        """True for one's own comments, for members those of visitors, and for admins all."""
        return self.wrote(comment) or self.is_admin or (self.is_member and bool(comment.visitor))


def comments_on(subject: CommentSubject) -> QuerySet[Comment]:
    """Return all comments on a subject, with the deleted ones."""
    return Comment.objects.filter(kind=subject.kind, subject=subject.id)


def find_comment(subject: CommentSubject, id: UUID) -> Comment:
    """Return a comment on a subject; raise `NotFound`."""
    comment = comments_on(subject).filter(id=id, deleted_at__isnull=True).first()
    if comment is None:
        raise NotFound(f"there is no comment {id} on {subject.name}")
    return comment


def comment_list(subject: CommentSubject, reader: Author) -> CommentList:
    """Return the comments on a subject, oldest first; of the deleted ones, those with replies."""
    rows = list(comments_on(subject).order_by("at", "id"))
    threads = {row.thread_id for row in rows if row.deleted_at is None}
    visible_rows = (row for row in rows if row.deleted_at is None or row.id in threads)
    return CommentList(comments=[comment_view(row, reader) for row in visible_rows])


def comment_view(row: Comment, reader: Author) -> CommentView:
    """Return a comment as a reader sees it."""
    is_deleted = row.deleted_at is not None
    return CommentView(
        id=row.id,
        thread=row.thread_id,
        step=row.step_no,
        place=None if row.place is None else DiffPlace.model_validate(row.place),
        quote=row.quote,
        text="" if is_deleted else row.text,
        by="" if is_deleted else row.by,
        is_visitor=bool(row.visitor),
        at=row.at,
        edited_at=row.edited_at,
        resolved_at=row.resolved_at,
        resolved_by=row.resolved_by,
        deleted_at=row.deleted_at,
        mine=not is_deleted and reader.wrote(row),
        may_delete=not is_deleted and reader.may_delete(row),
    )
