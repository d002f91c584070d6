"""Addresses under /api/v1."""

from django.urls import path

from replay import api, tool_api

urlpatterns = [
    path("replays/preview", api.PreviewView.as_view()),
    path("replays", api.SessionsView.as_view()),
    path("replays/<str:id>", api.SessionDetailView.as_view()),
    path("replays/<str:id>/cancel", api.CancelView.as_view()),
    path("replays/<str:id>/answer", api.AnswerView.as_view()),
    path("providers", api.ProvidersView.as_view()),
    path("tools", tool_api.ToolsView.as_view()),
    path("tools.yaml", tool_api.ToolFileView.as_view()),
]
