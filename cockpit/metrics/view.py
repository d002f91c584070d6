"""`/metrics`: the metrics in the text format of Prometheus."""

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe
from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4, generate_latest

from cockpit.metrics.registry import REGISTRY


@require_safe
def read_metrics(request: HttpRequest) -> HttpResponse:
    """Return the metrics of this process, and those of the store if its database answers."""
    return HttpResponse(generate_latest(REGISTRY), content_type=CONTENT_TYPE_PLAIN_0_0_4)
