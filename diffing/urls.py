"""Addresses under /api/v1."""

from django.urls import path

from diffing import api

urlpatterns = [
    path("diffs", api.DiffsView.as_view()),
    path("diffs/<uuid:id>", api.DiffView.as_view()),
]
