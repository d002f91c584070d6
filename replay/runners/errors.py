"""Errors of runners."""

import shlex

from traces.errors import ProblemError


class NoRunner(ProblemError):
    """No runner of the app is online."""

    code = "no_runner"
    status = 409

    def __init__(self, app: str) -> None:
        command = f"forkpoint runner --app {shlex.quote(app)} -- python agent.py {{input}}"
        super().__init__(
            f"no runner of {app or 'this app'} is online; start one where the agent is installed: {command}",
            where="/engine",
        )
