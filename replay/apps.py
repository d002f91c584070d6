from django.apps import AppConfig

from replay import retrieval, tools


class ReplayConfig(AppConfig):
    name = "replay"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """A tool or retriever that is configured wrongly is said at start, not in the middle of a replay."""
        tools.configured()
        retrieval.configured()
