"""Classes that only carry data: dataclasses, Pydantic models, named tuples and enums.

An object of one is made again without its constructor, from its fields: no code of the agent runs, and nothing is
imported by a name that a recording contains.
"""

import dataclasses
import enum
import sys
from typing import Any


def class_name(kind: type) -> str:
    return f"{kind.__module__}:{kind.__qualname__}"


def find_class(name: str, *categories: str) -> Any:
    """Return a class by the name that `class_name` gave it.

    Raise `LookupError` if this process has not loaded it, or if it is of another category: the recording may be of
    anyone, and what makes an enum's member evaluates code where it is applied to a generic model.
    """
    module, _, path = name.partition(":")
    value: Any = sys.modules[module]
    for part in path.split("."):
        value = vars(value)[part]
    if not isinstance(value, type) or category(value) not in categories:
        raise LookupError(name)
    return value


def category(kind: type) -> str:
    """Return what a class is: `enum`, `named_tuple`, `model` or `dataclass`; empty if it may be more than data."""
    if hasattr(kind, "__del__"):
        # The end of a second object would close what the first one has open.
        return ""
    if issubclass(kind, enum.Enum):
        return "enum"
    if issubclass(kind, tuple) and hasattr(kind, "_fields"):
        return "named_tuple"
    if hasattr(kind, "__pydantic_validator__") and hasattr(kind, "__pydantic_fields_set__"):
        return "model"
    if dataclasses.is_dataclass(kind) and not issubclass(kind, dict | list | str | int | float | tuple):
        return "dataclass"
    return ""


def require_only_items(value: Any) -> None:
    """Raise `ValueError` if a named tuple has attributes beside its items."""
    if getattr(value, "__dict__", None):
        raise ValueError("attributes beside the items")


def fields_of(value: Any) -> dict[str, Any]:
    """Return the fields of a dataclass's or model's object; raise `ValueError` if it has more than these."""
    if category(type(value)) == "model":
        if getattr(value, "__pydantic_private__", None):
            raise ValueError("private attributes")
        return {**vars(value), **(getattr(value, "__pydantic_extra__", None) or {})}
    fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if (getattr(value, "__dict__", {}).keys() | _slots(type(value))) - fields.keys():
        raise ValueError("attributes that are no fields")
    return fields


def _slots(kind: type) -> set[str]:
    declarations = [vars(base).get("__slots__", ()) for base in kind.__mro__]
    names = {name for slots in declarations for name in ([slots] if isinstance(slots, str) else slots)}
    return names - {"__dict__", "__weakref__"}


def make_object(kind: type, fields: dict[str, Any], names_set: list[str]) -> Any:
    """Return an object with these fields; raise `ValueError` if its class has others by now."""
    value: Any = object.__new__(kind)
    if category(kind) == "dataclass":
        if fields.keys() != {field.name for field in dataclasses.fields(kind)}:
            raise ValueError(f"{kind.__name__} has other fields")
        for name, item in fields.items():
            object.__setattr__(value, name, item)
        return value
    model: Any = kind
    if model.__private_attributes__:
        raise ValueError(f"{kind.__name__} has private attributes")
    own_names = model.__pydantic_fields__.keys()
    allows_extra = model.model_config.get("extra") == "allow"
    if own_names - fields.keys() or (fields.keys() - own_names and not allows_extra):
        raise ValueError(f"{kind.__name__} has other fields")
    own = {name: item for name, item in fields.items() if name in own_names}
    object.__setattr__(value, "__dict__", own)
    object.__setattr__(value, "__pydantic_fields_set__", {*names_set})
    extra = {name: item for name, item in fields.items() if name not in own_names}
    object.__setattr__(value, "__pydantic_extra__", extra if allows_extra else None)
    object.__setattr__(value, "__pydantic_private__", None)
    return value
