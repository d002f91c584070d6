"""What waits in the store. All processes report the same."""

from collections.abc import Iterable
from datetime import datetime
from typing import Final

import structlog
from django.db import Error as DatabaseError
from django.db.models import Count, Min
from django.utils import timezone
from prometheus_client import Metric
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from replay.core.vocabulary import OPEN_STATUSES, SessionStatus
from replay.models import ReplaySession, TelemetryCount
from traces.models import Recording, UnindexedRun

log = structlog.get_logger("cockpit.metrics")
# To count more of them would take longer, and says no more.
_MOST_UNINDEXED: Final = 1_000


class StoreCollector(Collector):
    """The metrics of the store, each by one query that an index answers; without a database, that alone."""

    def collect(self) -> Iterable[Metric]:
        try:
            metrics = [*_replays(), *_recordings(), _unindexed_runs(), _telemetry()]
        except DatabaseError as error:
            log.warning("metrics_incomplete", error=str(error).partition("\n")[0])
            metrics = []
        return [_gauge("forkpoint_database_up", "1 if the database answers.", bool(metrics)), *metrics]


def _replays() -> list[Metric]:
    rows = ReplaySession.objects.filter(status__in=OPEN_STATUSES).values_list("status")
    counts = dict(rows.annotate(count=Count("id")))
    by_status = GaugeMetricFamily("forkpoint_replays", "Replays that have not ended, by status.", labels=["status"])
    for status in sorted(OPEN_STATUSES):
        by_status.add_metric([status], counts.get(status, 0))
    oldest = ReplaySession.objects.filter(status=SessionStatus.PENDING).aggregate(at=Min("created_at"))["at"]
    return [
        by_status,
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
    help = "Events for other systems, by target and outcome."
    events = CounterMetricFamily("forkpoint_telemetry_events", help, labels=["target", "outcome"])
    for row in TelemetryCount.objects.order_by("target"):
        events.add_metric([row.target, "sent"], row.sent)
        events.add_metric([row.target, "dropped"], row.dropped)
    return events


def _gauge(name: str, help: str, value: float) -> Metric:
    return GaugeMetricFamily(name, help, value)


def _age(time: datetime | None) -> float:
    return 0.0 if time is None else max((timezone.now() - time).total_seconds(), 0.0)
