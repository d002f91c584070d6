"""URL routes. All paths outside the API belong to the browser application."""

from django.urls import include, path, re_path
from drf_spectacular.views import SpectacularSwaggerSplitView

from cockpit.demo import tour
from cockpit.http import admin_api, api, errors, openapi, spa

handler400 = errors.bad_request
handler403 = errors.bad_request
handler404 = errors.not_found
handler500 = errors.server_error

_own = [
    path("health", api.HealthView.as_view()),
    path("ready", api.ReadyView.as_view()),
    path("access", api.AccessView.as_view()),
    path("login", api.LoginView.as_view()),
    path("logout", api.LogoutView.as_view()),
    path("tour", tour.TourView.as_view()),
    path("settings", admin_api.SettingsView.as_view()),
    path("tokens", admin_api.TokensView.as_view()),
    path("tokens/<uuid:id>", admin_api.TokenRevokeView.as_view()),
    path("schema", openapi.SchemaView.as_view(), name="schema"),
    path("docs", SpectacularSwaggerSplitView.as_view()),
]
_PACKAGES = ("traces", "replay", "diffing", "cockpit.comments", "cockpit.sharing", "cockpit.gateway")
_apps = [path("", include(f"{package}.urls")) for package in _PACKAGES]

urlpatterns = [
    path("api/v1/", include([*_own, *_apps])),
    path("", include("traces.collectors.urls")),
    re_path(r"^(?!api/|assets/|static/|ws/|v1/|otel/|langsmith/)", spa.index),
]
