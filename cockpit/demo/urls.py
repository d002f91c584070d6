"""Address of the demo's tour under /api/v1."""

from django.urls import path

from cockpit.demo import tour

urlpatterns = [
    path("tour", tour.TourView.as_view()),
]
