from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Final

from django.apps import AppConfig
from django.conf import settings
from django.utils.module_loading import import_string

if TYPE_CHECKING:
    from replay.execution.observers import SessionObserver

# What parses each setting; slow to import, and most installations set none of them.
_PARSERS: Final = {
    "TOOLS": "replay.live.tools.configured_tools",
    "MCP_SERVERS": "replay.live.mcp_servers.configured_servers",
    "RETRIEVERS": "replay.live.retrieval.configured_retrievers",
    "HOOKS": "replay.hooks.configuration.hooks",
    "TELEMETRY": "replay.hooks.configuration.targets",
}


class ReplayConfig(AppConfig):
    name = "replay"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Register what cites and observes, and validate the configuration now instead of in the middle of a replay."""
        citations = import_module("traces.retention.citations")
        citations.register(import_module("replay.store.citations").ReplayCiter())
        import_module("replay.execution.observers").register(_session_observers)
        for setting, parser in _PARSERS.items():
            if getattr(settings, setting):
                import_string(parser)()


def _session_observers() -> "Sequence[SessionObserver]":
    observers: Sequence[SessionObserver] = import_module("replay.tasks").session_observers()
    return observers
