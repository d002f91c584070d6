"""Filters of the activity list, as conditions on the rows of each kind."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, get_args

from django.db.models import Exists, OuterRef, Q

from diffing.models import Evidence
from replay.activity.schemas import Kind, State
from replay.core.vocabulary import COMPLETED, FAILED, OPEN_STATUSES, SessionStatus
from replay.models import ExperimentRow
from traces.captions.queries import runs_by_answer
from traces.core.ids import id_bound
from traces.core.vocabulary import Outcome

KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
STATES: Final[tuple[State, ...]] = get_args(State)


@dataclass(frozen=True, kw_only=True)
class ActivityFilter:
    """What an entry must be. Empty values do not filter."""

    kinds: Sequence[Kind] = KINDS
    states: Collection[State] = ()
    # Of the fork, or of the candidate.
    outcomes: Collection[Outcome] = ()
    author: str = ""
    text: str = ""
    start: datetime | None = None
    end: datetime | None = None

    def condition(self, kind: Kind) -> Q:
        """Return the condition for the rows of a kind."""
        condition = self._times()
        if self.states:
            condition &= _state_condition(kind, self.states)
        if self.outcomes:
            condition &= _outcome_condition(kind, self.outcomes)
        if self.author:
            condition &= Q(by=self.author)
        if self.text:
            condition &= _text_condition(kind, self.text)
        return condition

    def _times(self) -> Q:
        """Return a condition on ids, which contain the time, so that the primary key provides the rows."""
        condition = Q()
        if self.start is not None:
            condition &= Q(id__gte=id_bound(self.start))
        if self.end is not None:
            condition &= Q(id__lt=id_bound(self.end))
        return condition


_NO_ROW: Final = Q(pk__in=())
_SESSION_STATUSES: Final[Mapping[State, Collection[SessionStatus]]] = {
    "waiting": {SessionStatus.AWAITING_OPERATOR},
    "running": OPEN_STATUSES - {SessionStatus.AWAITING_OPERATOR},
    "completed": COMPLETED,
    "failed": FAILED,
    "cancelled": {SessionStatus.CANCELLED},
}
_OUTCOMES: Final[Mapping[Kind, str]] = {
    "replay": "run__verdict__outcome",
    "diff": "candidate__verdict__outcome",
    "proof": "diff__candidate__verdict__outcome",
}
# Of the new run, which the list shows with its answer.
_ANSWERS: Final[Mapping[Kind, str]] = {"replay": "run", "diff": "candidate", "proof": "diff__candidate"}
_TEXTS: Final[Mapping[Kind, Sequence[str]]] = {
    "replay": (
        "source_run__name",
        "change__text",
        "run__caption__title",
        "run__caption__note",
        "error",
    ),
    "diff": (
        "base__name",
        "candidate__name",
        "candidate__caption__change__text",
        "candidate__caption__title",
        "cause",
        "effect",
        "sentence",
    ),
    "proof": (
        "diff__base__name",
        "diff__candidate__name",
        "diff__candidate__caption__change__text",
        "diff__candidate__caption__title",
        "error",
    ),
    "experiment": ("name", "source_run__name"),
    "bisection": ("run__name", "error"),
    "calibration": ("base__name", "candidate__name"),
}


def _state_condition(kind: Kind, states: Collection[State]) -> Q:
    match kind:
        case "replay":
            return Q(status__in={status for state in states for status in _SESSION_STATUSES[state]})
        case "proof" | "bisection":
            return Q(status__in=states)
        case "experiment":
            return _experiment_condition(states)
        case "diff" | "calibration":
            return Q() if "completed" in states else _NO_ROW


def _experiment_condition(states: Collection[State]) -> Q:
    """The status of an experiment is that of its sessions."""
    is_cancelled = Q(cancelled_at__isnull=False)
    open_rows = ExperimentRow.objects.filter(experiment=OuterRef("pk"), session__status__in=OPEN_STATUSES)
    condition = _NO_ROW
    if "cancelled" in states:
        condition |= is_cancelled
    if "running" in states:
        condition |= ~is_cancelled & Q(Exists(open_rows))
    if "completed" in states:
        condition |= ~is_cancelled & ~Q(Exists(open_rows))
    return condition


def _outcome_condition(kind: Kind, outcomes: Collection[Outcome]) -> Q:
    if kind not in _OUTCOMES:
        return _NO_ROW
    condition = Q(**{f"{_OUTCOMES[kind]}__in": outcomes})
    # The outcome of a run that still grows is not shown.
    return condition & Q(ended_at__isnull=False) if kind == "replay" else condition


def _text_condition(kind: Kind, text: str) -> Q:
    condition = _NO_ROW
    for column in _TEXTS[kind]:
        condition |= Q(**{f"{column}__icontains": text})
    if kind in _ANSWERS:
        condition |= Q(Exists(runs_by_answer(text).filter(pk=OuterRef(_ANSWERS[kind]))))
    if kind == "proof":
        matches = Evidence.objects.filter(Q(conclusion__icontains=text) | Q(headline__effect__icontains=text))
        condition |= Q(evidence_id__in=matches.values("id"))
    return condition
