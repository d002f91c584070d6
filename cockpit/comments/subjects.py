"""The subjects of comments: find them, and check what a comment is about."""

from uuid import UUID

from diffing import queries as diffs
from diffing.report.places import cause_title, quote
from traces.comments.queries import CommentSubject
from traces.comments.schemas import CommentRequest
from traces.core.vocabulary import CommentKind
from traces.errors import InvalidQuery, NotFound
from traces.models import Comment
from traces.runs.queries import find_run, find_step


def find_subject(kind: CommentKind, id: UUID) -> CommentSubject:
    """Return a run or a report that can have comments; raise `NotFound`."""
    if kind == CommentKind.RUN:
        return CommentSubject(kind, id, frozenset({find_run(str(id)).app}))
    report = diffs.find(id)
    return CommentSubject(kind, id, frozenset({report.base.app, report.candidate.app}))


def subject_of(comment_id: UUID) -> CommentSubject:
    """Return the subject of a comment; raise `NotFound`."""
    row = Comment.objects.filter(id=comment_id).values_list("kind", "subject").first()
    if row is None:
        raise NotFound(f"there is no comment {comment_id}")
    return find_subject(CommentKind(row[0]), row[1])


def anchor_quote(subject: CommentSubject, body: CommentRequest) -> str:
    """Return what the place of a new comment shows; raise an error if the subject has no such step or place."""
    if body.step is not None:
        _check_kind(subject, CommentKind.RUN, "/step")
        find_step(find_run(str(subject.id)), body.step)
    if body.place is None:
        return ""
    _check_kind(subject, CommentKind.DIFF, "/place")
    report = diffs.report(subject.id)
    is_cause = body.place.section == "causes"
    text = cause_title(report.attribution, body.place) if is_cause else quote(report.sections, body.place)
    if text is None:
        raise NotFound("this report has no such difference, or the difference has no such line", where="/place")
    return text


def _check_kind(subject: CommentSubject, kind: CommentKind, where: str) -> None:
    if subject.kind != kind:
        raise InvalidQuery("comments on a run name a `step`, comments on a report a `place`", where=where)
