"""URL routes. All paths outside the API belong to the browser application."""

from collections.abc import Callable
from functools import cache
from typing import Any

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.urls import URLResolver, include, path, re_path
from django.urls.resolvers import RoutePattern
from django.utils.module_loading import import_string

from cockpit.http import api, errors

handler400 = errors.bad_request
handler403 = errors.bad_request
handler404 = errors.not_found
handler500 = errors.server_error


def _view(name: str) -> Callable[..., HttpResponseBase]:
    """Return a view that its first request imports."""

    @cache
    def load() -> Callable[..., HttpResponseBase]:
        view: Callable[..., HttpResponseBase] = import_string(name)
        return view

    def call(request: HttpRequest, **arguments: Any) -> HttpResponseBase:
        return load()(request, **arguments)

    return call


def _package(name: str) -> URLResolver:
    """Include a package's routes, imported by the first request that no route before them answers.

    A command sends a few requests and ends, so that imports would take most of its time.
    """
    return URLResolver(RoutePattern(""), f"{name}.urls")


_own = [
    path("health", api.HealthView.as_view()),
    path("ready", api.ReadyView.as_view()),
    path("access", api.AccessView.as_view()),
    path("login", api.LoginView.as_view()),
    path("logout", api.LogoutView.as_view()),
    path("schema", _view("cockpit.http.openapi.schema"), name="schema"),
    path("docs", _view("cockpit.http.openapi.docs")),
]
_PACKAGES = (
    "traces",
    "diffing",
    "replay",
    "cockpit.comments",
    "cockpit.sharing",
    "cockpit.gateway",
    "cockpit.http",
    "cockpit.demo",
)

urlpatterns = [
    path("api/v1/", include([*_own, *map(_package, _PACKAGES)])),
    _package("traces.collectors"),
    path("metrics", _view("cockpit.metrics.view.read_metrics")),
    re_path(r"^(?!api/|assets/|static/|ws/|v1/|otel/|langsmith/)", _view("cockpit.http.spa.index")),
]
