"""Steps around the functions of a library: its agents, tools and searches."""

import functools
import inspect
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from typing import Any

from forkpoint.answers import Answer
from forkpoint.arguments import Arguments, Rearrange, WrongArguments
from forkpoint.arguments import rearrange as rearrange_call
from forkpoint.capture.places import find_place
from forkpoint.capture.process_run import process_run
from forkpoint.decorators import answer_of
from forkpoint.kinds import ToolStep
from forkpoint.recorder import recorder
from forkpoint.scopes import RunScope, Scope, StepScope

# Makes the step of a call from its positional and keyword arguments; None if the call is no step.
Describe = Callable[[tuple[Any, ...], dict[str, Any]], StepScope | None]
Read = Callable[[Any], Any]
# Returns what the call would return, from the call, its arguments and the recorded outcome.
Substitute = Callable[[Callable[..., Any], tuple[Any, ...], dict[str, Any], Answer], Any]


@contextmanager
def step_around(step: StepScope) -> Iterator[StepScope]:
    """Record a step, in a run of its own if no run is open. Steps inside belong to it."""
    own_run: RunScope | None = None
    with recorder.suppress_errors():
        parent, own_run = find_place(step.name)
        step.parent_scope = parent
    try:
        with step:
            yield step
    except BaseException as error:
        if own_run is not None:
            with recorder.suppress_errors():
                own_run.fail(error)
        raise
    finally:
        if own_run is not None:
            own_run.end()


def give_result(call: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], answer: Answer) -> Any:
    """Substitute the recorded output for a call that returns JSON."""
    return answer.result()


def refuse_arguments(args: tuple[Any, ...], kwargs: dict[str, Any], old: Any, new: Any) -> Arguments:
    """Refuse other arguments: those of the call are not what the model sent."""
    raise WrongArguments("this framework has read them already")


def put_argument(args: tuple[Any, ...], kwargs: dict[str, Any], place: int, name: str, value: Any) -> Arguments:
    """Return the arguments of a call with another value for one, which may be given by its place or its name."""
    if len(args) > place:
        return (*args[:place], value, *args[place + 1 :]), kwargs
    return args, {**kwargs, name: value}


def record_calls(
    call: Callable[..., Any],
    describe: Describe,
    read: Read = lambda result: result,
    substitute: Substitute = give_result,
    rearrange: Rearrange = refuse_arguments,
) -> Any:
    """Return a function that makes the call inside a step, with what `read` takes from the result as output.

    In a rerun, `substitute` takes the call's place if the recording has its outcome, and `rearrange` puts the arguments
    of an override into a call that is made.
    """
    if inspect.iscoroutinefunction(call):
        return _record_async(call, describe, read, substitute, rearrange)

    def wrapper(*args: Any, **kwargs: Any) -> Any:
        step = make_step(describe, args, kwargs)
        if step is None:
            return call(*args, **kwargs)
        step.is_intercepted = True
        with step_around(step):
            answer = step.answer()
            if answer is None:
                args, kwargs = step.arrange(rearrange, args, kwargs)
                result = call(*args, **kwargs)
            else:
                result = substitute(call, args, kwargs, answer)
            _read_output(step, read, result)
            return result

    return wrapper


def record_function(function: Callable[..., Any], describe: Callable[[], ToolStep]) -> Any:
    """Return a tool's function, of the same kind, with each call in a step, whose arguments are those of the model."""
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        process_run()
        return describe()(function)
    wrapper = record_calls(
        function,
        lambda args, kwargs: describe(),
        substitute=lambda call, args, kwargs, answer: answer.result(function),
        rearrange=functools.partial(rearrange_call, function),
    )
    return functools.wraps(function)(wrapper)


def _record_async(
    call: Callable[..., Any], describe: Describe, read: Read, substitute: Substitute, rearrange: Rearrange
) -> Any:
    async def wrapper(*args: Any, **kwargs: Any) -> Any:
        step = make_step(describe, args, kwargs)
        if step is None:
            return await call(*args, **kwargs)
        step.is_intercepted = True
        with step_around(step):
            answer = await answer_of(step)
            if answer is None:
                args, kwargs = step.arrange(rearrange, args, kwargs)
                result = await call(*args, **kwargs)
            else:
                result = substitute(call, args, kwargs, answer)
                result = await result if inspect.isawaitable(result) else result
            _read_output(step, read, result)
            return result

    return wrapper


def iterate(step: StepScope, iterator: Iterator[Any], read: Read = lambda item: item) -> Iterator[Any]:
    """Record a step that lasts as long as its items are read. Its output is what `read` takes from the last item."""
    own_run = _begin(step)
    try:
        while True:
            token = recorder.current.set(step)
            try:
                step.output = next(iterator)
            except StopIteration:
                break
            finally:
                recorder.current.reset(token)
            yield step.output
    except BaseException as error:
        _fail(step, own_run, error)
        raise
    finally:
        with recorder.suppress_errors():
            step.output = read(step.output)
        _end(step, own_run)


async def iterate_async(
    step: StepScope, iterator: AsyncIterator[Any], read: Read = lambda item: item
) -> AsyncIterator[Any]:
    """Record a step that lasts as long as its items are read. Its output is what `read` takes from the last item."""
    own_run = _begin(step)
    try:
        while True:
            token = recorder.current.set(step)
            try:
                step.output = await anext(iterator)
            except StopAsyncIteration:
                break
            finally:
                recorder.current.reset(token)
            yield step.output
    except BaseException as error:
        _fail(step, own_run, error)
        raise
    finally:
        with recorder.suppress_errors():
            step.output = read(step.output)
        _end(step, own_run)


def _begin(step: StepScope) -> RunScope | None:
    with recorder.suppress_errors():
        place = find_place(step.name)
        step.begin(place.parent)
        return place.own_run
    return None


def _fail(step: StepScope, own_run: RunScope | None, error: BaseException) -> None:
    if isinstance(error, GeneratorExit):
        step.status = "partial"
        return
    with recorder.suppress_errors():
        step.fail(error)
        if own_run is not None:
            own_run.fail(error)


def _end(step: StepScope, own_run: RunScope | None) -> None:
    step.end()
    if own_run is not None:
        own_run.end()


def make_step(describe: Describe, args: tuple[Any, ...], kwargs: dict[str, Any]) -> StepScope | None:
    """Return the step of a call; None if the call is no step, or cannot be described."""
    with interception():
        return describe(args, kwargs)
    return None


@contextmanager
def interception() -> Iterator[None]:
    """Suppress and count errors of an instrumentation while recording. In a rerun they end the process.

    The call would run without having asked.
    """
    try:
        yield
    except Exception as error:  # noqa: BLE001 - it would reach the model as the tool's error
        if recorder.session is not None:
            recorder.session.refuse(f"a call cannot be read, and may not run unread: {type(error).__name__}: {error}")
        recorder.count_lost_event()


def _read_output(step: StepScope, read: Read, result: Any) -> None:
    with recorder.suppress_errors():
        step.output = read(result)


def is_inside(kind: str, name: str) -> bool:
    """Return whether the call is made by a step of this kind and name, which is the same call one layer above."""
    scope: Scope | None = recorder.enclosing_scope()
    return isinstance(scope, StepScope) and scope.kind == kind and scope.name == name
