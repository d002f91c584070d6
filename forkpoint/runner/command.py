"""The connection of a runner to its server, and the command line."""

import argparse
import contextlib
import importlib
import json
import os
import re
import signal
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from typing import Any, Final
from uuid import uuid4

from forkpoint.bootstrap import clients
from forkpoint.bootstrap.gateway import (
    AUTHENTICATION,
    BAD_INPUT,
    UNAVAILABLE,
    CannotRun,
    Server,
    client_program,
    refuse_addresses,
)
from forkpoint.bootstrap.rerun import INPUT, Agent, add_agent_options, agent_variables, by_local_clock
from forkpoint.bootstrap.rerun_report import real_tools_text
from forkpoint.bootstrap.server_clock import ServerClock
from forkpoint.confinement.credentials import hide_environment, without_secrets
from forkpoint.confinement.left_processes import start_guardian
from forkpoint.confinement.limits import Confinement
from forkpoint.confinement.terminal_text import harmless
from forkpoint.runner import inputs
from forkpoint.runner.agents import RunningAgent, RunningAgents
from forkpoint.runner.child import Child
from forkpoint.runner.messages import Start, Unacceptable

_USAGE: Final = "forkpoint runner --app APP [options] -- COMMAND..."
_FLUSH_S: Final = 0.2
# Ten times as long as the SDK collects events.
_REPORTS_S: Final = 0.2
_MOST_PAUSE_S: Final = 10.0
# The server's reasons to close a connection for good, with their exit codes.
_REFUSALS: Final = {4400: BAD_INPUT, 4401: AUTHENTICATION, 4409: BAD_INPUT}
_LARGEST_MESSAGE: Final = 64 * 1024 * 1024
_PING_S: Final = 10.0
# As the server accepts.
_MOST_AT_ONCE: Final = 100
# They decide which code runs: other programs, or what an interpreter loads, such as the SDK with its limits.
_LOADER: Final = re.compile(
    r"PATH|ENV|BASH_ENV|(LD|DYLD)_.*|PYTHON(HOME|PATH|SAFEPATH|STARTUP)|NODE_(OPTIONS|PATH)|PERL5(LIB|OPT|DB)|PERLLIB"
    r"|RUBY(LIB|OPT)|CLASSPATH|(JAVA_TOOL|JDK_JAVA|_JAVA)_OPTIONS|DOTNET_STARTUP_HOOKS|PHPRC|PHP_INI_SCAN_DIR|LUA_INIT"
)
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")


