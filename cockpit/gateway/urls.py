"""Addresses of the gateway's sessions under /api/v1."""

from django.urls import path

from cockpit.gateway import api

urlpatterns = [
    path("gateway/sessions", api.GatewaySessionsView.as_view()),
    path("reruns", api.RerunsView.as_view()),
    path("reruns/<str:id>", api.RerunDetailView.as_view()),
    path("reruns/<str:id>/resume", api.RerunResumeView.as_view()),
    path("reruns/<str:id>/tools", api.RerunToolsView.as_view()),
    path("reruns/<str:id>/questions", api.RerunQuestionsView.as_view()),
    path("reruns/<str:id>/events", api.RerunEventsView.as_view()),
    path("reruns/<str:id>/hosts", api.RerunHostsView.as_view()),
    path("reruns/<str:id>/end", api.RerunEndView.as_view()),
    path("gateway/sessions/<str:session>/end", api.GatewaySessionEndView.as_view()),
]
