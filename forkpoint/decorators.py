"""Functions, coroutines and generators whose every call happens inside a scope.

In a rerun a call that the recording answers is not made.
"""

import functools
import importlib
import inspect
from collections.abc import Callable
from typing import Any, ParamSpec, Protocol, Self, TypeVar, cast

from forkpoint.answers import Answer
from forkpoint.arguments import Arguments, Rearrange, rearrange

P = ParamSpec("P")
R = TypeVar("R")


class CallScope(Protocol):
    """The scope of one call."""

    output: Any

    def __enter__(self) -> Self: ...
    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None: ...
    @property
    def is_replay(self) -> bool: ...
    def answer(self) -> Answer | None: ...
    def arrange(self, rearrange: Rearrange, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Arguments: ...
    def append_item(self, item: Any) -> None: ...


# Makes the scope of a call from the function, its arguments, and whether it yields items.
MakeScope = Callable[[Callable[..., Any], tuple[Any, ...], dict[str, Any], bool], CallScope]


def decorate(function: Callable[P, R], make_scope: MakeScope) -> Callable[P, R]:
    """Return a function of the same kind that makes each call inside a scope."""
    if inspect.isasyncgenfunction(function):
        wrapper: Any = _async_items(function, make_scope)
    elif inspect.iscoroutinefunction(function):
        wrapper = _async_call(function, make_scope)
    elif inspect.isgeneratorfunction(function):
        wrapper = _items(function, make_scope)
    else:
        wrapper = _call(function, make_scope)
    return cast(Callable[P, R], functools.wraps(function)(wrapper))


async def answer_of(scope: CallScope) -> Answer | None:
    """Return a scope's answer without blocking the event loop of asyncio.

    A call that the agent cancelled waits until the agent cancels it again.
    """
    if not scope.is_replay:
        return None
    asyncio = importlib.import_module("asyncio")
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        # The loop of another library.
        return scope.answer()
    answer: Answer | None = await loop.run_in_executor(None, scope.answer)
    if answer is not None and answer.is_cancellation:
        await loop.create_future()
    return answer


def _make(scope: CallScope, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Make a call, with the arguments that a rerun sets if it sets any."""
    args, kwargs = scope.arrange(functools.partial(rearrange, function), args, kwargs)
    return function(*args, **kwargs)


def _call(function: Callable[..., Any], make_scope: MakeScope) -> Callable[..., Any]:
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        with make_scope(function, args, kwargs, False) as scope:
            answer = scope.answer()
            scope.output = _make(scope, function, args, kwargs) if answer is None else answer.result(function)
            return scope.output

    return wrapper


def _async_call(function: Callable[..., Any], make_scope: MakeScope) -> Callable[..., Any]:
    async def wrapper(*args: Any, **kwargs: Any) -> Any:
        with make_scope(function, args, kwargs, False) as scope:
            answer = await answer_of(scope)
            scope.output = await _make(scope, function, args, kwargs) if answer is None else answer.result(function)
            return scope.output

    return wrapper


def _items(function: Callable[..., Any], make_scope: MakeScope) -> Callable[..., Any]:
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        with make_scope(function, args, kwargs, True) as scope:
            answer = scope.answer()
            for item in _make(scope, function, args, kwargs) if answer is None else answer.items(function):
                scope.append_item(item)
                yield item

    return wrapper


def _async_items(function: Callable[..., Any], make_scope: MakeScope) -> Callable[..., Any]:
    async def wrapper(*args: Any, **kwargs: Any) -> Any:
        with make_scope(function, args, kwargs, True) as scope:
            answer = await answer_of(scope)
            if answer is not None:
                for item in answer.items(function):
                    yield item
                return
            async for item in _make(scope, function, args, kwargs):
                scope.append_item(item)
                yield item

    return wrapper
