"""`forkpoint rerun`: run an agent again, with its model calls answered from the recording of a run."""

import argparse
import json
import math
import os
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

from forkpoint.bootstrap import child_environment
from forkpoint.bootstrap.clients import CLIENT_HELP, CLIENTS
from forkpoint.bootstrap.gateway import (
    BAD_INPUT,
    CannotRun,
    Server,
    placeholders,
    refuse_addresses,
    run_client,
)
from forkpoint.bootstrap.native_clock import native_clock
from forkpoint.bootstrap.node_preload import node_preload
from forkpoint.bootstrap.rerun_report import real_tools_text, report_text
from forkpoint.bootstrap.server_clock import ServerClock
from forkpoint.bootstrap.terminal_operator import TerminalOperator, has_terminal
from forkpoint.confinement.credentials import hide_environment, session_environment
from forkpoint.confinement.left_processes import MARK, end_left_processes
from forkpoint.confinement.limits import Confinement
from forkpoint.confinement.network import Host
from forkpoint.confinement.terminal_text import harmless
from forkpoint.gateway_run import VARIABLE

# The agent does not do what its recording says.
_CHANGE: Final = 5
INPUT: Final = "{input}"
# A recording that has just ended is complete a moment later.
_COMPLETION_S: Final = 60.0
_PAUSE_S: Final = 0.5
# The comparison of a long fork with its recording.
_COMPARISON_S: Final = 120.0


