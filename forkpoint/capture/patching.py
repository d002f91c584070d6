"""Replace a function of a library by one that records it."""

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any

from forkpoint.recorder import recorder


def declare_after(owner: Any, name: str, read_names: Callable[..., Iterable[str]]) -> None:
    """Let a function also tell a rerun which tools ask before they run: `read_names` gets its result and arguments."""

    def make_wrapper(original: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            result = original(*args, **kwargs)
            recorder.declare_tools(read_names(result, *args, **kwargs))
            return result

        async def async_wrapper(*args: Any, **kwargs: Any) -> Any:
            result = await original(*args, **kwargs)
            recorder.declare_tools(read_names(result, *args, **kwargs))
            return result

        return async_wrapper if inspect.iscoroutinefunction(original) else wrapper

    # A recording needs none of it.
    if recorder.session is not None:
        wrap(owner, name, make_wrapper)


def wrap(owner: Any, name: str, make_wrapper: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
    """Replace `owner.name` by `make_wrapper(original)`, unless it is wrapped already.

    Raises `AttributeError` if the library has no such function.
    """
    original = owner.__dict__[name] if isinstance(owner, type) and name in owner.__dict__ else getattr(owner, name)
    if getattr(original, "__forkpoint__", False):
        return
    wrapper: Any = functools.wraps(original)(make_wrapper(original))
    wrapper.__forkpoint__ = True
    setattr(owner, name, wrapper)
