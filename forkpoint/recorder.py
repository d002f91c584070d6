"""The recorder, which creates a scope for each run and step of an agent."""

import contextvars
import functools
import hashlib
import logging
import os
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from forkpoint.code_version import CodePart, code_version
from forkpoint.encoding import Late, encode, freeze
from forkpoint.entropy import random_bytes
from forkpoint.gateway_run import GatewayRun
from forkpoint.hooks import HookFunction, Hooks
from forkpoint.kinds import DecisionStep, ModelStep, OutputStep, PromptStep, RetrievalStep, Step, ToolStep
from forkpoint.lanes import current_lane
from forkpoint.scopes import RunScope, Scope, Session
from forkpoint.session import ReplaySession
from forkpoint.transport.events import Content, Event
from forkpoint.transport.files import FileSink
from forkpoint.transport.reports import SessionSink
from forkpoint.transport.server import ServerSink
from forkpoint.transport.spill import SpillFolder
from forkpoint.transport.writer import Redact, Writer
from forkpoint.vocabulary import LANE, OUTPUT_FORM

P = ParamSpec("P")
R = TypeVar("R")
H = TypeVar("H", bound=HookFunction)
_log = logging.getLogger("forkpoint")
_OFF_SINK = "off"
# Events with the outcome of a call, in the thread or task that made it.
_CALL_ENDS = frozenset({"tool_result", "retrieval_executed"})


class _SuppressErrors:
    """Suppresses and counts every `Exception`; a `BaseException` passes."""

    def __init__(self, recorder: "Recorder") -> None:
        self._recorder = recorder

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> bool:
        if not isinstance(error, Exception):
            return False
        self._recorder.count_lost_event()
        return True


