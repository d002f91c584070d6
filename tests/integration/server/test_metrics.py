"""What Prometheus reads from `/metrics`."""

from datetime import timedelta

import pytest
from django.db import OperationalError
from django.test import Client
from django.utils import timezone

from cockpit.metrics import store
from replay.models import TelemetryCount
from traces.models import Recording

pytestmark = [pytest.mark.django_db, pytest.mark.divided]


def _metrics() -> dict[str, float]:
    lines = Client().get("/metrics").content.decode().splitlines()
    pairs = (line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
    return {name: float(value) for name, value in pairs}


def test_metrics_show_what_waits() -> None:
    TelemetryCount.objects.create(target="collector", sent=5, dropped=2)
    late = timezone.now() - timedelta(minutes=2)
    Recording.objects.create(key="k", external_id="r", arrived_at=late, due_at=late)
    metrics = _metrics()
    assert metrics["forkpoint_database_up"] == 1
    assert metrics['forkpoint_telemetry_events_total{outcome="dropped",target="collector"}'] == 2
    assert metrics["forkpoint_recordings"] == 1
    assert metrics["forkpoint_recordings_delay_seconds"] >= 120
    assert metrics['forkpoint_replays{status="pending"}'] == 0
    assert metrics["process_resident_memory_bytes"] > 10_000_000


def test_database_outage_is_a_metric(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise OperationalError("server closed the connection")

    monkeypatch.setattr(store, "_telemetry", fail)
    assert _metrics()["forkpoint_database_up"] == 0
