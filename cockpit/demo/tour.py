"""The tour of the demo that a first visit opens on: the failed run, and the replay that fixes it."""

from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from cockpit.demo.agent import loading
from cockpit.demo.local_model import provider
from traces.core.schema import Schema
from traces.http.responses import PROBLEMS


class Tour(Schema):
    """The failed run of the demo and the replay whose changes fix it; null while the demo loads, or without it."""

    is_loading: bool
    run: UUID | None
    session: UUID | None


def current() -> Tour:
    """Return the tour. It needs the local model, so a server without it has no tour."""
    if not provider.is_running():
        return Tour(is_loading=False, run=None, session=None)
    run = loading.failed_run()
    session = run and loading.first_fork(run)
    if run is None or session is None:
        return Tour(is_loading=not loading.completion.is_set(), run=None, session=None)
    return Tour(is_loading=False, run=run.id, session=session.id)


class TourView(APIView):
    @extend_schema(operation_id="tour", responses={200: Tour, **PROBLEMS})
    def get(self, request: Request) -> Response:
        """Return the tour of the demo."""
        return Response(current())