class Recorder:
    """Records an agent's runs: `run`, `agent`, `model` and the other step methods create scopes.

    A scope is a context manager (plain or `async`) and a decorator for functions, coroutines and generators. A step
    belongs to the innermost scope around it; outside of a run it is not recorded.

    `sink` is a folder, which gets one file per run, or a file named `*.jsonl` for all runs. The default is
    `FORKPOINT_TRACES`, then the folder `forkpoint-runs`; `off` disables recording. `app` and `environment` apply to
    every run that does not set its own. `forkpoint.init` configures the module's own recorder.
    """

    def __init__(self, sink: str | Path | None = None, *, app: str = "", environment: str = "") -> None:
        self.current: contextvars.ContextVar[Scope | None] = contextvars.ContextVar("forkpoint_scope", default=None)
        self.hooks = Hooks()
        self.session: Session | None = ReplaySession.from_environment()
        self._gateway_run = GatewayRun.from_environment()
        self._open: dict[str, RunScope] = {}
        self._writer: Writer | None = None
        self._failures = 0
        self._unsampled_runs = 0
        self._suppress_errors = _SuppressErrors(self)
        self.app = app
        self.environment = environment
        self.configure(sink=sink)

    def configure(
        self,
        *,
        sink: str | Path | None = None,
        app: str | None = None,
        environment: str | None = None,
        url: str | None = None,
        token: str | None = None,
        sample: float = 1.0,
        redact: Redact | None = None,
    ) -> None:
        """Set where events go, and the app and environment of new runs.

        Events go to the folder or file `sink`, or to the server `url`. Without either, the default applies; `app` and
        `environment` stay as they are unless given. `sample` is the share of runs that are recorded. `redact` gets the
        payload of each event, on a background thread, and returns the payload to record.
        """
        old_writer, self._writer = self._writer, self._make_writer(sink, url, token, redact)
        if old_writer is not None:
            old_writer.close()
        self._sample = sample
        self.app = self.app if app is None else app
        self.environment = self.environment if environment is None else environment

    def _make_writer(
        self, sink: str | Path | None, url: str | None, token: str | None, redact: Redact | None
    ) -> Writer | None:
        if self.session is not None:
            # Nothing is to be reported of a rerun that becomes no run.
            return None if self._gateway_run is None else Writer(SessionSink(self.session), redact)
        if self._gateway_run is not None:
            # The gateway's server has the run, wherever the program sends its own.
            sink, url, token = None, os.environ.get("FORKPOINT_URL"), None
        folder = sink or (None if url else os.environ.get("FORKPOINT_TRACES"))
        server = url or os.environ.get("FORKPOINT_URL")
        if server and not folder:
            token = token or os.environ.get("FORKPOINT_TOKEN") or ""
            return Writer(ServerSink(url=server, token=token, spill=SpillFolder(spill_path(server))), redact)
        destination = str(folder or "forkpoint-runs")
        return None if destination == _OFF_SINK else Writer(FileSink(Path(destination).expanduser()), redact)

    # Runs and steps

    def run(
        self,
        name: str = "",
        *,
        input: Any = None,
        app: str | None = None,
        environment: str | None = None,
        tags: Iterable[str] = (),
        metadata: dict[str, Any] | None = None,
        code: Iterable[CodePart] = (),
    ) -> RunScope:
        """Record one execution of the agent, from end to end.

        `name` is shown in lists; a run without one is listed by its first request. Steps recorded inside the scope
        belong to the run. `code`: the modules, classes and functions that the agent consists of; a digest of their
        source is recorded, so that a diff knows if different code made two runs.
        """
        version = code_version(code)
        facts = {
            "app_id": self.app if app is None else app,
            "environment": self.environment if environment is None else environment,
            "tags": list(tags),
            "metadata": (metadata or {}) | ({"code": version} if version else {}),
        }
        return self._repeatable(lambda make: RunScope(self, make, name, input, facts))

    def agent(self, name: str = "", *, input: Any = None) -> Step:
        """Record an agent loop: a group of model and tool calls whose turns are counted separately."""
        return self.step("agent", name, input=input)

    def turn(self, name: str = "turn", *, input: Any = None) -> Step:
        """Record a turn: all steps that answer one user message. `input` is `{"messages": [message]}`."""
        return self.step("turn", name, input=input)

    def step(self, type: str, name: str = "", *, input: Any = None) -> Step:
        """Record a step of a type that has no dedicated method: `planner`, or a custom group."""
        return self._repeatable(lambda make: Step(self, make, type, name, input))

    def model(
        self,
        model: str,
        *,
        provider: str = "",
        messages: Any = None,
        tools: Any = None,
        parameters: dict[str, Any] | None = None,
        response_format: Any = None,
        name: str = "",
    ) -> ModelStep:
        """Record a request to a model, with `messages` and `tools` in the client's format.

        Pass all messages of the request: a replay follows the agent by them. Pass the response to `record_response`.
        """
        fields = {"messages": messages, "tools": tools, "parameters": parameters, "response_format": response_format}
        request = {key: value for key, value in fields.items() if value is not None} or None
        return self._repeatable(lambda make: ModelStep(self, make, name or model, request, provider, model))

    def tool(self, name: str = "", arguments: Any = None, *, call_id: str = "", version: str = "") -> ToolStep:
        """Record a tool call; `call_id` is the id of the model's request for it. Set `output` to the result."""
        return self._repeatable(lambda make: ToolStep(self, make, name, arguments, call_id, version))

    def retrieval(
        self,
        name: str = "",
        *,
        query: str | None = None,
        top_k: int | None = None,
        filters: dict[str, Any] | None = None,
        embedding_profile: str | None = None,
    ) -> RetrievalStep:
        """Record a search. Set `output` to the documents: `[{id, content, score?, metadata?}]`."""
        fields = {"query": query, "top_k": top_k, "filters": filters, "embedding_profile": embedding_profile}
        request = {key: value for key, value in fields.items() if value is not None} or None
        return self._repeatable(lambda make: RetrievalStep(self, make, name, request))

    def prompt(
        self,
        template_id: str,
        *,
        template: str | None = None,
        version: str | None = None,
        variables: dict[str, Any] | None = None,
    ) -> PromptStep:
        """Record the rendering of a prompt template. Set `output` to the rendered text."""
        fields = {"template_id": template_id, "template": template, "version": version, "variables": variables}
        return self._repeatable(lambda make: PromptStep(self, make, template_id, fields))

    def validator(self, name: str = "", *, input: Any = None) -> DecisionStep:
        """Record a check of a value. Call `decide` with its verdict."""
        return self._repeatable(lambda make: DecisionStep(self, make, "validator", name, input))

    def safety(self, name: str = "", *, input: Any = None) -> DecisionStep:
        """Record a safety check. Call `decide` with its verdict."""
        return self._repeatable(lambda make: DecisionStep(self, make, "safety", name, input))

    def output(self, text: Any = None, *, citations: list[Any] | None = None, name: str = "output") -> OutputStep:
        """Record the run's final output: `recorder.output(text).record()`."""
        return self._repeatable(lambda make: OutputStep(self, make, name, text, citations))

    # Hooks, threads and files

    def hook(self, *events: str, matcher: str = "") -> Callable[[H], H]:
        """Register a function as a hook for these events, or for all events if none is listed.

        `matcher` is a regular expression that is searched in tool names; it does not affect other events. The hook
        gets each event in Krabs's format, in the agent's thread. Its answer to `pre_tool_use` becomes the tool's
        `decision`, which the agent may follow. Exceptions in a hook are logged.
        """
        if any(callable(event) for event in events):
            _log.error("The hook is not registered: write `@recorder.hook()`, with parentheses")

        def register(function: H) -> H:
            with self.suppress_errors():
                self.hooks.add(function, events, matcher)
            return function

        return register

    def carry(self, function: Callable[P, R]) -> Callable[P, R]:
        """Bind a function to the current scope, so that steps it records in another thread belong there.

        `asyncio` tasks and `asyncio.to_thread` do not need it.

        Example: `pool.submit(recorder.carry(work), item)`.
        """
        scope = self.current.get()

        @functools.wraps(function)
        def run_in_scope(*args: P.args, **kwargs: P.kwargs) -> R:
            token = self.current.set(scope)
            try:
                return function(*args, **kwargs)
            finally:
                self.current.reset(token)

        return run_in_scope

    def flush(self, timeout_s: float = 5.0) -> bool:
        """Wait until everything recorded so far is in the file or on the server; return False if it is not."""
        return self._writer.flush(timeout_s) if self._writer is not None else True

    @property
    def dropped_events(self) -> int:
        """Number of events that were not recorded since the recorder was created."""
        return self._failures + (self._writer.dropped_events if self._writer is not None else 0)

    def stats(self) -> dict[str, int]:
        """Return the numbers of events by what became of them, and of runs that were not sampled."""
        counts = {"recorded": 0, "pending": 0, "dropped": self.dropped_events, "unsampled_runs": self._unsampled_runs}
        if (writer := self._writer) is None:
            return counts
        counts |= {"recorded": writer.recorded_events, "pending": writer.pending_events}
        return {**writer.sink.stats(), **counts}

    def samples(self) -> bool:
        """Decide whether a new run is recorded."""
        # Without a sample rate nothing is drawn, so that the agent's random numbers stay as they are.
        if (
            self._sample >= 1
            or self._gateway_run is not None
            or int.from_bytes(random_bytes(4), "big") < self._sample * 2**32
        ):
            return True
        self._unsampled_runs += 1
        return False

    def declare_tools(self, names: Iterable[str]) -> None:
        """Tell a rerun, if this is one, which tools it is asked about before they run."""
        if self.session is not None:
            self.session.declare_tools(names)

    def suppress_errors(self) -> "_SuppressErrors":
        """Return a context that counts and logs recording errors instead of raising them into the agent."""
        return self._suppress_errors

    def count_lost_event(self) -> None:
        """Count one event that could not be recorded."""
        self._failures += 1
        _log.debug("An event was not recorded", exc_info=True)

    def write(
        self, run_id: str, step_id: str | None, parent_id: str | None, number: int, type: str, payload: dict[str, Any]
    ) -> None:
        """Queue an event. Its payload is frozen now, because the agent may change the values."""
        if self._writer is None:
            return
        if self._gateway_run is not None:
            place = self._gateway_run.place(run_id, step_id, parent_id, type)
            if place is None:
                return
            run_id, (step_id, parent_id, number) = self._gateway_run.id, place
            # Links name steps by ids that this run does not have.
            payload = {name: value for name, value in payload.items() if name != "links"}
            if type in _CALL_ENDS:
                payload["attributes"] = {**payload.get("attributes", {}), LANE: self.lane()}
        is_late = isinstance(payload.get("response"), Late)
        if is_late:
            content: Content = functools.partial(encode, payload)
        else:
            # A form refers to the items of sets by their order.
            content = encode(payload) if OUTPUT_FORM in payload else freeze(payload)
        self._writer.enqueue(Event(run_id, step_id, parent_id, number, type, time.time(), content))

    def enclosing_scope(self) -> Scope | None:
        """Return the scope that a new step belongs to.

        This is the innermost scope that is open, or the run if none is. In a thread without one it is the open run, if
        there is exactly one. Runs of the process that this one was forked from do not count: both would give the same
        numbers to different events. Where the gateway numbers them, the steps are those of this process's own run.
        """
        scope = self.current.get()
        while scope is not None and scope.has_ended and scope.parent is not None:
            scope = scope.parent
        if scope is not None and (scope.run is None or scope.run.process_id == os.getpid()):
            return scope
        if scope is not None and self._gateway_run is None:
            return None
        runs = [run for run in list(self._open.values()) if run.process_id == os.getpid()]
        # Those of a program that the gateway records are one run.
        return runs[0] if len(runs) == 1 or (runs and self._gateway_run is not None) else None

    def lane(self) -> str:
        """Return the name of the thread or task that runs this code; empty where nothing depends on it."""
        return "" if self._gateway_run is None and self.session is None else current_lane()

    def gateway_step(self) -> str:
        """Return the id of the innermost open step in the run of the gateway; empty if there is none.

        It may be a step of the process that this one was forked from, or started by.
        """
        if self._gateway_run is None:
            return ""
        scope = self.current.get()
        while scope is not None:
            if scope.run is not None and (id := self._gateway_run.open_step(scope.run.id, scope.id)):
                return id
            scope = scope.parent
        return self._gateway_run.outer_step

    def gateway_place(self) -> str:
        """Return the run of the gateway and its innermost open step, for a process; empty if there is none."""
        step = self.gateway_step()
        return f"{self._gateway_run.id} {step}" if self._gateway_run is not None and step else ""

    def be_inside(self, place: str) -> None:
        """Make all that this process does a part of a step that another one's `gateway_place` returned."""
        run_id, _, step = place.partition(" ")
        if self._gateway_run is not None and self._gateway_run.id == run_id:
            self._gateway_run.outer_step = step

    def register(self, run: RunScope) -> None:
        self._open[run.id] = run

    def unregister(self, run: RunScope) -> None:
        self._open.pop(run.id, None)

    def _repeatable(self, build: Callable[[Callable[[], Scope]], "S"]) -> "S":
        """Build a scope that can make copies of itself: a decorated function needs one for each call."""

        def make() -> "S":
            return build(make)

        return make()


def spill_path(url: str) -> Path:
    """Return the folder for events that wait for a server; processes with the same server share it."""
    home = Path(os.environ.get("FORKPOINT_HOME") or "~/.forkpoint").expanduser()
    return home / "spill" / hashlib.sha256(url.rstrip("/").encode()).hexdigest()[:16]


S = TypeVar("S", bound=Scope)
recorder = Recorder()
