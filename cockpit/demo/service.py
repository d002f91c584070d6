"""The demo beside a running server: its recordings, the runner of its agent, and the fork that this runner makes."""

import threading
import time
from functools import partial
from typing import Final

from django.conf import settings

from cockpit.demo.agent import APP, loading
from cockpit.demo.runner.supervision import Supervisor
from replay.runners import queries as runners

# After this, the fork follows the recording instead.
_RUNNER_LIMIT_S: Final = 20


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
        # Where several processes serve, the agents run on the machines of their users.
        start_runner = partial(self._start_runner, address) if settings.EMBEDDED else None
        loading.load(restores_deleted=self._restores_deleted, start_runner=start_runner)

    def _start_runner(self, address: str) -> None:
        """Start the runner, and wait until it is online."""
        threading.Thread(target=self._supervisor.run, args=(address,), name="demo-runner", daemon=True).start()
        deadline = time.monotonic() + _RUNNER_LIMIT_S
        while not runners.online(APP).exists() and time.monotonic() < deadline:
            time.sleep(0.05)
