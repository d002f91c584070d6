"""The command `forkpoint mcp-shim`.

What passes is recorded. In a rerun, requests are answered from the recording, and the server is only started for a call
that must run. Outside of a session the server takes the place of this process.
"""

import argparse
import os
import re
import sys
from collections.abc import Sequence
from typing import Final

from forkpoint.bootstrap.ancestry import find_variables
from forkpoint.gateway_run import GATEWAY
from forkpoint.mcp_shim.session import Session
from forkpoint.mcp_shim.shim import Shim

_BAD_INPUT: Final = 2
_NAME: Final = re.compile(r"[^\w.-]+", re.ASCII)


def mcp_shim(arguments: Sequence[str]) -> int:
    """Serve until the client or the server ends, and return the exit code."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    options, words = option_parser().parse_args(arguments[:end]), [*arguments[end + 1 :]]
    if not words:
        option_parser().error("name a server to run: forkpoint mcp-shim -- python server.py")
    variables = find_variables(GATEWAY)
    if not variables:
        return _become(words)
    return Shim(words, Session(variables, _name(options.name or words))).serve()


def _become(words: Sequence[str]) -> int:
    try:
        os.execvp(words[0], [*words])  # noqa: S606 - it is the command that the user names
    except OSError as error:
        print(f"error: cannot run {words[0]}: {error.strerror}", file=sys.stderr)
    return _BAD_INPUT


def _name(words: str | Sequence[str]) -> str:
    """Return the name under which a server is known: without folders, which differ from machine to machine."""
    parts = [words] if isinstance(words, str) else [re.split(r"[/\\]", word)[-1] for word in words]
    return _NAME.sub("-", " ".join(parts)).strip("-")[:100] or "server"


def option_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="forkpoint mcp-shim",
        usage="forkpoint mcp-shim [--name NAME] -- COMMAND...",
        description="Stand before an MCP server on standard streams. Inside `forkpoint record --gateway`, its calls "
        "are recorded. Inside `forkpoint rerun` they are answered from the recording, and the server is only started "
        "for a call that may run. Elsewhere the server runs as it is.",
        allow_abbrev=False,
    )
    parser.add_argument("--name", help="Name of the server in the recording. [default: from COMMAND]")
    return parser
