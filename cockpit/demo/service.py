"""The demo beside a running server: its recordings, and then the runner of its agent."""

import threading

from django.conf import settings

from cockpit.demo.agent import loading
from cockpit.demo.runner.supervision import Supervisor


class Demo:
    """Loads the demo when the server listens, so that a first visitor waits for neither; ends with the server."""

    def __init__(self, *, restores_deleted: bool) -> None:
        """`restores_deleted` brings back what users have deleted."""
        self._restores_deleted = restores_deleted
        self._supervisor = Supervisor()

    def start(self, address: str) -> None:
        """Begin in the background, for the server at this address."""
        threading.Thread(target=self._run, args=(address,), name="demo", daemon=True).start()

    def stop(self) -> None:
        """End the runner, and with it the agents that it has started."""
        self._supervisor.stop()

    def _run(self, address: str) -> None:
        loading.load(restores_deleted=self._restores_deleted)
        # Where several processes serve, the agents run on the machines of their users.
        if settings.EMBEDDED and loading.has_runs():
            self._supervisor.run(address)
