"""Base of the endpoints of tracers: refusals are in the protocol of the client."""

from collections.abc import Mapping
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
# Agents may send the app of their runs with every request, by our header or as for Phoenix and LangSmith; it applies to
# all protocols.
_PROJECT_HEADERS: Final = ("x-forkpoint-app", "x-project-name", "langsmith-project")
# The project of clients of Phoenix and LangSmith that name none.
_DEFAULT_PROJECTS: Final = frozenset({"", "default"})
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
    return project_in(request.headers)


def project_in(headers: Mapping[str, str]) -> str:
    """Return the app that the headers of a request name; their names are in lower case, or in any."""
    names = (headers.get(header, "").strip() for header in _PROJECT_HEADERS)
    return next((name[:_MAX_PROJECT] for name in names if name not in _DEFAULT_PROJECTS), "")
