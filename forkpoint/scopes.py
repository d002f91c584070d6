"""Scopes: the run and the steps being recorded. Each is a context manager and a decorator."""

import contextvars
import itertools
import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from typing import Any, NoReturn, ParamSpec, Protocol, Self, TypeVar

from forkpoint.answers import MAX_ITEMS, Answer, Reply
from forkpoint.arguments import Arguments, Rearrange, arguments_of
from forkpoint.decorators import decorate
from forkpoint.encoding import as_text
from forkpoint.entropy import new_uuid
from forkpoint.hooks import Decision, Hooks
from forkpoint.vocabulary import OUTPUT_FORM, HookEvent, RunStatus

P = ParamSpec("P")
R = TypeVar("R")
# The type of an event, and its payload.
Event = tuple[str, dict[str, Any]]


class Session(Protocol):
    """The rerun that this process is a part of."""

    def ask(
        self, type: str, name: str, arguments: Any, server: Mapping[str, str], lane: str, call_id: str
    ) -> Reply: ...
    def refuse(self, reason: str) -> NoReturn: ...
    def declare_tools(self, names: Iterable[str]) -> None: ...
    def report(self, lines: list[str]) -> None: ...


class Journal(Protocol):
    """The recorder, as scopes see it."""

    current: "contextvars.ContextVar[Scope | None]"
    hooks: Hooks

    @property
    def session(self) -> Session | None: ...

    @property
    def dropped_events(self) -> int: ...
    def samples(self) -> bool: ...
    def suppress_errors(self) -> AbstractContextManager[object]: ...
    def count_lost_event(self) -> None: ...
    def lane(self) -> str: ...
    def write(
        self, run_id: str, step_id: str | None, parent_id: str | None, number: int, type: str, payload: dict[str, Any]
    ) -> None: ...
    def enclosing_scope(self) -> "Scope | None": ...
    def register(self, run: "RunScope") -> None: ...
    def unregister(self, run: "RunScope") -> None: ...


class Turn(Protocol):
    """A model call that started a turn of its agent."""

    duration_ms: float | None

    def fire_turn_end(self) -> None: ...


