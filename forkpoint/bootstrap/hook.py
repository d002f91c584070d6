"""`forkpoint hook`: the `PreToolUse` hook of Claude Code and Codex, which asks before a shell command runs.

In a rerun, the command is replaced by one that prints what was recorded. The model still sees its own command, so that
the next request matches. Outside of a rerun the hook says nothing.

The agents run a command whose hook does not answer in time. So a hook that waits for the operator denies it before.
"""

import argparse
import json
import os
import re
import shlex
import sys
import tempfile
import time
from collections.abc import Sequence
from typing import Any, Final
from uuid import uuid4

from forkpoint.bootstrap.ancestry import find_variables
from forkpoint.bootstrap.gateway import Server

_RERUN: Final = "FORKPOINT_RERUN"
_EVENT: Final = "PreToolUse"
# The shortest limit that a version of the agents has where their settings state none. Later ones have ten minutes.
_LIMIT_S: Final = 60.0
# Of the limit, for the last question and the start of this process.
_MARGIN_S: Final = 10.0
_POLL_S: Final = 0.5
# Systems limit the length of one argument.
_LONGEST_TEXT: Final = 100_000
# What the agents add to the output of a command for the model: Claude Code where it failed, Codex always.
_CLAUDE_CODE: Final = re.compile(r"Exit code (\d+)(?:\n|\Z)")
_CODEX: Final = re.compile(r"(?>(?:.*\n)*?Process exited with code (\d+)\n)(?:.*\n)*?Output:\n")


def hook(arguments: Sequence[str]) -> int:
    """Answer the call on standard input, and return the exit code."""
    end = time.monotonic() + option_parser().parse_args(arguments).timeout - _MARGIN_S
    variables = find_variables(_RERUN)
    if not variables:
        return 0
    try:
        decision = _decide(json.load(sys.stdin), Server.from_environment(variables), variables[_RERUN], end)
    except (OSError, ValueError, KeyError) as error:
        decision = _denial(f"the rerun cannot be asked: {error}")
    if decision:
        print(json.dumps({"hookSpecificOutput": {"hookEventName": _EVENT, **decision}}))
    return 0


def _decide(call: Any, server: Server, rerun: str, end: float) -> dict[str, Any]:
    """Return what becomes of a call; empty if the agent decides itself. An operator is waited for until `end`."""
    arguments = call["tool_input"]
    if not isinstance(arguments, dict) or "command" not in arguments:
        return {}
    question = {
        "type": "tool",
        "name": call["tool_name"],
        "arguments": arguments,
        "is_shell": True,
        "call": uuid4().hex,
    }
    answer = server.send("POST", f"/reruns/{rerun}/tools", question)
    agent = os.getppid()
    while answer["decision"] == "ask":
        time.sleep(_POLL_S)
        is_last = time.monotonic() > end or os.getppid() != agent
        try:
            answer = server.send("POST", f"/reruns/{rerun}/tools", {**question, "is_last": is_last})
        except OSError as error:
            # The server may be away for as long as a restart takes.
            if is_last or getattr(error, "code", 500) < 500:
                raise
    if answer["decision"] == "run":
        return {}
    if answer["decision"] == "refusal":
        return _denial(answer["reason"])
    command = replacement(answer["output"], answer["error"])
    return {
        "permissionDecision": "allow",
        "permissionDecisionReason": "answered from the recording",
        "updatedInput": {**arguments, "command": command},
    }


def _denial(reason: str) -> dict[str, Any]:
    return {"permissionDecision": "deny", "permissionDecisionReason": f"forkpoint: {reason}"}


def replacement(output: Any, error: str) -> str:
    """Return a command that prints what was recorded, and ends as the recorded one did."""
    text = output if isinstance(output, str) else error or json.dumps(output)
    match = _CODEX.match(text) or _CLAUDE_CODE.match(text)
    code = int(match[1]) if match else int(bool(error))
    return f"{_print(text[match.end() :] if match else text)}; exit {code}"


def _print(text: str) -> str:
    if len(text.encode()) <= _LONGEST_TEXT:
        return f"printf %s {shlex.quote(text)}"
    with tempfile.NamedTemporaryFile("w", prefix="forkpoint-", suffix=".txt", encoding="utf-8", delete=False) as file:
        file.write(text)
    name = shlex.quote(file.name)
    # Nothing of a recording stays behind, unless the agent's sandbox forbids to remove it.
    return f"cat {name}; rm -f {name} 2>/dev/null"


def option_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="forkpoint hook",
        usage="forkpoint hook [--timeout SECONDS]",
        description="The PreToolUse hook of Claude Code and Codex. Inside `forkpoint rerun` it answers shell commands "
        "from the recording; elsewhere it does nothing.",
        allow_abbrev=False,
    )
    parser.add_argument(
        "--timeout",
        type=float,
        default=_LIMIT_S,
        metavar="SECONDS",
        help="The `timeout` of the hook in the agent's settings: ten seconds before, a command is denied if the "
        "operator has not decided. [default: 60]",
    )
    return parser
