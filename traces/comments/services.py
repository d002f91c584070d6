"""Write, edit, resolve, delete and restore comments."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Final
from uuid import UUID

from django.db import transaction
from django.db.models import Q

from traces import notify
from traces.comments.queries import Author, CommentSubject, comments_on, find_comment
from traces.comments.schemas import CommentRequest
from traces.errors import InvalidQuery, NotFound, NotYours, ProblemError
from traces.models import Comment
from traces.redaction_policies.services import redaction_of

# A response lists them all.
MAX_COMMENTS: Final = 1_000
# How long a deleted comment can be restored.
_GRACE: Final = timedelta(hours=1)


class TooManyComments(ProblemError):
    """A subject with as many comments as it can have."""

    code = "conflict"
    status = 409


def add_comment(subject: CommentSubject, body: CommentRequest, author: Author, *, quote: str = "") -> Comment:
    """Store a comment. Its step or place exists; `quote` is what the place shows."""
    if comments_on(subject).count() >= MAX_COMMENTS:
        raise TooManyComments(f"{subject.name} has {MAX_COMMENTS:,} comments, the most it can have")
    thread = None if body.thread is None else find_comment(subject, body.thread)
    if thread is not None and thread.thread_id is not None:
        raise InvalidQuery("replies have no replies: reply to the first comment of the thread", where="/thread")
    comment = Comment.objects.create(
        kind=subject.kind,
        subject=subject.id,
        thread=thread,
        step_no=body.step,
        place=body.place and body.place.model_dump(),
        quote=_redact(subject, quote),
        text=_redact(subject, body.text),
        by=author.name,
        visitor=author.visitor,
    )
    _notify(subject)
    return comment


def edit_comment(subject: CommentSubject, id: UUID, text: str, author: Author) -> Comment:
    """Replace the text of one's own comment."""
    comment = find_comment(subject, id)
    if not author.wrote(comment):
        raise NotYours("only its author can edit a comment")
    comment.text, comment.edited_at = _redact(subject, text), datetime.now(UTC)
    return _save(subject, comment, "text", "edited_at")


def resolve_thread(subject: CommentSubject, id: UUID, author: Author, *, is_resolved: bool) -> Comment:
    """Resolve or reopen the thread that a comment began."""
    comment = find_comment(subject, id)
    if comment.thread_id is not None:
        raise InvalidQuery("this is a reply: resolve the first comment of the thread", where="/is_resolved")
    if not (author.is_member or author.wrote(comment)):
        raise NotYours("visitors can resolve only the threads that they began")
    comment.resolved_at = datetime.now(UTC) if is_resolved else None
    comment.resolved_by = author.name if is_resolved else ""
    return _save(subject, comment, "resolved_at", "resolved_by")


def delete_comment(subject: CommentSubject, id: UUID, author: Author) -> None:
    """Delete a comment; for an hour it can be restored."""
    comment = find_comment(subject, id)
    _check_may_delete(comment, author)
    comment.deleted_at = datetime.now(UTC)
    _save(subject, comment, "deleted_at")


def restore_comment(subject: CommentSubject, id: UUID, author: Author) -> Comment:
    """Undo the deletion of a comment."""
    comment = comments_on(subject).filter(id=id, deleted_at__gt=datetime.now(UTC) - _GRACE).first()
    if comment is None:
        raise NotFound(f"there is no comment {id} that can be restored")
    _check_may_delete(comment, author)
    comment.deleted_at = None
    return _save(subject, comment, "deleted_at")


def remove_comments(subjects: Iterable[UUID]) -> None:
    """Remove the comments on deleted subjects."""
    Comment.objects.filter(subject__in=[*subjects]).delete()


@transaction.atomic
def purge_comments() -> None:
    """Remove deleted comments that cannot be restored any more. Those with replies lose only their words."""
    end = datetime.now(UTC) - _GRACE
    replies = Comment.objects.filter(Q(deleted_at__isnull=True) | Q(deleted_at__gt=end), thread__isnull=False)
    lost_comments = Comment.objects.filter(deleted_at__lte=end)
    lost_comments.exclude(id__in=replies.values("thread")).delete()
    lost_comments.update(text="", quote="", by="", visitor="")


def is_purge_due() -> bool:
    """Return whether a deleted comment that cannot be restored still has its words."""
    return Comment.objects.filter(deleted_at__lte=datetime.now(UTC) - _GRACE).exclude(text="").exists()


def _check_may_delete(comment: Comment, author: Author) -> None:
    if not author.may_delete(comment):
        raise NotYours("only its author or an admin can delete a comment")


def _redact(subject: CommentSubject, text: str) -> str:
    for app in sorted(subject.apps):
        text = redaction_of(app).redactor().text(text)
    return text


def _save(subject: CommentSubject, comment: Comment, *columns: str) -> Comment:
    comment.save(update_fields=columns)
    _notify(subject)
    return comment


def _notify(subject: CommentSubject) -> None:
    notify.touch(f"{subject.kind}.{subject.id}")
