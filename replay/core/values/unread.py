"""Recorded values that are read at their first use: a plan knows most outcomes without them. Pure."""

from collections.abc import Callable
from typing import Any

from traces.core.json_types import JSONValue


class Unread:
    """A recorded value by its reference."""

    __slots__ = ("_payload", "_ref")

    def __init__(self, payload: Callable[[str], JSONValue], ref: str) -> None:
        self._payload = payload
        self._ref = ref

    def read(self) -> JSONValue:
        """Return the value; raises `MissingPart`."""
        return self._payload(self._ref)


class ReadAtFirstUse:
    """Field of a dataclass for a value that may be `Unread`; None by default."""

    _name: str

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: Any, owner: type) -> JSONValue:
        if instance is None:
            return None
        value = instance.__dict__[self._name]
        if type(value) is Unread:
            value = instance.__dict__[self._name] = value.read()
        return value  # type: ignore[no-any-return]  # what `__set__` stored

    def __set__(self, instance: Any, value: JSONValue | Unread) -> None:
        instance.__dict__[self._name] = value
