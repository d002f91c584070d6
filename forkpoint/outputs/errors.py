"""Errors that calls raised: what their text loses, and how a rerun raises them again.

Frameworks and agents read the arguments and attributes of an exception: `ModelRetry.message`, `OSError.errno`, the
value of LangGraph's `interrupt`. What JSON can have of these is recorded beside the text.
"""

import builtins
import json
from collections.abc import Iterator
from typing import Any, Final

from forkpoint.encoding import encode, without_long_integers
from forkpoint.outputs.forms import Form, form_of
from forkpoint.outputs.restoring import restore

KIND: Final = "error"
# Characters of one argument or attribute.
_LONGEST: Final = 200_000
# Of the classes that are made here: another error of the same class is not derived from the first.
_MARK: Final = "_forkpoint_recorded"


class RecordedError(Exception):
    """An error that a call raised in the recording, of a class that this process does not have."""


def form_of_error(error: BaseException) -> Form | None:
    """Return what the text of an error loses; None if that is nothing. Never raises."""
    try:
        return _form(error)
    except Exception:  # noqa: BLE001 - the agent's own code runs here, and may raise anything
        return None


def _form(error: BaseException) -> Form | None:
    text, fields = str(error), dict(vars(error))
    if not fields and error.args in ((), (text,)):
        return None
    state = {name: _describe(value) for name, value in fields.items()}
    args = [_describe(value) for value in error.args]
    has_args = None not in args
    attributes = {name: value for name, value in state.items() if value is not None}
    is_partial = not has_args or len(attributes) < len(state)
    return {
        "type": KIND,
        **({"args": args} if has_args else {}),
        "fields": attributes,
        **({"is_partial": True} if is_partial else {}),
    }


def _describe(value: Any) -> dict[str, Any] | None:
    """Return a value as JSON with its form; None if a rerun could not restore it."""
    line = without_long_integers(encode(value))
    form = form_of(value)
    if len(line) > _LONGEST or not restore(json.loads(line), form).is_faithful:
        return None
    return {"value": json.loads(line), **({} if form is None else {"form": form})}


def loses_state(form: Any) -> bool:
    """Return whether an error that is raised again lacks arguments or attributes that the recorded one had."""
    return isinstance(form, dict) and form.get("type") == KIND and bool(form.get("is_partial"))


def exception(text: str, form: Any = None) -> Exception:
    """Return the exception that was recorded as this text: of its class, if this process has exactly one by the name.

    >>> exception("ValueError: no stock")
    ValueError('no stock')
    """
    name, _, message = text.partition(": ")
    if not name.isidentifier():
        name, message = RecordedError.__name__, text
    state = form if isinstance(form, dict) and form.get("type") == KIND else {}
    args = [_restore(item) for item in state.get("args", [{"value": message}])]
    try:
        error = _make(_find_class(name) or RecordedError, name, message, args)
    except TypeError:
        # A class that cannot be derived from.
        error = _make(RecordedError, name, message, args)
    vars(error).update({name: _restore(item) for name, item in state.get("fields", {}).items()})
    return error


def _restore(item: Any) -> Any:
    return restore(item["value"], item.get("form")).value


def _make(base: type[Exception], name: str, message: str, args: list[Any]) -> Exception:
    """Return an exception with this text, past its constructor, which may want anything and make the text of it."""
    members = {"__str__": lambda self: message, "__module__": base.__module__, _MARK: True}
    kind: type[Exception] = type(name, (base,), members)
    return kind.__new__(kind, *args)


def _find_class(name: str) -> type[Exception] | None:
    builtin = getattr(builtins, name, None)
    if isinstance(builtin, type) and issubclass(builtin, Exception):
        return builtin
    classes = {kind for kind in _subclasses(Exception) if kind.__name__ == name and _MARK not in vars(kind)}
    return classes.pop() if len(classes) == 1 else None


def _subclasses(kind: type[Exception]) -> Iterator[type[Exception]]:
    for subclass in kind.__subclasses__():
        yield subclass
        yield from _subclasses(subclass)