def rerun(arguments: Sequence[str]) -> int:
    """Run the agent that the arguments name against a recording, and return the exit code."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    options, words = option_parser().parse_args(arguments[:end]), arguments[end + 1 :]
    if not words:
        option_parser().error("name a program to run: forkpoint rerun RUN -- python agent.py")
    if bool(options.run) == bool(options.resume):
        option_parser().error("name a run, or a rerun with --resume")
    settings = {"FORKPOINT_URL": options.url, "FORKPOINT_TOKEN": options.token}
    environment = {**os.environ, **{name: value for name, value in settings.items() if value is not None}}
    try:
        server = Server.from_environment(environment)
        report, code = _run(server, options, words, environment)
    except CannotRun as problem:
        print(harmless(f"error: {problem}"), file=sys.stderr)
        return problem.code
    print(harmless(report_text(report)), file=sys.stderr)
    if report["is_fork"]:
        print(_links(server, report), file=sys.stderr)
    return code if _is_as_expected(report) else _CHANGE


def _is_as_expected(report: Any) -> bool:
    """Return whether every call got an answer and, unless the rerun is a fork, all were those of the recording."""
    if report["misses"] or any(tool["refusal"] for tool in report["tools"]):
        return False
    is_same = not (report["divergence"] or report["unused_steps"] or report["from_other_runs"])
    return bool(report["is_fork"]) or is_same


def _run(
    server: Server, options: argparse.Namespace, words: Sequence[str], environment: Mapping[str, str]
) -> tuple[Any, int]:
    if not server.url:
        raise CannotRun("rerun needs a server: name it with --url or FORKPOINT_URL", BAD_INPUT)
    changes = _changes(options)
    if changes.get("live"):
        refuse_addresses(environment)
    if options.ask_tool and not has_terminal():
        print("warning: there is no terminal to ask on, so that calls of --ask-tool are refused", file=sys.stderr)
    if options.resume:
        session = _open(server, f"/reruns/{options.resume}/resume", {"allow_tools": options.allow_tool})
    else:
        limits = {
            "allow_tools": options.allow_tool,
            "ask_tools": options.ask_tool if has_terminal() else [],
            "hook_tools": options.hook_tool,
            "budget": _budget(options),
            "pauses": options.pauses,
        }
        session = open_rerun(server, {"run": options.run, **limits, **changes})
    if changes or options.resume:
        print(f"Rerun {session['id']}: start the agent again with --resume {session['id']}", file=sys.stderr)
    confinement = Confinement(
        hosts=options.allow_host if options.network == "listed" else None, is_frozen=options.freeze
    )
    print(confinement.description(server.url), file=sys.stderr)
    agent = Agent(words, environment, options.client, options.timeout)
    # Also after --resume: what is asked about was decided at the first start.
    is_asking = bool(options.ask_tool or options.resume) and has_terminal()
    with TerminalOperator(server, session["id"]) if is_asking else nullcontext():
        return run_agent(server, session, agent, confinement)


@dataclass(frozen=True)
class Agent:
    """A program to run again: its words, in which `{input}` is the recorded input, its environment, and its client.

    It is ended after `timeout_s`.
    """

    words: Sequence[str]
    environment: Mapping[str, str]
    client: str = ""
    timeout_s: float | None = None

    def command(self, input: Any) -> list[str]:
        """Return the words with the recorded input in them; raise `CannotRun` if it is not known, or is no word."""
        if not any(INPUT in word for word in self.words):
            return [*self.words]
        if input is None:
            raise CannotRun("the recording has no input, so that {input} has no value", BAD_INPUT)
        text = input if isinstance(input, str) else json.dumps(input, ensure_ascii=False)
        # No program takes the first, and half of a character has no bytes.
        if "\0" in text or not _is_encodable(text):
            raise CannotRun("the recorded input has a character that no argument can contain", BAD_INPUT)
        return [word.replace(INPUT, text) for word in self.words]


def _is_encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def agent_variables(server: Server, session: Any, agent: Agent, confinement: Confinement, mark: str) -> dict[str, str]:
    """Return the environment of an agent in an open rerun, without the addresses of the providers.

    Its credential is that of the session: with the token of the user it could answer questions about itself.

    `mark` is that of this start, by which its processes are recognised.
    """
    # With its number, so that a request which is still under way when it is killed does not count for the next start.
    environment = session_environment(agent.environment, session)
    variables = child_environment(environment, rerun=f"{session['id']}.{session['attempt']}")
    return {
        **variables,
        MARK: mark,
        VARIABLE: _gateway_run(session),
        **placeholders(agent.environment, session["placeholder_key"]),
        **confinement.variables(server.url, session),
        **(_frozen(agent, session) if confinement.is_frozen else {}),
    }


def _frozen(agent: Agent, session: Any) -> dict[str, str]:
    """Return the variables that give the recorded clock to programs in other languages than Python."""
    return {
        **node_preload(agent.environment),
        **native_clock(agent.words, agent.environment, session["started_at"]),
    }


def _gateway_run(session: Any) -> str:
    """Return the rerun and its start by the clock of this machine; empty if no run becomes of it."""
    opened_at = session.get("opened_at")
    return "" if opened_at is None else f"{session['id']} {datetime.fromisoformat(opened_at).timestamp()}"


def run_agent(
    server: Server,
    session: Any,
    agent: Agent,
    confinement: Confinement,
    *,
    output: int | None = None,
    writes_run: bool = False,
) -> tuple[Any, int]:
    """Run an agent in an open rerun, and return the report and its exit code.

    `output` replaces its standard output. With `writes_run`, a comparison becomes a run even if it does not differ.
    """
    hide_environment()
    for line in real_tools_text(session):
        print(harmless(line), file=sys.stderr)
    mark = uuid4().hex
    variables = agent_variables(server, session, agent, confinement, mark)
    command = agent.command(session["input"])
    url = server.url + session["path"]
    limits: Any = {"timeout_s": agent.timeout_s, "confine": partial(confinement.limited_command, server=server.url)}
    code = run_client(command, variables, url, agent.client, output=output, **limits)
    if count := end_left_processes(mark):
        print(f"Processes that the program left behind are ended: {count}", file=sys.stderr)
    end = {"exit_code": code, "write_run": writes_run}
    return server.open(f"/reruns/{session['id']}/end", end, timeout_s=_COMPARISON_S), code


def _host(text: str) -> str:
    """Return a host as it is written; raise `ArgumentTypeError`."""
    try:
        Host.parse(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    return text


def _limit(text: str) -> float:
    """Return a number above 0; raise `ArgumentTypeError`."""
    with suppress(ValueError):
        if 0 < (number := float(text)) < math.inf:
            return number
    raise argparse.ArgumentTypeError(f"“{text}” is not a number above 0")


def _count(text: str) -> int:
    """Return a number of calls; raise `ArgumentTypeError`."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"“{text}” is not a number of calls")
    return int(text)


