"""What waits in the store. All processes report the same."""

from datetime import datetime
from typing import Final

from django.db.models import Count, Min
from django.utils import timezone

from cockpit.metrics.exposition import Metric, Sample
from replay.core.vocabulary import OPEN_STATUSES, SessionStatus
from replay.models import ReplaySession, TelemetryCount
from traces.models import Recording, UnindexedRun

# To count more of them would take longer, and says no more.
_MOST_UNINDEXED: Final = 1_000


def metrics() -> list[Metric]:
    """Return the metrics of the store, each by one query that an index answers."""
    return [*_replays(), *_recordings(), _unindexed_runs(), _telemetry()]


def _replays() -> list[Metric]:
    rows = ReplaySession.objects.filter(status__in=OPEN_STATUSES).values_list("status")
    counts = dict(rows.annotate(count=Count("id")))
    oldest = ReplaySession.objects.filter(status=SessionStatus.PENDING).aggregate(at=Min("created_at"))["at"]
    return [
        Metric(
            name="forkpoint_replays",
            help="Replays that have not ended, by status.",
            type="gauge",
            samples=[
                Sample(value=counts.get(status, 0), labels={"status": status}) for status in sorted(OPEN_STATUSES)
            ],
        ),
        _gauge("forkpoint_replays_oldest_pending_seconds", "Age of the oldest replay without a worker.", _age(oldest)),
    ]


def _recordings() -> list[Metric]:
    open_recordings = Recording.objects.filter(due_at__isnull=False)
    oldest = open_recordings.filter(due_at__lt=timezone.now()).aggregate(at=Min("due_at"))["at"]
    return [
        _gauge("forkpoint_recordings", "Runs that are being recorded, or wait to be sealed.", open_recordings.count()),
        _gauge(
            "forkpoint_recordings_delay_seconds", "Time that received records have waited for assembly.", _age(oldest)
        ),
    ]


def _unindexed_runs() -> Metric:
    help = f"Runs that search does not cover yet, up to {_MOST_UNINDEXED:,}."
    return _gauge("forkpoint_runs_unindexed", help, UnindexedRun.objects.all()[:_MOST_UNINDEXED].count())


def _telemetry() -> Metric:
    samples = [
        Sample(value=count, labels={"target": row.target, "outcome": outcome})
        for row in TelemetryCount.objects.order_by("target")
        for outcome, count in (("sent", row.sent), ("dropped", row.dropped))
    ]
    return Metric(
        name="forkpoint_telemetry_events_total",
        help="Events for other systems, by target and outcome.",
        type="counter",
        samples=samples,
    )


def _gauge(name: str, help: str, value: float) -> Metric:
    return Metric(name=name, help=help, type="gauge", samples=[Sample(value=value)])


def _age(time: datetime | None) -> float:
    return 0.0 if time is None else max((timezone.now() - time).total_seconds(), 0.0)
