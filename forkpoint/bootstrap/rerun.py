"""`forkpoint rerun`: run an agent again, with its model calls answered from the recording of a run."""

import argparse
import json
import os
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any, Final

from forkpoint.bootstrap.gateway import BAD_INPUT, CannotRun, Server, addresses, placeholders, run_program

# The agent does not do what its recording says.
_CHANGE: Final = 5
_LONGEST_VALUE: Final = 300
# A recording that has just ended is complete a moment later.
_COMPLETION_S: Final = 60.0
_PAUSE_S: Final = 0.5


def rerun(arguments: Sequence[str]) -> int:
    """Run the agent that the arguments name against a recording, and return the exit code."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    options, words = option_parser().parse_args(arguments[:end]), arguments[end + 1 :]
    if not words:
        option_parser().error("name a program to run: forkpoint rerun RUN -- python agent.py")
    settings = {"FORKPOINT_URL": options.url, "FORKPOINT_TOKEN": options.token}
    environment = {**os.environ, **{name: value for name, value in settings.items() if value is not None}}
    try:
        report, code = _run(options.run, words, environment)
    except CannotRun as problem:
        print(f"error: {problem}", file=sys.stderr)
        return problem.code
    print(_text(report), file=sys.stderr)
    return _CHANGE if report["divergence"] or report["misses"] or report["unused_steps"] else code


def _run(run: str, words: Sequence[str], environment: Mapping[str, str]) -> tuple[Any, int]:
    server = Server.from_environment(environment)
    if not server.url:
        raise CannotRun("rerun needs a server: name it with --url or FORKPOINT_URL", BAD_INPUT)
    session = _open(server, run)
    variables = {**addresses(server, session), **placeholders(environment, session["placeholder_key"])}
    code = run_program(words, {**environment, **variables})
    return server.open(f"/reruns/{session['id']}/end", {"exit_code": code}), code


def _open(server: Server, run: str) -> Any:
    """Open a rerun as soon as the recording is complete."""
    deadline = time.monotonic() + _COMPLETION_S
    while True:
        try:
            return server.open("/reruns", {"run": run})
        except CannotRun as refusal:
            if refusal.problem != "source_not_sealed" or time.monotonic() > deadline:
                raise
        time.sleep(_PAUSE_S)


def _text(report: Any) -> str:
    """Return what the agent did, in a few lines."""
    lines = [f"Rerun {report['id']} of run {report['run']}: {report['exact']} calls exact"]
    if report["cached"]:
        names = ", ".join(f"{name['old']} → {name['new']}" for name in report["names"][:5])
        lines[0] += f", {report['cached']} cached"
        lines.append(f"  volatile values: {names}" if names else "  only durations differ")
    if report["misses"]:
        lines[0] += f", {report['misses']} without an answer in the recording"
    if report["divergence"]:
        difference = report["divergence"]
        lines.append(f"  first difference, from step {difference['step']} at {difference['path']}:")
        lines += [f"    {side} {_value(difference[name])}" for side, name in (("-", "old"), ("+", "new"))]
    if report["unused_steps"]:
        lines.append(f"  recorded calls that were not made: steps {', '.join(map(str, report['unused_steps']))}")
    return "\n".join(lines)


def _value(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST_VALUE else text[:_LONGEST_VALUE] + "…"


def option_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="forkpoint rerun",
        usage="forkpoint rerun RUN [options] -- COMMAND...",
        description="Run an agent in any language again. Its model calls are answered from the recording of a run, and "
        "no call reaches a provider. Its tools really run.",
        epilog="COMMAND is the program to run, with its arguments. "
        "Exit code: 5 if a call is not in the recording or a recorded call was not made, else that of the "
        "program; 2 for wrong options, 6 if the server cannot be reached or opens no session.",
        allow_abbrev=False,
    )
    parser.add_argument("run", metavar="RUN", help="Run whose recording answers.")
    parser.add_argument("--url", help="Server with the recording. [env: FORKPOINT_URL]")
    parser.add_argument("--token", help="API token of the server. [env: FORKPOINT_TOKEN]")
    return parser
