"""Stand-ins for objects that cannot be restored: their JSON, with the text that the object had."""

from typing import Any


class StandInObject(dict[str, Any]):
    """The fields of an object, by item or by attribute."""

    _forkpoint_text = ""
    _forkpoint_literal = ""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None

    def __str__(self) -> str:
        return self._forkpoint_text or super().__str__()

    def __repr__(self) -> str:
        return self._forkpoint_literal or super().__repr__()


class StandInList(list[Any]):
    """The items of an object that was iterated over."""

    _forkpoint_text = ""
    _forkpoint_literal = ""

    def __str__(self) -> str:
        return self._forkpoint_text or super().__str__()

    def __repr__(self) -> str:
        return self._forkpoint_literal or super().__repr__()


class StandInText(str):
    """The JSON text of an object."""

    _forkpoint_text = ""
    _forkpoint_literal = ""

    def __format__(self, format_spec: str) -> str:
        return format(str(self), format_spec)

    def __str__(self) -> str:
        return self._forkpoint_text or super().__str__()

    def __repr__(self) -> str:
        return self._forkpoint_literal or super().__repr__()


def stand_in(plain: Any, text: str, literal: str) -> Any:
    """Return the JSON value of an object, with the object's `str` and `repr`."""
    kinds: dict[type, Any] = {dict: StandInObject, list: StandInList, str: StandInText}
    if not text or type(plain) not in kinds:
        return plain
    value = kinds[type(plain)](plain)
    # Names that no field of an object has, which is an attribute, too.
    vars(value).update(_forkpoint_text=text, _forkpoint_literal=literal)
    return value
