from importlib import import_module

from django.apps import AppConfig


class DiffingConfig(AppConfig):
    name = "diffing"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Register what cites runs; the modules need the loaded models."""
        citations = import_module("traces.retention.citations")
        citations.register(import_module("diffing.citations").ReportCiter())
