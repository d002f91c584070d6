from importlib import import_module

from django.apps import AppConfig

from replay.hooks import configuration
from replay.live import retrieval, tools


class ReplayConfig(AppConfig):
    name = "replay"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Load the tasks, and validate the configuration at start instead of in the middle of a replay."""
        import_module("replay.tasks")  # registers the session observers
        citations = import_module("traces.retention.citations")
        citations.register(import_module("replay.store.citations").ReplayCiter())
        tools.configured_tools()
        retrieval.configured_retrievers()
        configuration.hooks()
        configuration.targets()