def _step(text: str) -> int | str:
    """Return the number of a step, or its id."""
    return int(text) if text.isdecimal() else text


def _changes(options: argparse.Namespace) -> dict[str, Any]:
    """Return what the options change in the recorded run; empty if the agent only repeats it."""
    entry: dict[str, Any] = {}
    if options.set_prompt is not None:
        entry["prompt"] = {"system": options.set_prompt}
    if options.set_model is not None:
        entry["model"] = {"model": options.set_model}
    if options.step is not None and not entry:
        raise CannotRun("--step says which call --set-prompt or --set-model changes: give one of them", BAD_INPUT)
    match = {"type": "model"} if options.step is None else {"step": options.step}
    entries = [{"match": match, **entry}] if entry else []
    changes: dict[str, Any] = {}
    if options.overrides is not None or entries:
        changes["overrides"] = {"overrides": [*_read_overrides(options.overrides), *entries]}
    if options.fork_step is not None:
        changes["fork_step"] = options.fork_step
    return {**changes, "live": True} if options.live else changes


def _budget(options: argparse.Namespace) -> dict[str, Any]:
    limits = {
        "max_cost_usd": options.max_cost,
        "max_live_calls": options.max_live_calls,
        "deadline_s": options.timeout,
    }
    return {name: limit for name, limit in limits.items() if limit is not None}


def _read_overrides(path: str | None) -> list[Any]:
    """Return the entries of an override profile; raise `CannotRun`."""
    if path is None:
        return []
    try:
        profile = json.loads(Path(path).read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise CannotRun(f"cannot read {path}: {error}", BAD_INPUT) from error
    entries = profile.get("overrides") if isinstance(profile, dict) else None
    if not isinstance(entries, list):
        raise CannotRun(f'{path} is no override profile: it has no list "overrides"', BAD_INPUT)
    return entries


def open_rerun(server: Server, request: Mapping[str, Any]) -> Any:
    """Open a rerun as soon as the recording is complete."""
    deadline = time.monotonic() + _COMPLETION_S
    while True:
        try:
            return _open(server, "/reruns", request)
        except CannotRun as refusal:
            if refusal.problem == "consent_required":
                raise CannotRun(str(refusal), BAD_INPUT, refusal.problem) from refusal
            if refusal.problem != "source_not_sealed" or time.monotonic() > deadline:
                raise
        time.sleep(_PAUSE_S)


def _open(server: Server, path: str, request: Mapping[str, Any]) -> Any:
    """Open a rerun, and return its session with the start by the clock of this machine."""
    asked_at = time.time()
    session = server.open(path, request)
    return by_local_clock(session, ServerClock.read(session["answered_at"], asked_at, time.time()))


def by_local_clock(session: Mapping[str, Any], clock: ServerClock) -> dict[str, Any]:
    """Return a session with its start by the clock of this machine."""
    opened_at = session["opened_at"]
    return {**session, "opened_at": None if opened_at is None else clock.local_time(opened_at)}


def _links(server: Server, report: Any) -> str:
    """Return where the run of a fork and its comparison are."""
    if not report["fork"]:
        return "Nothing was recorded: no model call of the program got an answer."
    lines = [f"Fork: {server.url}/runs/{report['fork']}"]
    return "\n".join(lines + ([f"Diff: {server.url}/diffs/{report['diff']}"] if report["diff"] else []))


def option_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="forkpoint rerun",
        usage="forkpoint rerun RUN [options] -- COMMAND...",
        description="Run an agent in any language again. Its model calls are answered from the recording of a run, as "
        "are the tools that the SDK knows in a Python agent. All other tools really run; no call reaches a provider. "
        "With --set-prompt, --set-model, --overrides, --from or --live, the rerun is a fork: what the agent does is "
        "recorded as another run and compared with the first.",
        epilog="COMMAND is the program to run, with its arguments; {input} in them is the recorded input. "
        "Exit code: 5 if a call got no answer or a tool was refused or, unless the rerun is a fork, if a recorded "
        "model call was not made, else that of the program; 2 for wrong options, 6 if the server cannot be reached or "
        "opens no session.",
        allow_abbrev=False,
    )
    parser.add_argument("run", metavar="RUN", nargs="?", help="Run whose recording answers the calls.")
    parser.add_argument("--set-prompt", metavar="TEXT", help="System prompt for every model call, or that of --step.")
    parser.add_argument("--set-model", metavar="NAME", help="Model for every model call, or that of --step.")
    parser.add_argument("--step", type=_step, help="Recorded call to change; its prompt holds for its conversation.")
    parser.add_argument("--overrides", metavar="FILE", help="Override profile, as for `forkpoint replay`.")
    parser.add_argument("--from", type=_step, metavar="STEP", dest="fork_step", help="Change nothing before this step.")
    parser.add_argument("--live", action="store_true", help="Send calls that no recording answers to the provider.")
    parser.add_argument("--max-live-calls", type=_count, metavar="N", help="Most live calls, over all starts.")
    parser.add_argument("--max-cost", type=_limit, metavar="USD", help="No live call begins once they cost this.")
    parser.add_argument(
        "--timeout", type=_limit, metavar="SECONDS", help="End the program after this time; no live call begins later."
    )
    parser.add_argument(
        "--resume",
        metavar="RERUN",
        help="Restart the agent of a fork, with the same answers; --allow-tool adds to what may run.",
    )
    add_agent_options(parser)
    return parser


