"""Errors of runners."""

import shlex
from collections.abc import Collection

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


class VariableRefusal(ProblemError):
    """No runner of the app lets a replay set these variables."""

    code = "variable_not_allowed"
    status = 409

    def __init__(self, app: str, names: Collection[str]) -> None:
        options = " ".join(f"--env-allow {name}" for name in sorted(names))
        super().__init__(
            f"no runner of {app or 'this app'} that is online allows these variables; start one with {options}",
            where="/variables",
        )


class ToolRefusal(ProblemError):
    """No runner of the app lets these tools run, which nothing intercepts."""

    code = "consent_required"
    status = 409

    def __init__(self, app: str, names: Collection[str]) -> None:
        options = " ".join(f"--allow-tool {shlex.quote(name)}" for name in sorted(names))
        super().__init__(
            f"no runner of {app or 'this app'} that is online allows these tools, which nothing intercepts; "
            f"start one with {options}",
            where="/engine",
        )
