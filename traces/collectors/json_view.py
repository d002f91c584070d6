"""Base of the endpoints of JSON protocols: refusals are in the protocol's own shape."""

from typing import Any, Final

import orjson
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils.decorators import method_decorator
from django.views import View
from django.views.decorators.csrf import csrf_exempt

from traces.errors import ProblemError

_JSON: Final = "application/json"
# Agents may send the app of their runs with every request; it applies to all protocols.
PROJECT_HEADER: Final = "X-Forkpoint-App"
_MAX_PROJECT: Final = 120


@method_decorator(csrf_exempt, name="dispatch")
class JsonView(View):
    """Answers a `ProblemError` as `describe` says."""

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        try:
            return super().dispatch(request, *args, **kwargs)
        except ProblemError as problem:
            response = answer(self.describe(problem), problem.status)
            if wait := getattr(problem, "wait", None):
                response["Retry-After"] = str(wait)
            return response

    def describe(self, problem: ProblemError) -> object:
        """Return the body of a refusal."""
        raise NotImplementedError


def answer(content: object, status: int = 200) -> HttpResponse:
    return HttpResponse(orjson.dumps(content), status=status, content_type=_JSON)


def project_of(request: HttpRequest) -> str:
    return shorten_project(request.headers.get(PROJECT_HEADER, ""))


def shorten_project(name: str) -> str:
    return name[:_MAX_PROJECT]
