"""All metrics of this process."""

from typing import Final

from django.conf import settings
from prometheus_client import CollectorRegistry, Info, ProcessCollector, disable_created_metrics

from cockpit.metrics.store import StoreCollector

# They would double the lines.
disable_created_metrics()  # type: ignore[no-untyped-call]
REGISTRY: Final = CollectorRegistry()
ProcessCollector(registry=REGISTRY)
REGISTRY.register(StoreCollector())
Info("forkpoint", "The version that runs.", registry=REGISTRY).info({"version": settings.VERSION})
