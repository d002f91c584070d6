"""What a runner sends and what it accepts: input, session, and variables that its user allowed. Nothing else."""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

# Addresses of the gateway, below that of the server: nothing that could name another host.
_PATH: Final = re.compile(r"/gateway/[\w.-]+")
_NAME: Final = re.compile(r"[\w.:-]{1,64}")
_FIELDS: Final = {"type", "session", "attempt", "rerun", "variables"}
_RERUN_FIELDS: Final = {
    "id",
    "attempt",
    "run",
    "seed",
    "started_at",
    "opened_at",
    "answered_at",
    "input",
    "path",
    "placeholder_key",
    "real_tools",
    "reviewed_tools",
}


class Unacceptable(Exception):
    """What a server asked for that a runner does not do."""


@dataclass(frozen=True)
class Start:
    """The agent of a session is to start."""

    session: str
    attempt: int
    rerun: Mapping[str, Any]
    variables: Mapping[str, str]

    @classmethod
    def parse(
        cls, message: Mapping[str, Any], env_allow: Collection[str], tools_to_run: Collection[str] = ()
    ) -> "Start":
        """Return a message's contents; raise `Unacceptable`, also if a tool would really run without consent."""
        rerun, variables = message.get("rerun"), message.get("variables", {})
        if surplus := sorted(set(message) - _FIELDS):
            raise Unacceptable(f"it sent {', '.join(surplus)}, and a runner accepts only input, session and variables")
        is_known = isinstance(rerun, dict) and "input" in rerun and rerun.keys() <= _RERUN_FIELDS
        if not isinstance(rerun, dict) or not is_known or not isinstance(variables, dict):
            raise Unacceptable("it sent a session that this runner does not know: is its version the same?")
        if names := sorted(set(variables) - set(env_allow)):
            raise Unacceptable(f"it sent the variable {names[0]}, which --env-allow does not name")
        if not _PATH.fullmatch(str(rerun.get("path"))):
            raise Unacceptable("it sent an address that is not its own")
        texts = [message.get("session"), rerun.get("id"), rerun.get("run")]
        if not all(isinstance(text, str) and _NAME.fullmatch(text) for text in texts):
            raise Unacceptable("it sent an id that is none")
        values = [rerun.get("seed"), rerun.get("started_at"), rerun.get("placeholder_key"), *variables.values()]
        if not all(isinstance(value, str) and "\0" not in value for value in values):
            raise Unacceptable("it sent a value that is no text")
        _check_tools(rerun, tools_to_run)
        if not all(_is_time(rerun.get(name)) for name in ("opened_at", "answered_at")):
            raise Unacceptable("it sent a time that is none")
        if not all(isinstance(item.get("attempt"), int) for item in (message, rerun)):
            raise Unacceptable("it sent no attempt")
        return cls(message["session"], message["attempt"], rerun, variables)


def _check_tools(rerun: Mapping[str, Any], tools_to_run: Collection[str]) -> None:
    """Raise `Unacceptable` if a tool would really run that the runner's user does not allow, and nobody reviewed."""
    real_tools, reviewed_tools = (rerun.get(name, []) for name in ("real_tools", "reviewed_tools"))
    for tools in (real_tools, reviewed_tools):
        if not isinstance(tools, list) or not all(isinstance(tool, str) for tool in tools):
            raise Unacceptable("it sent a list of tools that is none")
    if names := [tool for tool in real_tools if tool not in {*tools_to_run, *reviewed_tools}]:
        raise Unacceptable(f"the agent would really run {', '.join(names)}, which --allow-tool does not name")


def _is_time(value: object) -> bool:
    try:
        return value is None or bool(datetime.fromisoformat(str(value)))
    except ValueError:
        return False
