"""The recorder that an agent holds: `from forkpoint import recorder`."""

import contextvars
import functools
import logging
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from forkpoint.encoding import encode
from forkpoint.hooks import Ask, Hooks
from forkpoint.kinds import DecisionStep, ModelStep, OutputStep, PromptStep, RetrievalStep, Step, ToolStep
from forkpoint.scopes import RunScope, Scope
from forkpoint.writer import Writer

P = ParamSpec("P")
R = TypeVar("R")
A = TypeVar("A", bound=Ask)
_log = logging.getLogger("forkpoint")
_OFF = "off"


class _Quietly:
    """Keeps every ordinary exception from whoever is being recorded."""

    def __init__(self, recorder: "Recorder") -> None:
        self._recorder = recorder

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> bool:
        if not isinstance(error, Exception):
            return False
        self._recorder.missed()
        return True


class Recorder:
    """Makes scopes, and writes what they tell.

    `sink` is a folder, which gets one file for each run, or a file named `*.jsonl`. Without one it is
    `FORKPOINT_TRACES`, else `forkpoint-runs`; `off` records nothing.
    """

    def __init__(self, sink: str | Path | None = None, *, app: str = "", environment: str = "") -> None:
        self.current: contextvars.ContextVar[Scope | None] = contextvars.ContextVar("forkpoint_scope", default=None)
        self.hooks = Hooks()
        self._open: dict[str, RunScope] = {}
        self._writer: Writer | None = None
        self._failures = 0
        self._quietly = _Quietly(self)
        self.app = app
        self.environment = environment
        self.configure(sink=sink)

    def configure(
        self, *, sink: str | Path | None = None, app: str | None = None, environment: str | None = None
    ) -> None:
        """Say where recordings go, and whose they are."""
        place = str(sink or os.environ.get("FORKPOINT_TRACES") or "forkpoint-runs")
        self._writer = None if place == _OFF else Writer(Path(place).expanduser())
        self.app = self.app if app is None else app
        self.environment = self.environment if environment is None else environment

    # What an agent is made of

    def run(
        self,
        name: str = "",
        *,
        input: Any = None,
        app: str | None = None,
        environment: str | None = None,
        tags: Iterable[str] = (),
        metadata: dict[str, Any] | None = None,
    ) -> RunScope:
        """One execution of the agent, from end to end."""
        facts = {
            "app_id": self.app if app is None else app,
            "environment": self.environment if environment is None else environment,
            "tags": list(tags),
            "metadata": metadata or {},
        }
        return self._repeatable(lambda make: RunScope(self, make, name, input, facts))

    def agent(self, name: str = "", *, input: Any = None) -> Step:
        return self.step("agent", name, input=input)

    def turn(self, name: str = "turn", *, input: Any = None) -> Step:
        """What follows one message of the user; its input is `{"messages": [that message]}`."""
        return self.step("turn", name, input=input)

    def step(self, type: str, name: str = "", *, input: Any = None) -> Step:
        """A step of any type that no other method makes: planner, or a group of your own."""
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
        """One request to a model, its messages and tools as the client takes them."""
        request = {"messages": messages, "tools": tools, "parameters": parameters, "response_format": response_format}
        given = {key: value for key, value in request.items() if value is not None} or None
        return self._repeatable(lambda make: ModelStep(self, make, name or model, given, provider, model))

    def tool(self, name: str = "", arguments: Any = None, *, call_id: str = "", version: str = "") -> ToolStep:
        """One call of a tool; `call_id` is the id under which the model asked for it."""
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
        asked = {"query": query, "top_k": top_k, "filters": filters, "embedding_profile": embedding_profile}
        given = {key: value for key, value in asked.items() if value is not None} or None
        return self._repeatable(lambda make: RetrievalStep(self, make, name, given))

    def prompt(
        self,
        template_id: str,
        *,
        template: str | None = None,
        version: str | None = None,
        variables: dict[str, Any] | None = None,
    ) -> PromptStep:
        given = {"template_id": template_id, "template": template, "version": version, "variables": variables}
        return self._repeatable(lambda make: PromptStep(self, make, template_id, given))

    def validator(self, name: str = "", *, input: Any = None) -> DecisionStep:
        return self._repeatable(lambda make: DecisionStep(self, make, "validator", name, input))

    def safety(self, name: str = "", *, input: Any = None) -> DecisionStep:
        return self._repeatable(lambda make: DecisionStep(self, make, "safety", name, input))

    def output(self, text: Any = None, *, citations: list[Any] | None = None, name: str = "output") -> OutputStep:
        """What the run says in the end: `recorder.output(text).record()`."""
        return self._repeatable(lambda make: OutputStep(self, make, name, text, citations))

    # Hooks, threads, files, and troubles

    def hook(self, *events: str, matcher: str = "") -> Callable[[A], A]:
        """Ask a function at these events, or at all; `matcher` is searched in the names of tools.

        It gets the event as Krabs writes it, in the thread of the agent. What it answers to `pre_tool_use` is the
        tool's `decision`, which the agent may heed; what it raises is logged.
        """
        if any(callable(event) for event in events):
            _log.error("Nothing is asked: write `@recorder.hook()`, with parentheses")

        def registered(ask: A) -> A:
            with self.quietly():
                self.hooks.add(ask, events, matcher)
            return ask

        return registered

    def carry(self, function: Callable[P, R]) -> Callable[P, R]:
        """The function, so that what it records in another thread belongs where it was handed over.

        Tasks of asyncio and `asyncio.to_thread` need no help.
        """
        above = self.current.get()

        @functools.wraps(function)
        def carried(*args: P.args, **kwargs: P.kwargs) -> R:
            token = self.current.set(above)
            try:
                return function(*args, **kwargs)
            finally:
                self.current.reset(token)

        return carried

    def flush(self, timeout_s: float = 5.0) -> bool:
        """Wait until everything recorded so far is in the file; False when that took too long."""
        return self._writer.flush(timeout_s) if self._writer is not None else True

    @property
    def dropped(self) -> int:
        """How many events could not be kept since the start."""
        return self._failures + (self._writer.dropped if self._writer is not None else 0)

    def quietly(self) -> "_Quietly":
        """Whatever goes wrong while recording is counted, logged, and never the agent's trouble."""
        return self._quietly

    def missed(self) -> None:
        """Count one event that could not be recorded."""
        self._failures += 1
        _log.debug("An event was not recorded", exc_info=True)

    def write(self, run_id: str, event: dict[str, Any]) -> None:
        if self._writer is not None:
            self._writer.put(run_id, encode(event))

    def above(self) -> Scope | None:
        """What a new step belongs to: the innermost scope, or in a bare thread the only run that there is."""
        if (scope := self.current.get()) is not None:
            return scope
        runs = list(self._open.values())
        return runs[0] if len(runs) == 1 else None

    def opened(self, run: RunScope) -> None:
        self._open[run.id] = run

    def closed(self, run: RunScope) -> None:
        self._open.pop(run.id, None)

    def _repeatable(self, build: Callable[[Callable[[], Scope]], "S"]) -> "S":
        """A scope that knows how to make another of its kind, for functions that it decorates."""

        def make() -> "S":
            return build(make)

        return make()


S = TypeVar("S", bound=Scope)
recorder = Recorder()
