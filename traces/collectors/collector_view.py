"""Base of the endpoints of tracers: refusals are in the protocol of the client."""

from typing import Any, Final

import orjson
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils.decorators import method_decorator
from django.views import View
from django.views.decorators.csrf import csrf_exempt

from traces.collectors.refusals import refusal_of, respond
from traces.errors import ProblemError

_JSON: Final = "application/json"
# Agents may send the app of their runs with every request; it applies to all protocols.
PROJECT_HEADER: Final = "X-Forkpoint-App"
_MAX_PROJECT: Final = 120


class WrongMethod(ProblemError):
    """A method that the address does not have."""

    status = 405


@method_decorator(csrf_exempt, name="dispatch")
class CollectorView(View):
    """Answers a `ProblemError` as the client's protocol has it."""

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        try:
            return super().dispatch(request, *args, **kwargs)
        except ProblemError as problem:
            if (response := respond(request, refusal_of(problem))) is None:
                raise
            return response

    def http_method_not_allowed(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        raise WrongMethod(f"there is no {request.method} at {request.path[:200]}")


def answer(content: object, status: int = 200) -> HttpResponse:
    return HttpResponse(orjson.dumps(content), status=status, content_type=_JSON)


def project_of(request: HttpRequest) -> str:
    return shorten_project(request.headers.get(PROJECT_HEADER, ""))


def shorten_project(name: str) -> str:
    return name[:_MAX_PROJECT]
