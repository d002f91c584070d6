"""Scheduler of experiments: releases rows, counts their spending, and notifies watchers."""

from decimal import Decimal
from functools import lru_cache
from uuid import UUID

from django.db import transaction
from django.db.models import F, Q, QuerySet

from diffing.sentences.text import count_noun
from replay.core.errors import ReplayFailure
from replay.core.vocabulary import ACTIVE_STATUSES, SessionStatus
from replay.execution.observers import SessionObserver
from replay.models import Experiment, ExperimentRow, ReplaySession
from traces import notify


class ExperimentObserver(SessionObserver):
    """Counts the spending of experiments' sessions and notifies their watchers."""

    def call_intended(self, session_id: UUID, step: int) -> None:
        if (experiment := experiment_of(session_id)) is not None:
            take_call(experiment, step)

    def call_paid(self, session_id: UUID, cost_usd: Decimal) -> None:
        if (experiment := experiment_of(session_id)) is not None:
            add_cost(experiment, cost_usd)

    def session_changed(self, session_id: UUID) -> None:
        touch(session_id)

    def startable(self, pending: QuerySet[ReplaySession]) -> QuerySet[ReplaySession]:
        """Exclude rows of experiments that wait for a free slot."""
        return pending.exclude(experiment_row__released=False)


def release(experiment_id: UUID) -> list[UUID]:
    """Release as many rows as may run at once; returns the sessions to queue."""
    with transaction.atomic():
        experiment = Experiment.objects.select_for_update().get(id=experiment_id)
        rows = ExperimentRow.objects.filter(experiment=experiment)
        free = experiment.parallel - rows.filter(released=True, session__status__in=ACTIVE_STATUSES).count()
        waiting = rows.filter(released=False, session__status=SessionStatus.PENDING).order_by("number")[: max(0, free)]
        next_rows = list(waiting.values_list("id", "session_id"))
        rows.filter(id__in=[row for row, _ in next_rows]).update(released=True)
        for _, session in next_rows:
            touch(session)
    return [session for _, session in next_rows]


def release_after(session_id: UUID) -> list[UUID]:
    """The sessions to queue now that this session has stopped."""
    experiment = experiment_of(session_id)
    return [] if experiment is None else release(experiment)


@lru_cache(maxsize=4096)
def experiment_of(session_id: UUID) -> UUID | None:
    """The experiment of a session. Asked several times for each live call; it never changes."""
    return ExperimentRow.objects.filter(session_id=session_id).values_list("experiment_id", flat=True).first()


def touch(session_id: UUID) -> None:
    """Notify the watchers of a session's experiment, if it has one, that the session changed.

    The row gets the next sequence number and the experiment, whose totals change too, the one after.
    """
    experiment = experiment_of(session_id)
    if experiment is None:
        return
    with transaction.atomic():
        Experiment.objects.filter(id=experiment).update(last_seq=F("last_seq") + 2)
        last = Experiment.objects.values_list("last_seq", flat=True).get(id=experiment)
        ExperimentRow.objects.filter(session_id=session_id).update(seq=last - 1)
        notify.touch(f"experiment.{experiment}")


def take_call(experiment_id: UUID, step: int) -> None:
    """Count a live call against the experiment's budget; raises `ReplayFailure` if the budget is used up."""
    affordable = Q(max_live_calls=None) | Q(live_calls__lt=F("max_live_calls"))
    affordable &= Q(max_cost_usd=None) | Q(cost_usd__lt=F("max_cost_usd"))
    if Experiment.objects.filter(affordable, id=experiment_id).update(live_calls=F("live_calls") + 1):
        return
    experiment = Experiment.objects.get(id=experiment_id)
    if experiment.max_live_calls is not None and experiment.live_calls >= experiment.max_live_calls:
        detail = f"the experiment's budget allows {count_noun(experiment.max_live_calls, 'live call')}"
        raise ReplayFailure("budget_live_calls", detail, step=step)
    detail = f"the experiment's budget allows ${experiment.max_cost_usd:g}, and ${experiment.cost_usd:.4f} is spent"
    raise ReplayFailure("budget_cost", detail, step=step)


def add_cost(experiment_id: UUID, cost_usd: Decimal) -> None:
    Experiment.objects.filter(id=experiment_id).update(cost_usd=F("cost_usd") + cost_usd)