def run(arguments: Sequence[str]) -> int:
    """Serve as a runner until stopped, and return the exit code."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    options, words = option_parser().parse_args(arguments[:end]), arguments[end + 1 :]
    if not words:
        option_parser().error(f"name the agent to run: {_USAGE.replace('COMMAND...', 'python agent.py {input}')}")
    if (options.input == "http") != bool(options.input_url):
        option_parser().error("--input http and --input-url belong together")
    if options.input == "http" and options.parallel > 1:
        option_parser().error("--input http needs --parallel 1: one address cannot belong to several agents")
    settings = {"FORKPOINT_URL": options.url, "FORKPOINT_TOKEN": options.token}
    environment = {**os.environ, **{name: value for name, value in settings.items() if value is not None}}
    hide_environment()
    try:
        runner = Runner(options, Agent(words, environment, options.client))
        return runner.serve()
    except CannotRun as problem:
        print(f"error: {problem}", file=sys.stderr)
        return problem.code


class Runner:
    """Dials the server, starts agents when it asks for them, and sends it what they print."""

    def __init__(self, options: argparse.Namespace, agent: Agent) -> None:
        self._options = options
        self._agent = agent
        self._server = Server.from_environment(agent.environment)
        if not self._server.url:
            raise CannotRun("a runner needs a server: name it with --url or FORKPOINT_URL", BAD_INPUT)
        # With a live policy, the agent's key would go to the server's provider.
        refuse_addresses(agent.environment)
        self._input = options.input or ("argument" if any(INPUT in word for word in agent.words) else "stdin")
        self._confinement = Confinement(
            hosts=options.allow_host if options.network == "listed" else None, is_frozen=options.freeze
        )
        self._process = uuid4().hex
        self._name = options.name
        self._agents = RunningAgents()
        self._patience_s = 15.0
        self._clock = ServerClock()
        self._stop_event = threading.Event()
        self._connection: Any = None
        try:
            self._websockets = importlib.import_module("websockets.sync.client")
            self._errors = importlib.import_module("websockets.exceptions")
        except ImportError:
            raise CannotRun("a runner needs websockets: pip install 'forkpoint[runner]'", BAD_INPUT) from None

    def serve(self) -> int:
        """Serve until a signal or a refusal; agents end with their runner, however it ends."""
        guardian = start_guardian(self._process, without_secrets(self._agent.environment))
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._stop)
        try:
            return self._reconnect()
        finally:
            self._agents.end_all(Child.end_now)
            if guardian is not None:
                guardian.communicate()

    def _stop(self, *_: object) -> None:
        self._stop_event.set()
        if (connection := self._connection) is not None:
            # In a thread, because the one that this interrupts may hold the connection's lock.
            threading.Thread(target=connection.close, daemon=True).start()

    def _reconnect(self) -> int:
        """Connect again whenever the connection is lost. Agents go on for as long as the server waits for them."""
        pause_s, lost_at, is_noted = 0.5, time.monotonic(), False
        while not self._stop_event.is_set():
            try:
                with self._connect() as connection:
                    self._connection = connection
                    # A signal that came while it was opened has found nothing to close.
                    if not self._stop_event.is_set():
                        pause_s, is_noted = 0.5, False
                        self._talk(connection)
            except self._errors.ConnectionClosed as closing:
                if closing.rcvd is not None and closing.rcvd.code in _REFUSALS:
                    code = _REFUSALS[closing.rcvd.code]
                    raise CannotRun(f"{self._server.url}: {closing.rcvd.reason}", code) from closing
            except (self._errors.InvalidStatus, self._errors.InvalidURI) as error:
                raise CannotRun(f"{self._server.url} has no runners: {error}", UNAVAILABLE) from error
            except (OSError, TimeoutError, self._errors.WebSocketException) as error:
                # Once until there is a connection again: attempts follow each other for as long as it takes.
                if not is_noted and self._connection is None and not self._stop_event.is_set():
                    is_noted = True
                    self._note(f"cannot reach {self._server.url}: {error or type(error).__name__}; trying again")
            if self._connection is not None:
                self._connection, lost_at = None, time.monotonic()
                self._note(f"connection to {self._server.url} lost" if not self._stop_event.is_set() else "stopped")
            if time.monotonic() - lost_at > self._patience_s and len(self._agents):
                self._note("the server is away for too long: its agents are ended, and start again when it is back")
                self._agents.end_all()
            self._stop_event.wait(pause_s)
            pause_s = min(_MOST_PAUSE_S, 2 * pause_s)
        return 0

    def _connect(self) -> Any:
        token = self._server.token
        return self._websockets.connect(
            f"ws{self._server.url.removeprefix('http')}/ws/runner",
            additional_headers={"Authorization": f"Bearer {token}"} if token else {},
            max_size=_LARGEST_MESSAGE,
            ping_interval=_PING_S,
            ping_timeout=_PING_S,
        )

    def _talk(self, connection: Any) -> None:
        """Announce the runner, and do what the server asks for until the connection ends."""
        asked_at = time.time()
        connection.send(json.dumps(self._announcement()))
        try:
            welcome = _read(connection.recv(timeout=_PING_S))
            self._name, self._patience_s = str(welcome["name"]), float(welcome["patience_s"])
            # A session needs no answer, so that its delay would pass for a difference of the clocks.
            self._clock = ServerClock.read(welcome["answered_at"], asked_at, time.time())
        except (ValueError, KeyError, TypeError) as error:
            raise CannotRun(f"{self._server.url} does not answer as a Forkpoint server", UNAVAILABLE) from error
        command = " ".join(self._agent.words)
        self._note(f"{self._name} waits for replays of {self._options.app}, to run: {command}")
        self._note(self._confinement.description(self._server.url))
        for agent in self._agents:
            agent.repeat()
        is_over = threading.Event()
        sender = threading.Thread(target=self._send_all, args=(connection, is_over), daemon=True)
        sender.start()
        try:
            for text in connection:
                self._handle(_read(text))
        finally:
            is_over.set()
            sender.join()

    def _announcement(self) -> dict[str, Any]:
        options = self._options
        return {
            "type": "hello",
            "app": options.app,
            "name": self._name,
            "host": socket.gethostname()[:100],
            "process": self._process,
            "command": [word[:2_000] for word in self._agent.words][:200],
            "capacity": options.parallel,
            "tools_to_run": options.allow_tool,
            "tools_to_ask": options.ask_tool,
            "tools_with_hook": options.hook_tool,
            "env_allow": options.env_allow,
            "network": self._confinement.description(self._server.url)[:2_000],
            "sessions": [{"session": agent.session, "attempt": agent.attempt} for agent in self._agents],
        }

    def _handle(self, message: Any) -> None:
        """Do what a message asks for, if a runner does that at all."""
        type = message.get("type") if isinstance(message, dict) else None
        if type == "start":
            self._start(message)
        elif type == "stop":
            if agent := self._agents.find(message):
                self._note(f"session {agent.session}: {message.get('reason')}")
                if agent.child is not None:
                    agent.child.end()
                self._agents.remove(agent)
        elif type == "stored":
            agent = self._agents.find(message)
            if agent is not None and agent.attempt == message.get("attempt") and isinstance(message.get("no"), int):
                agent.forget(message["no"])
        else:
            self._note(f"the server sent a message that this runner does not know: {str(type)[:40]}")

    def _start(self, message: Any) -> None:
        agent = RunningAgent(str(message.get("session")), 0)
        try:
            agent.attempt = message["attempt"] if isinstance(message.get("attempt"), int) else 0
            start = Start.parse(message, self._options.env_allow, self._options.allow_tool)
            if len(self._agents) >= self._options.parallel:
                raise Unacceptable(f"it asked for more agents at once than {self._options.parallel}")
            if self._input == "http" and inputs.is_served(self._options.input_url):
                raise Unacceptable(f"another program listens at {self._options.input_url}, and would get the input")
            for line in real_tools_text(start.rerun):
                self._note(f"session {start.session}: {line}")
            self._note(f"session {start.session}: the agent starts")
            self._agents.add(agent)
            self._launch(agent, start)
        except (Unacceptable, CannotRun, OSError) as problem:
            reason = f"the runner did not start the agent: {problem}"
            self._note(f"session {agent.session}: {reason}")
            agent.report(BAD_INPUT, reason[:2_000])
            self._agents.add(agent)

    def _launch(self, agent: RunningAgent, start: Start) -> None:
        """Start the agent as `forkpoint rerun` does; its files are deleted when it has ended."""
        mark = f"{self._process}/{uuid4().hex}"
        session = by_local_clock(start.rerun, self._clock)
        variables = agent_variables(self._server, session, self._agent, self._confinement, mark)
        folder = tempfile.TemporaryDirectory(prefix="forkpoint-")
        words = inputs.words_of(self._agent, self._input, start.rerun["input"], folder)
        url = self._server.url + start.rerun["path"]
        command, environment = client_program(words, {**variables, **start.variables}, url, self._agent.client)
        answer_codes: list[int] = []

        def report(code: int) -> None:
            folder.cleanup()
            agent.report(answer_codes[0] if answer_codes else code)

        # This is the main thread, which ends last.
        agent.child = Child(
            self._confinement.limited_command(command, self._server.url),
            environment,
            mark=mark,
            text=inputs.text_of(start.rerun["input"]) if self._input == "stdin" else None,
            print_line=agent.print_line,
            report=report,
        )
        if self._input == "http":
            post = (agent, agent.child, start.rerun["input"], answer_codes)
            threading.Thread(target=self._post, args=post, daemon=True).start()

    def _post(self, agent: RunningAgent, child: Child, input: Any, answer_codes: list[int]) -> None:
        """Send the input to an agent that is a server. Its answer ends it, and decides the exit code.

        The next agent needs the same address, so the end is reported when all of its processes have ended.
        """
        answer_codes.append(inputs.post(self._options.input_url, input, agent.print_line, lambda: agent.end is None))
        # Its SDK still reports what it did last.
        time.sleep(_REPORTS_S)
        child.end()

    def _send_all(self, connection: Any, is_over: threading.Event) -> None:
        """Send what agents print and how they end. The end follows when all lines are stored."""
        with contextlib.suppress(OSError, self._errors.ConnectionClosed):
            while not is_over.wait(_FLUSH_S):
                for agent in self._agents:
                    if message := agent.message():
                        connection.send(json.dumps(message))
                    elif agent.end is not None and agent.is_stored:
                        connection.send(json.dumps(agent.end))
                        self._note(f"session {agent.session}: the agent ended with exit code {agent.end['code']}")
                        self._agents.remove(agent)

    def _note(self, text: str) -> None:
        print(harmless(f"forkpoint runner: {text}"), file=sys.stderr, flush=True)


def _read(text: str | bytes) -> Any:
    """Return the server's message; None if it is no JSON, or nested more deeply than any message."""
    with contextlib.suppress(ValueError, RecursionError):
        return json.loads(text)
    return None


