"""Replace a function of a library by one that records it."""

import functools
from collections.abc import Callable
from typing import Any


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