class Scope(AbstractContextManager["Scope"]):
    """A run or step being recorded: a context manager and a decorator. Recording errors never reach the agent.

    Set `output` before the scope ends. An exception that passes through is recorded and re-raised.
    """

    # Hooks count the turns inside from 0.
    is_loop = True
    # Open turns inside end with the scope.
    ends_turns = True
    # The code inside is a call, which a rerun can answer instead of making it.
    is_intercepted = False

    def __init__(self, recorder: Journal, make: Callable[[], "Scope"], name: str, input: Any) -> None:
        self._recorder = recorder
        self.name = name
        self.input = input
        self._sets_context = True
        # Makes a fresh scope of the same kind, for each call of a decorated function.
        self._make = make
        self._token: contextvars.Token[Scope | None] | None = None
        self._start_s = 0.0
        self.duration_ms: float | None = None
        self.run: RunScope | None = None
        self.parent: Scope | None = None
        self.parent_scope: Scope | None = None
        self.turns = itertools.count()
        self.open_turns: dict[int, Turn] = {}
        self.id = ""
        self.output: Any = None
        # What the JSON of the output loses, where the output itself does not show it.
        self.form: dict[str, Any] | None = None
        self.error = ""
        self.status = ""

    @property
    def has_ended(self) -> bool:
        return self.duration_ms is not None

    def __enter__(self) -> Self:
        with self._recorder.suppress_errors():
            self._begin()
            if self._sets_context:
                self._token = self._recorder.current.set(self)
        with self._recorder.suppress_errors():
            if self._recorder.hooks.active:
                self._fire_start_hooks()
        self._start_s = time.perf_counter()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        self.duration_ms = round((time.perf_counter() - self._start_s) * 1000, 3)
        with self._recorder.suppress_errors():
            if error is not None and not isinstance(error, GeneratorExit):
                self.fail(error)
            self._end()
        with self._recorder.suppress_errors():
            if self._token is not None:
                self._recorder.current.reset(self._token)
        with self._recorder.suppress_errors():
            if self._recorder.hooks.active:
                self._fire_end_hooks()

    def begin(self, parent: "Scope | None" = None) -> Self:
        """Begin a scope that ends elsewhere, by `end`. Steps that begin meanwhile do not belong to it by themselves."""
        self._sets_context = False
        self.parent_scope = parent
        return self.__enter__()

    def end(self, error: BaseException | None = None) -> None:
        """End a scope that `begin` began."""
        self.__exit__(type(error) if error else None, error, None)

    async def __aenter__(self) -> Self:
        return self.__enter__()

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        self.__exit__(kind, error, trace)

    def fail(self, error: BaseException | str) -> None:
        """Mark the run or step as failed, with an exception or a message."""
        timed_out = isinstance(error, TimeoutError)
        self.status = "timeout" if timed_out else "error"
        self.error = error if isinstance(error, str) else f"{type(error).__name__}: {error}".removesuffix(": ")

    def __call__(self, function: Callable[P, R]) -> Callable[P, R]:
        """Record every call of a function, coroutine function, generator or async generator."""
        return decorate(function, self._scope_for_call)

    def _scope_for_call(
        self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], is_generator: bool
    ) -> "Scope":
        """Create the scope for one call of a decorated function."""
        scope = self._make()
        # What the consumer does between two items is not part of a generator's step.
        scope._sets_context = not is_generator
        scope.is_intercepted = True
        scope.output = [] if is_generator else None
        with self._recorder.suppress_errors():
            scope.name = scope.name or function.__name__
            scope.set_arguments(arguments_of(function, args, kwargs))
        return scope

    @property
    def is_replay(self) -> bool:
        """Whether this process is a rerun, which may answer the step from its recording."""
        return self._recorder.session is not None

    def answer(self) -> Answer | None:
        """Return the outcome that a rerun gives the step; None if its code has to run."""
        return None

    def arrange(self, rearrange: Rearrange, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Arguments:
        """Return the arguments with which the step's code runs: its own, unless a rerun sets others."""
        return args, kwargs

    def record(self) -> Self:
        """Record the run or step at once, with its current values."""
        with self:
            return self

    def append_item(self, item: Any) -> None:
        """Append an item to a generator's output."""
        with self._recorder.suppress_errors():
            if len(self.output) < MAX_ITEMS:
                self.output.append(item)
            else:
                self.form = {"type": "opaque"}

    def set_arguments(self, arguments: dict[str, Any]) -> None:
        """Use the arguments of a decorated function as the input, unless one is set."""
        if self.input is None:
            self.input = arguments

    def _begin(self) -> None:
        raise NotImplementedError

    def _end(self) -> None:
        raise NotImplementedError

    def _fire_start_hooks(self) -> None:
        """Fire the start event, if Krabs defines one."""

    def _fire_end_hooks(self) -> None:
        """Fire the events of everything that ends with this scope."""
        if self.ends_turns:
            self.end_turns()

    def end_turns(self, *, only_finished: bool = False) -> None:
        """Fire `turn_end` for the open turns; `only_finished`: only for those whose model call has ended."""
        for number, model in list(self.open_turns.items()):
            if only_finished and model.duration_ms is None:
                continue
            # Another thread may have ended it meanwhile.
            if self.open_turns.pop(number, None) is not None:
                model.fire_turn_end()


class RunScope(Scope):
    """One run. Steps recorded inside belong to it, in any thread or task."""

    def __init__(
        self, recorder: Journal, make: Callable[[], Scope], name: str, input: Any, facts: dict[str, Any]
    ) -> None:
        super().__init__(recorder, make, name, input)
        self.run = self
        self.id = str(new_uuid())
        self.process_id = os.getpid()
        self._is_sampled = True
        # Made for a single call; the steps of other threads do not belong to it.
        self.is_implicit = False
        self._facts = facts
        self._numbers = itertools.count()
        self._steps = itertools.count(1)
        self._dropped_before = 0
        self._explicit_name = name
        self._is_closed = False
        self._numbering = threading.Lock()
        # Set by the last output step.
        self.final_output: Any = None

    def emit(self, event_type: str, step: "Scope | None", payload: dict[str, Any], number: int | None = None) -> None:
        """Queue an event of this run. Events after the run's end are dropped and counted.

        A forked process records nothing of its parent's run: both would give the same numbers to different events.
        """
        if not self._is_sampled or self.process_id != os.getpid():
            return
        if number is None and (number := self.number()) is None:
            self._recorder.count_lost_event()
            return
        parent_id = getattr(step, "parent_id", None)
        step_id = step.id if step is not None else None
        self._recorder.write(self.id, step_id, parent_id, number, event_type, payload)

    def fire_hooks(self, event: HookEvent, payload: dict[str, Any], *, tool: str = "") -> Decision:
        """Call the hooks for an event of this run, and return their decision."""
        agent = self._facts["app_id"]
        return self._recorder.hooks.fire(event, run=self.id, agent=agent, payload=payload, tool=tool)

    def number(self, *, last: bool = False) -> int | None:
        """Return the next event's sequence number, or None once the run has ended. `last` ends it."""
        with self._numbering:
            if self._is_closed:
                return None
            self._is_closed = last
            return next(self._numbers)

    def step_id(self) -> str:
        return f"s{next(self._steps)}"

    def _begin(self) -> None:
        self._dropped_before = self._recorder.dropped_events
        self._is_sampled = self._recorder.samples()
        if not self.is_implicit:
            self._recorder.register(self)
        entrypoint = {} if self._explicit_name else {"entrypoint_name": self.name}
        self.emit("run_started", None, {"name": self._explicit_name, **entrypoint, **self._facts})
        if self.input is not None:
            self.emit("input_received", None, {"input_channels": ["call"], "input": self.input})

    def _end(self) -> None:
        self._recorder.unregister(self)
        ending: dict[str, Any] = {"output": self.output, "latency_ms": self.duration_ms}
        if lost_count := self._recorder.dropped_events - self._dropped_before:
            ending["dropped_events"] = lost_count
        number = self.number(last=True)
        if self.status:
            self.emit("run_failed", None, {"error": self.error, **ending}, number)
        else:
            self.emit("run_completed", None, ending, number)

    def _fire_start_hooks(self) -> None:
        self.fire_hooks(HookEvent.AGENT_START, {"task": as_text(self.input) or self.name})

    def _fire_end_hooks(self) -> None:
        super()._fire_end_hooks()
        result = self.error or as_text(self.final_output if self.output is None else self.output)
        status = RunStatus.FAILED if self.status else RunStatus.COMPLETED
        self.fire_hooks(HookEvent.AGENT_STOP, {"result": result, "status": status.value})


class StepScope(Scope):
    """One step. A step outside any run is not recorded.

    `attributes` stores further facts, such as `{"db.system": "pgvector"}`; `retries` counts failed attempts.
    """

    kind = "step"

    def __init__(self, recorder: Journal, make: Callable[[], Scope], name: str, input: Any = None) -> None:
        super().__init__(recorder, make, name, input)
        self.attributes: dict[str, Any] = {}
        # The library's object that the step is about.
        self.subject: Any = None
        self.retries = 0
        self.parent_id: str | None = None
        self._links: list[str] = []
        self._number: int | None = None
        self._started_at = ""

    def link(self, *steps: "StepScope") -> Self:
        """Declare that this step used the outputs of `steps`, where no id, message or text shows it."""
        self._links.extend(step.id for step in steps if step.id)
        return self

    def start_event(self) -> Event | None:
        """Return the event of the step's start; None for steps that are recorded by one event at their end."""
        return "step_started", {"type": self.kind, "name": self.name, "input": self.input}

    def end_event(self) -> Event:
        """Return the event of the step's end."""
        return "step_finished", {"type": self.kind, "name": self.name, "output": self.output}

    def _begin(self) -> None:
        parent = self.parent_scope or self._recorder.enclosing_scope()
        self.run = parent.run if parent is not None else None
        if self.run is None or parent is None:
            return
        if (number := self.run.number()) is None:
            self.run = None
            self._recorder.count_lost_event()
            return
        self.parent = parent
        self.id = self.run.step_id()
        self.parent_id = parent.id if isinstance(parent, StepScope) else None
        self._number = number
        if event := self.start_event():
            self.run.emit(event[0], self, event[1], self._number)
        else:
            self._started_at = datetime.now(UTC).isoformat()

    def _end(self) -> None:
        if self.run is None:
            return
        name, payload = self.end_event()
        # Steps without a start event keep the number of their beginning, and state its time.
        self.run.emit(name, self, {**payload, **self._outcome()}, self._number if self._started_at else None)

    def _form(self, form_of: Callable[[Any], dict[str, Any] | None]) -> dict[str, Any]:
        """Return the field that states what the JSON of the output loses, if it loses anything."""
        return {OUTPUT_FORM: form} if (form := self.form or form_of(self.output)) else {}

    def _outcome(self) -> dict[str, Any]:
        """Return the fields that all end events share, without empty ones."""
        fields = {
            "status": self.status or "success",
            "error": self.error,
            "latency_ms": self.duration_ms,
            "retries": self.retries,
            "links": self._links,
            "attributes": self.attributes,
            "started_at": self._started_at,
        }
        return {key: value for key, value in fields.items() if value not in ("", 0, [], {}) or key == "latency_ms"}
