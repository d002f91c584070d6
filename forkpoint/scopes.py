"""What is being recorded right now: a run, and steps inside it. Each is a context manager and a decorator."""

import contextvars
import functools
import inspect
import itertools
import threading
import time
import uuid
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from typing import Any, ParamSpec, Protocol, Self, TypeVar, cast

from forkpoint.encoding import as_text
from forkpoint.hooks import Decision, Hooks
from traces.core.vocabulary import HookEvent, RunStatus

P = ParamSpec("P")
R = TypeVar("R")
_MOST_ITEMS = 1000  # of a generator's output that are kept


class Journal(Protocol):
    """Where scopes write what happens in them: the recorder."""

    current: "contextvars.ContextVar[Scope | None]"
    hooks: Hooks

    @property
    def dropped(self) -> int: ...
    def quietly(self) -> AbstractContextManager[object]: ...
    def missed(self) -> None: ...
    def write(self, run_id: str, event: dict[str, Any]) -> None: ...
    def above(self) -> "Scope | None": ...
    def opened(self, run: "RunScope") -> None: ...
    def closed(self, run: "RunScope") -> None: ...


class Turn(Protocol):
    """A model call that began a turn of its agent."""

    duration_ms: float | None

    def tell_turn_end(self) -> None: ...


class Scope(AbstractContextManager["Scope"]):
    """Something with a beginning and an end; every method that the agent calls keeps its troubles to itself."""

    is_loop = True  # hooks count the turns in it from 0
    ends_turns = True  # hooks hear that the turns in it are over when it ends

    def __init__(self, recorder: Journal, make: Callable[[], "Scope"], name: str, input: Any) -> None:
        self._recorder = recorder
        self.name = name
        self.input = input
        self._carries = True
        self._make = make  # a fresh scope of the same kind, for each call of a decorated function
        self._token: contextvars.Token[Scope | None] | None = None
        self._started = 0.0
        self.duration_ms: float | None = None
        self.run: RunScope | None = None
        self.above: Scope | None = None
        self.turns = itertools.count()
        self.open_turns: dict[int, Turn] = {}
        self.id = ""
        self.output: Any = None
        self.error = ""
        self.status = ""

    def __enter__(self) -> Self:
        with self._recorder.quietly():
            self._begin()
            if self._carries:
                self._token = self._recorder.current.set(self)
        with self._recorder.quietly():
            if self._recorder.hooks.active:
                self._tell_beginning()
        self._started = time.perf_counter()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        self.duration_ms = round((time.perf_counter() - self._started) * 1000, 3)
        with self._recorder.quietly():
            if error is not None and not isinstance(error, GeneratorExit):
                self.failed(error)
            self._end()
        with self._recorder.quietly():
            if self._token is not None:
                self._recorder.current.reset(self._token)
        with self._recorder.quietly():
            if self._recorder.hooks.active:
                self._tell_end()

    async def __aenter__(self) -> Self:
        return self.__enter__()

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        self.__exit__(kind, error, trace)

    def failed(self, error: BaseException | str) -> None:
        """Note that this went wrong."""
        timed_out = isinstance(error, TimeoutError)
        self.status = "timeout" if timed_out else "error"
        self.error = error if isinstance(error, str) else f"{type(error).__name__}: {error}".removesuffix(": ")

    def __call__(self, function: Callable[P, R]) -> Callable[P, R]:
        """Record every call of a function: plain, async, or a generator of either kind."""
        if inspect.isasyncgenfunction(function):
            wrapped: Any = self._async_items(function)
        elif inspect.iscoroutinefunction(function):
            wrapped = self._async_call(function)
        elif inspect.isgeneratorfunction(function):
            wrapped = self._items(function)
        else:
            wrapped = self._call(function)
        return cast(Callable[P, R], functools.wraps(function)(wrapped))

    def _call(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            with self._called(function, args, kwargs) as scope:
                scope.output = function(*args, **kwargs)
                return scope.output

        return wrapped

    def _async_call(self, function: Callable[..., Any]) -> Callable[..., Any]:
        async def wrapped(*args: Any, **kwargs: Any) -> Any:
            with self._called(function, args, kwargs) as scope:
                scope.output = await function(*args, **kwargs)
                return scope.output

        return wrapped

    def _items(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            with self._called(function, args, kwargs, generator=True) as scope:
                for item in function(*args, **kwargs):
                    scope.kept(item)
                    yield item

        return wrapped

    def _async_items(self, function: Callable[..., Any]) -> Callable[..., Any]:
        async def wrapped(*args: Any, **kwargs: Any) -> Any:
            with self._called(function, args, kwargs, generator=True) as scope:
                async for item in function(*args, **kwargs):
                    scope.kept(item)
                    yield item

        return wrapped

    def _called(
        self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], *, generator: bool = False
    ) -> "Scope":
        """A scope for one call of a decorated function."""
        scope = self._make()
        # What the consumer does between two items is not part of a generator's step.
        scope._carries = not generator
        scope.output = [] if generator else None
        with self._recorder.quietly():
            scope.name = scope.name or function.__name__
            scope.called_with(arguments_of(function, args, kwargs))
        return scope

    def record(self) -> Self:
        """Record it as it is, at once."""
        with self:
            return self

    def kept(self, item: Any) -> None:
        """Keep one item of a generator's output."""
        with self._recorder.quietly():
            if len(self.output) < _MOST_ITEMS:
                self.output.append(item)

    def called_with(self, arguments: dict[str, Any]) -> None:
        """Take the arguments of a decorated function for the input, where no other was given."""
        if self.input is None:
            self.input = arguments

    def _begin(self) -> None:
        raise NotImplementedError

    def _end(self) -> None:
        raise NotImplementedError

    def _tell_beginning(self) -> None:
        """Tell hooks, where Krabs has an event for it."""

    def _tell_end(self) -> None:
        """Tell hooks what ended with it."""
        if self.ends_turns:
            self.end_turns()

    def end_turns(self, *, answered: bool = False) -> None:
        """Tell hooks that the turns in this scope are over; `answered`: only those whose model has ended."""
        for number, model in list(self.open_turns.items()):
            if answered and model.duration_ms is None:
                continue
            if self.open_turns.pop(number, None) is not None:  # another thread may have told it
                model.tell_turn_end()


class RunScope(Scope):
    """One run. Steps that are recorded inside belong to it, in whatever thread or task."""

    def __init__(
        self, recorder: Journal, make: Callable[[], Scope], name: str, input: Any, facts: dict[str, Any]
    ) -> None:
        super().__init__(recorder, make, name, input)
        self.run = self
        self.id = str(uuid.uuid4())
        self._facts = facts
        self._numbers = itertools.count()
        self._steps = itertools.count(1)
        self._dropped_before = 0
        self._given_name = name
        self._over = False
        self._numbering = threading.Lock()
        self.said: Any = None  # by the last output step

    def emit(self, event_type: str, step: "Scope | None", payload: dict[str, Any], number: int | None = None) -> None:
        """Queue one event of this run; what comes after its end is lost, and counted."""
        if number is None and (number := self.number()) is None:
            self._recorder.missed()
            return
        parent = getattr(step, "parent_id", None)
        self._recorder.write(
            self.id,
            {
                "schema_version": "1.0.0",
                "trace_id": self.id,
                "run_id": self.id,
                "step_id": step.id if step is not None else None,
                "parent_step_id": parent,
                "sequence_no": number,
                "event_type": event_type,
                "timestamp_utc": datetime.now(UTC).isoformat(),
                "actor_type": "sdk",
                "determinism_mode": "live",
                "artifact_refs": [],
                "redaction_status": "not_required",
                "payload": payload,
            },
        )

    def tell(self, event: HookEvent, payload: dict[str, Any], *, tool: str = "") -> Decision:
        """Ask the hooks about something in this run."""
        agent = self._facts["app_id"]
        return self._recorder.hooks.fire(event, run=self.id, agent=agent, payload=payload, tool=tool)

    def number(self, *, last: bool = False) -> int | None:
        """The number of the next event, or None after the last one: nothing may be numbered after a run's end."""
        with self._numbering:
            if self._over:
                return None
            self._over = last
            return next(self._numbers)

    def step_id(self) -> str:
        return f"s{next(self._steps)}"

    def _begin(self) -> None:
        self._dropped_before = self._recorder.dropped
        self._recorder.opened(self)
        called = {} if self._given_name else {"entrypoint_name": self.name}
        self.emit("run_started", None, {"name": self._given_name, **called, **self._facts})
        if self.input is not None:
            self.emit("input_received", None, {"input_channels": ["call"], "input": self.input})

    def _end(self) -> None:
        self._recorder.closed(self)
        ending: dict[str, Any] = {"output": self.output, "latency_ms": self.duration_ms}
        if dropped := self._recorder.dropped - self._dropped_before:
            ending["dropped_events"] = dropped
        number = self.number(last=True)
        if self.status:
            self.emit("run_failed", None, {"error": self.error, **ending}, number)
        else:
            self.emit("run_completed", None, ending, number)

    def _tell_beginning(self) -> None:
        self.tell(HookEvent.AGENT_START, {"task": as_text(self.input) or self.name})

    def _tell_end(self) -> None:
        super()._tell_end()
        result = self.error or as_text(self.said if self.output is None else self.output)
        status = RunStatus.FAILED if self.status else RunStatus.COMPLETED
        self.tell(HookEvent.AGENT_STOP, {"result": result, "status": status.value})


class StepScope(Scope):
    """One step. `attributes` are kept beside its input and output; a step outside any run is not recorded."""

    kind = "step"

    def __init__(self, recorder: Journal, make: Callable[[], Scope], name: str, input: Any = None) -> None:
        super().__init__(recorder, make, name, input)
        self.attributes: dict[str, Any] = {}
        self.retries = 0
        self.parent_id: str | None = None
        self._links: list[str] = []
        self._number: int | None = None

    def consumed(self, *steps: "StepScope") -> Self:
        """Say that this step used what those steps gave."""
        self._links.extend(step.id for step in steps if step.id)
        return self

    def started(self) -> tuple[str, dict[str, Any]] | None:
        """The event at the beginning, for steps that are told in two events."""
        return "step_started", {"type": self.kind, "name": self.name, "input": self.input}

    def ended(self) -> tuple[str, dict[str, Any]]:
        return "step_finished", {"type": self.kind, "name": self.name, "output": self.output}

    def _begin(self) -> None:
        above = self._recorder.above()
        self.run = above.run if above is not None else None
        if self.run is None or above is None:
            return
        if (number := self.run.number()) is None:
            self.run = None
            self._recorder.missed()
            return
        self.above = above
        self.id = self.run.step_id()
        self.parent_id = above.id if isinstance(above, StepScope) else None
        self._number = number
        self._started_at = datetime.now(UTC).isoformat()
        if event := self.started():
            self.run.emit(event[0], self, event[1], self._number)

    def _end(self) -> None:
        if self.run is None:
            return
        name, payload = self.ended()
        self.run.emit(name, self, {**payload, **self._outcome()}, self._number if self.started() is None else None)

    def _outcome(self) -> dict[str, Any]:
        """What every ending says, as far as there is something to say."""
        said = {
            "status": self.status or "success",
            "error": self.error,
            "latency_ms": self.duration_ms,
            "retries": self.retries,
            "links": self._links,
            "attributes": self.attributes,
            "started_at": self._started_at if self.started() is None else "",
        }
        return {key: value for key, value in said.items() if value not in ("", 0, [], {}) or key == "latency_ms"}


def arguments_of(function: Callable[..., Any], args: Iterable[Any], kwargs: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a call by name, without the object that a method belongs to."""
    bound = inspect.signature(function).bind(*args, **kwargs).arguments
    return {name: value for name, value in bound.items() if name not in {"self", "cls"}}
