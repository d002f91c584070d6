"""Addresses of share links under /api/v1."""

from django.urls import path

from cockpit.sharing import comments_api, links_api, shared_api

urlpatterns = [
    path("shares", links_api.SharesView.as_view()),
    path("shares/<uuid:id>", links_api.ShareRevokeView.as_view()),
    path("diffs/<uuid:id>/shares", links_api.DiffSharesView.as_view()),
    path("share/<str:token>", shared_api.SharedSubjectView.as_view()),
    path("share/<str:token>/ticket", shared_api.ShareTicketView.as_view()),
    path("share/<str:token>/diffs/<uuid:id>", shared_api.SharedReportView.as_view()),
    path("share/<str:token>/replays/<uuid:id>", shared_api.SharedReplayView.as_view()),
    path("share/<str:token>/experiments/<uuid:id>", shared_api.SharedExperimentView.as_view()),
    path("share/<str:token>/runs/<uuid:id>", shared_api.SharedRunView.as_view()),
    path("share/<str:token>/runs/<uuid:id>/tree", shared_api.SharedTreeView.as_view()),
    path("share/<str:token>/runs/<uuid:id>/steps", shared_api.SharedStepsView.as_view()),
    path("share/<str:token>/runs/<uuid:id>/transcript", shared_api.SharedTranscriptView.as_view()),
    path("share/<str:token>/runs/<uuid:id>/edges", shared_api.SharedEdgesView.as_view()),
    path("share/<str:token>/runs/<uuid:id>/usage", shared_api.SharedUsageView.as_view()),
    path("share/<str:token>/steps/<uuid:id>", shared_api.SharedStepView.as_view()),
    path("share/<str:token>/comments", comments_api.SharedCommentsView.as_view()),
    path("share/<str:token>/comments/<uuid:id>", comments_api.SharedCommentDetailView.as_view()),
    path("share/<str:token>/comments/<uuid:id>/restore", comments_api.SharedCommentRestoreView.as_view()),
]
