"""Arguments of calls by name, as a model states them."""

import inspect
from collections.abc import Callable, Iterable
from typing import Any

# Positional and keyword arguments.
Arguments = tuple[tuple[Any, ...], dict[str, Any]]
# Puts new arguments in place of old ones, both by name, into those of a call. Raises `WrongArguments`.
Rearrange = Callable[[tuple[Any, ...], dict[str, Any], Any, Any], Arguments]


class WrongArguments(Exception):
    """Arguments with which a function cannot be called. The message is the reason, as a clause."""


def rearrange(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], old: Any, new: Any
) -> Arguments:
    """Return a call's arguments with what differs between its `old` arguments by name and the `new` ones.

    Raise `WrongArguments` if the function has no such parameter.

    >>> rearrange(lambda id, limit=3: None, ("A-1",), {}, {"id": "A-1"}, {"id": "A-2", "limit": 1})
    (('A-2', 1), {})
    """
    if not isinstance(old, dict) or not isinstance(new, dict):
        raise WrongArguments("its arguments have no names")
    signature = inspect.signature(function)
    call = signature.bind_partial(*args, **kwargs)
    collector = next((name for name, item in signature.parameters.items() if item.kind is item.VAR_KEYWORD), None)
    extras: dict[str, Any] = dict(call.arguments.get(collector, {})) if collector else {}
    names = signature.parameters.keys() - {collector}
    for name in old.keys() - new.keys():
        call.arguments.pop(name, None) if name in names else extras.pop(name, None)
    for name, value in new.items():
        if name in old and old[name] == value:
            continue
        if name in names:
            call.arguments[name] = value
        elif collector:
            extras[name] = value
        else:
            raise WrongArguments(f"it has no argument “{name}”")
    if collector:
        call.arguments[collector] = extras
    # In the order of the parameters, as `bind` has them.
    call.arguments = {name: call.arguments[name] for name in signature.parameters if name in call.arguments}
    return call.args, call.kwargs


def require_properties(arguments: Any, schema: dict[str, Any]) -> None:
    """Raise `WrongArguments` for arguments that are not by name, or that the schema of a tool does not have.

    The framework would refuse or drop them, and the model would see that instead of the result.
    """
    if not isinstance(arguments, dict):
        raise WrongArguments("its arguments have names")
    if "properties" not in schema or schema.get("additionalProperties"):
        return
    for name in arguments:
        if name not in schema["properties"]:
            raise WrongArguments(f"it has no argument “{name}”")


def arguments_of(function: Callable[..., Any], args: Iterable[Any], kwargs: dict[str, Any]) -> dict[str, Any]:
    """Return a call's arguments by name, as a model would state them: without `self` or `cls`, and without the name of
    the parameter that collects all extras.
    """
    call = inspect.signature(function).bind(*args, **kwargs)
    arguments: dict[str, Any] = {}
    for name, value in call.arguments.items():
        if call.signature.parameters[name].kind is inspect.Parameter.VAR_KEYWORD:
            arguments |= value
        elif name not in {"self", "cls"}:
            arguments[name] = value
    return arguments