def add_agent_options(parser: argparse.ArgumentParser) -> None:
    """Add the options with which an agent is started, by this command or by a runner."""
    parser.add_argument("--client", choices=CLIENTS, default="", help=CLIENT_HELP)
    parser.add_argument("--url", help="Server with the recordings. [env: FORKPOINT_URL]")
    parser.add_argument("--token", help="API token of the server. [env: FORKPOINT_TOKEN]")
    parser.add_argument(
        "--allow-tool",
        action="append",
        default=[],
        metavar="NAME",
        help="Tool that may run where the recording has no such call, though it may have side effects, and consent to "
        "one that nothing intercepts, so that it really runs in each start. Repeatable.",
    )
    parser.add_argument(
        "--hook-tool",
        action="append",
        default=[],
        metavar="NAME",
        help="Tool whose calls `forkpoint hook` intercepts in a coding agent, as the recording names it. Repeatable.",
    )
    parser.add_argument(
        "--ask-tool",
        action="append",
        default=[],
        metavar="NAME",
        help="Tool, or pattern of names, about whose calls to ask where the recording has no such call: `rerun` on its "
        "terminal, `runner` in the browser. Repeatable.",
    )
    parser.add_argument(
        "--network",
        choices=["listed", "open"],
        default="listed",
        help="Hosts to which a Python agent may connect: the server and those of --allow-host, or all. [listed]",
    )
    parser.add_argument(
        "--allow-host",
        action="append",
        default=[],
        type=_host,
        metavar="HOST[:PORT]",
        help="Host to which a Python agent may connect. Repeatable.",
    )
    parser.add_argument(
        "--pauses", action="store_true", help="Give recorded streams with their pauses, of at most two seconds each."
    )
    parser.add_argument(
        "--freeze",
        action="store_true",
        help="Start the clock of an agent in Python or Node when the recording started, and seed its random numbers "
        "and ids. Python needs forkpoint[freeze] in its environment.",
    )
