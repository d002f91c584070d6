"""The command `forkpoint`. The commands that run agents come with the SDK, all others come with the server."""

import sys
from importlib.metadata import EntryPoint, entry_points, version
from typing import Final

from forkpoint.bootstrap.record import record

# Here the server's distribution names the function that runs its commands.
_GROUP: Final = "forkpoint.commands"
_USAGE: Final = """usage: forkpoint record [options] -- COMMAND...
       forkpoint rerun RUN [options] -- COMMAND...
       forkpoint mcp-shim [--name NAME] -- COMMAND...
       forkpoint hook [--timeout SECONDS]
       forkpoint runner --app APP [options] -- COMMAND...
       forkpoint --version

Record runs of LLM agents, and run the agents again. Each command lists its options with --help."""
_SERVER: Final = "All other commands need the server: install the distribution forkpoint-server."
_BAD_INPUT: Final = 2


def main() -> None:
    """Run the command that the arguments name, and exit with its code."""
    command, *arguments = sys.argv[1:] or [""]
    if command == "record":
        sys.exit(record(arguments))
    if command == "rerun":
        from forkpoint.bootstrap.rerun import rerun  # noqa: PLC0415 - as in `record`, urllib is slow to import

        sys.exit(rerun(arguments))
    if command == "mcp-shim":
        from forkpoint.mcp_shim.command import mcp_shim  # noqa: PLC0415 - as above

        sys.exit(mcp_shim(arguments))
    if command == "hook":
        from forkpoint.bootstrap.hook import hook  # noqa: PLC0415 - as above

        sys.exit(hook(arguments))
    if command == "runner":
        from forkpoint.runner.command import run  # noqa: PLC0415 - as above

        sys.exit(run(arguments))
    server = _server()
    if command == "--version":
        print_versions()
    elif server is not None:
        server.load()()
    else:
        sys.exit(_explain(command))


def print_versions() -> None:
    """Print the version of the SDK, and of the server if it is installed."""
    print(f"forkpoint {version('forkpoint')}")
    server = _server()
    if server is not None and server.dist is not None:
        print(f"{server.dist.name} {server.dist.version}")


def _server() -> EntryPoint | None:
    return next(iter(entry_points(group=_GROUP, name="server")), None)


def _explain(command: str) -> int:
    """Answer a command that the SDK does not have, and return the exit code."""
    if command in {"-h", "--help"}:
        print(f"{_USAGE}\n\n{_SERVER}")
        return 0
    reason = f"error: `{command}` is not a command of the SDK.\n" if command else f"{_USAGE}\n\n"
    print(f"{reason}{_SERVER}", file=sys.stderr)
    return _BAD_INPUT
