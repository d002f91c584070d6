"""Addresses outside the API at which tracers find this server, as their protocols fix them."""

from django.urls import include, path
from django.views.generic import RedirectView

from traces.collectors.langfuse import api as langfuse
from traces.collectors.langfuse import media
from traces.collectors.langsmith import api as langsmith
from traces.collectors.otlp.http_api import OtlpView
from traces.importers.otlp.raw_spans import Signal

_PREFIXES = ("", "otel/", "api/public/otel/", "langsmith/otel/")
_OTLP = [
    path(f"{prefix}v1/{name}", OtlpView.as_view(signal=signal))
    for prefix in _PREFIXES
    for name, signal in (("traces", Signal.TRACES), ("logs", Signal.LOGS), ("metrics", None))
]
_LANGFUSE = [
    path("ingestion", langfuse.IngestionView.as_view()),
    path("scores", langfuse.ScoresView.as_view()),
    path("v2/scores", langfuse.ScoresView.as_view()),
    path("scores/<path:id>", langfuse.ScoreView.as_view()),
    path("health", langfuse.HealthView.as_view()),
    path("projects", langfuse.ProjectsView.as_view()),
    path("media", media.MediaView.as_view()),
    path("media/<str:id>", media.MediaStateView.as_view()),
    path("v2/prompts/<path:path>", langfuse.PromptView.as_view()),
    path("<path:path>", langfuse.MissingView.as_view()),
]
_LANGSMITH = [
    path("info", langsmith.InfoView.as_view()),
    path("runs/multipart", langsmith.MultipartView.as_view()),
    path("runs/batch", langsmith.BatchView.as_view()),
    path("runs", langsmith.RunsView.as_view()),
    path("runs/<str:id>", langsmith.RunView.as_view()),
    path("feedback", langsmith.FeedbackListView.as_view()),
    path("feedback/<str:id>", langsmith.FeedbackView.as_view()),
    path("sessions", langsmith.SessionsView.as_view()),
    path("<path:path>", langsmith.MissingView.as_view()),
]
urlpatterns = [
    *_OTLP,
    path("api/public/", include(_LANGFUSE)),
    # Uploads are authorized by their address, not by a key.
    path("langfuse-media/<str:token>", media.UploadView.as_view()),
    # The link to a trace that Langfuse clients compute.
    path("project/<str:project>/traces/<str:trace>", RedirectView.as_view(url="/runs/%(trace)s")),
    path("langsmith/", include(_LANGSMITH)),
]
