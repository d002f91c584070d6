"""Addresses of comments under /api/v1."""

from django.urls import path

from cockpit.comments import api

urlpatterns = [
    path("comments", api.CommentsView.as_view()),
    path("comments/<uuid:id>", api.CommentDetailView.as_view()),
    path("comments/<uuid:id>/restore", api.CommentRestoreView.as_view()),
]
