"""Addresses outside the API at which tracers find this server, as their protocols fix them."""

from django.urls import path

from traces.collectors.otlp_api import OtlpView
from traces.importers.otlp.raw_spans import Signal

_PREFIXES = ("", "otel/", "api/public/otel/")
urlpatterns = [
    path(f"{prefix}v1/{name}", OtlpView.as_view(signal=signal))
    for prefix in _PREFIXES
    for name, signal in (("traces", Signal.TRACES), ("logs", Signal.LOGS), ("metrics", None))
]
