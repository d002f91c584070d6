"""Addresses under /api/v1."""

from django.urls import path

from replay import api, tool_api
from replay.experiments import api as experiments

urlpatterns = [
    path("replays/preview", api.PreviewView.as_view()),
    path("replays", api.SessionsView.as_view()),
    path("replays/<str:id>", api.SessionDetailView.as_view()),
    path("replays/<str:id>/cancel", api.CancelView.as_view()),
    path("replays/<str:id>/answer", api.AnswerView.as_view()),
    path("experiments/preview", experiments.ExperimentPreviewView.as_view()),
    path("experiments", experiments.ExperimentsView.as_view()),
    path("experiments/<str:id>", experiments.ExperimentDetailView.as_view()),
    path("experiments/<str:id>/cancel", experiments.ExperimentCancelView.as_view()),
    path("providers", api.ProvidersView.as_view()),
    path("tools", tool_api.ToolsView.as_view()),
    path("tools.yaml", tool_api.ToolFileView.as_view()),
]
