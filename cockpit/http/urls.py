"""Addresses of the administration under /api/v1."""

from django.urls import path

from cockpit.http import admin_api

urlpatterns = [
    path("settings", admin_api.SettingsView.as_view()),
    path("tokens", admin_api.TokensView.as_view()),
    path("tokens/<uuid:id>", admin_api.TokenRevokeView.as_view()),
]
