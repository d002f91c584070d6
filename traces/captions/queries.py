"""Read the captions of runs, with one query for a whole list."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from django.db.models import OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce

from traces.core.json_types import JSONValue
from traces.core.schema import ForkChange
from traces.core.vocabulary import Outcome, StepType
from traces.models import Run, Step
from traces.payloads.step_summaries import REQUEST_PREFIX
from traces.schemas import Caption
from traces.storage import bulk

# The answer is among the last steps of a run: a run may have 100,000.
_LAST_STEPS: Final = 12
# The first model call is among the first steps, below agents and prompts. In a fork: from the changed step on.
_FIRST_STEPS: Final = 40
_COLUMNS: Final = (
    "id",
    "verdict__outcome",
    "verdict__reason",
    "caption__change",
    "caption__title",
    "caption__note",
    "tags",
    "caption__tags",
    "answer",
    "model",
)
NO_CAPTION: Final = Caption(title="", note="", change=None, answer="")


@dataclass(frozen=True, kw_only=True, slots=True)
class CaptionedRun:
    """The caption, the outcome and the tags of a run, and the model of its first call."""

    caption: Caption
    outcome: Outcome
    outcome_reason: str
    tags: list[str]
    model: str


Captions = Mapping[UUID, CaptionedRun]
_DELETED_RUN: Final = CaptionedRun(caption=NO_CAPTION, outcome=Outcome.UNKNOWN, outcome_reason="", tags=[], model="")


def captions_of(runs: Iterable[Run]) -> Captions:
    """Return the captions of runs and of the runs that they were forked from.

    A run may have been deleted since it was read: its caption is empty.
    """
    sources = {run.id: run.source_run_id for run in runs}
    captions = dict.fromkeys(sources, _DELETED_RUN)
    for chunk in bulk.chunks({*sources, *sources.values()} - {None}):
        captions |= {id: _captioned_run(*columns) for id, *columns in _rows(chunk)}
    return captions


def tags_of(run_ids: Iterable[UUID]) -> dict[UUID, list[str]]:
    """Return the tags of runs: as recorded, unless users edited them."""
    rows = Run.objects.filter(id__in=list(run_ids)).values_list("id", "tags", "caption__tags")
    return {id: recorded_tags if tags is None else tags for id, recorded_tags, tags in rows}


def runs_by_answer(text: str) -> QuerySet[Run]:
    """Return the runs whose answer contains a text, whatever the case of its letters."""
    return Run.objects.annotate(answer=_answer()).filter(answer__icontains=text)


def _answer() -> Subquery:
    answers = (
        Step.objects.filter(run=OuterRef("pk"), sequence_no__gt=OuterRef("step_count") - _LAST_STEPS)
        .filter(type__in=(StepType.OUTPUT, StepType.MODEL))
        .exclude(Q(summary="") | Q(summary__startswith=REQUEST_PREFIX))
        # `output` sorts after `model`: an output step repeats the answer, and a model may be called after it.
        .order_by("-type", "-sequence_no")
    )
    return Subquery(answers.values("summary")[:1])


def _rows(ids: Iterable[UUID]) -> Iterable[tuple[Any, ...]]:
    first = Coalesce(OuterRef("fork_sequence_no"), 1)
    models = (
        Step.objects.filter(run=OuterRef("pk"), sequence_no__gte=first, sequence_no__lt=first + _FIRST_STEPS)
        .exclude(model="")
        .order_by("sequence_no")
        .values("model")
    )
    runs = Run.objects.filter(id__in=ids).annotate(answer=_answer(), model=Subquery(models[:1]))
    return runs.values_list(*_COLUMNS)


def _captioned_run(
    outcome: str,
    outcome_reason: str,
    change: JSONValue,
    title: str | None,
    note: str | None,
    recorded_tags: list[str],
    tags: list[str] | None,
    answer: str | None,
    model: str | None,
) -> CaptionedRun:
    caption = Caption(
        title=title or "",
        note=note or "",
        change=None if change is None else ForkChange.model_validate(change),
        answer=answer or "",
    )
    return CaptionedRun(
        caption=caption,
        outcome=Outcome(outcome),
        outcome_reason=outcome_reason,
        tags=recorded_tags if tags is None else tags,
        model=model or "",
    )
