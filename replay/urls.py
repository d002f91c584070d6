"""Addresses under /api/v1."""

from django.urls import path

from replay import api

urlpatterns = [
    path("replays/preview", api.PreviewView.as_view()),
    path("replays", api.SessionsView.as_view()),
    path("replays/<str:id>", api.SessionDetailView.as_view()),
    path("replays/<str:id>/cancel", api.CancelView.as_view()),
    path("replays/<str:id>/answer", api.AnswerView.as_view()),
    path("providers", api.ProvidersView.as_view()),
]