def _variable(text: str) -> str:
    """Return the name of a variable that a server may set; raise `ArgumentTypeError`."""
    if not _VARIABLE.fullmatch(text):
        raise argparse.ArgumentTypeError(f"“{text}” is not the name of a variable")
    # They limit the agent, and say where its calls go.
    if text.startswith("FORKPOINT_") or text in clients.ADDRESSES:
        raise argparse.ArgumentTypeError(f"{text} is set by the runner itself")
    if _LOADER.fullmatch(text):
        raise argparse.ArgumentTypeError(f"{text} decides which code runs, so no server may set it")
    return text


def _capacity(text: str) -> int:
    """Return how many agents may run at once; raise `ArgumentTypeError`."""
    if not (text.isascii() and text.isdecimal() and 1 <= int(text) <= _MOST_AT_ONCE):
        raise argparse.ArgumentTypeError(f"“{text}” is not a number from 1 to {_MOST_AT_ONCE}")
    return int(text)


def option_parser() -> argparse.ArgumentParser:
    """Return the parser of the command's options."""
    parser = argparse.ArgumentParser(
        prog="forkpoint runner",
        usage=_USAGE,
        description="Wait for replays of an app in which its agent is to run again, and start it on this machine. "
        "The server chooses none of the command's words: it sends the recorded input and the address that answers "
        "the agent's calls.",
        epilog="COMMAND is the agent with its arguments; {input} is the recorded input. Ends with Ctrl+C. "
        "Exit code: 2 for wrong options, 6 if the server refuses the runner.",
        allow_abbrev=False,
    )
    parser.add_argument("--app", required=True, help="App whose replays this runner serves.")
    parser.add_argument("--name", default="", help="Name of this runner. [the name of this machine]")
    parser.add_argument(
        "--input",
        choices=inputs.MODES,
        help="How the agent gets the recorded input: in place of {input}, on standard input, as a JSON file whose path "
        "replaces {input}, or posted to --input-url. [argument if COMMAND contains {input}, else stdin]",
    )
    parser.add_argument("--input-url", default="", metavar="URL", help="Address at which the agent takes the input.")
    parser.add_argument(
        "--env-allow",
        action="append",
        default=[],
        type=_variable,
        metavar="VAR",
        help="Variable that the server may set for the agent. Repeatable.",
    )
    parser.add_argument("--parallel", type=_capacity, default=1, metavar="N", help="Agents at once, up to 100. [1]")
    add_agent_options(parser)
    return parser
