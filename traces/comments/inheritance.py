"""Comments on the steps of a run that a newer revision contains unchanged."""

from collections.abc import Collection, Iterable, Iterator
from typing import Final
from uuid import UUID

from django.db.models import Exists, F, OuterRef, QuerySet

from traces.core.ids import new_id
from traces.core.vocabulary import CommentKind
from traces.ingest.continuation import StepState, is_unchanged
from traces.models import Comment, Run, Step
from traces.storage import bulk

_STATE: Final = ("sequence_no", "external_id", "type", "input_ref", "output_ref")


def inherit(run_ids: Iterable[UUID]) -> None:
    """Copy threads on unchanged steps to new revisions from the runs that they continue.

    Call it inside a transaction.
    """
    has_comments = Exists(_comments_on(OuterRef("supersedes")))
    for chunk in bulk.chunks(run_ids):
        revisions = Run.objects.filter(has_comments, id__in=chunk).annotate(earlier=F("supersedes"))
        for run_id, earlier_id in revisions.values_list("id", "earlier"):
            Comment.objects.bulk_create(_copies(earlier_id, run_id))


def _comments_on(subject: UUID | OuterRef) -> QuerySet[Comment]:
    return Comment.objects.filter(kind=CommentKind.RUN, subject=subject)


def _copies(earlier_id: UUID, run_id: UUID) -> Iterator[Comment]:
    """Yield copies of the comments, each thread after its first comment."""
    comments = list(_comments_on(earlier_id).order_by("id"))
    numbers = _unchanged_steps(earlier_id, run_id, {row.step_no for row in comments if row.step_no is not None})
    copies: dict[UUID | None, UUID] = {}
    for comment in comments:
        if comment.step_no in numbers or comment.thread_id in copies:
            copies[comment.id] = new_id()
            comment.id, comment.subject = copies[comment.id], run_id
            comment.step_no = numbers.get(comment.step_no)
            comment.thread_id = copies.get(comment.thread_id)
            yield comment


def _unchanged_steps(earlier_id: UUID, run_id: UUID, numbers: Collection[int]) -> dict[int | None, int]:
    """Return the numbers of the steps in the newer run, by those in the earlier one."""
    earlier_steps = _steps(Step.objects.filter(run=earlier_id, sequence_no__in=numbers))
    later_steps = _steps(Step.objects.filter(run=run_id, external_id__in=list(earlier_steps)))
    return {
        number: later_steps[key][0]
        for key, (number, state) in earlier_steps.items()
        if key in later_steps and is_unchanged(state, later_steps[key][1])
    }


def _steps(rows: QuerySet[Step]) -> dict[str, tuple[int, StepState]]:
    return {key: (number, StepState(key, *columns)) for number, key, *columns in rows.values_list(*_STATE)}
