"""Filters in one language for every store: field, operator, value; all of them have to hold. Pure."""

from dataclasses import dataclass
from typing import Final, Literal, cast

from traces.core.json_types import JSONObject, JSONValue

Operator = Literal["$eq", "$ne", "$gt", "$gte", "$lt", "$lte", "$in", "$nin"]
_OPERATORS: Final = frozenset({"$eq", "$ne", "$gt", "$gte", "$lt", "$lte", "$in", "$nin"})
_ORDERED: Final = frozenset({"$gt", "$gte", "$lt", "$lte"})


@dataclass(frozen=True, kw_only=True)
class Condition:
    field: str
    operator: Operator
    value: JSONValue


class UnknownFilter(ValueError):
    """A filter that the common language does not have."""


def conditions(filters: JSONObject) -> list[Condition]:
    """`{"lang": "en", "year": {"$gte": 2020}, "kind": ["a", "b"]}` and `$and` of such; raises `UnknownFilter`."""
    found: list[Condition] = []
    for field, given in filters.items():
        if field == "$and":
            found += _all(given)
        elif field.startswith("$"):
            raise UnknownFilter(f"{field!r} is not known: give fields with values, or filters of the store's own kind")
        else:
            found += _of_field(field, given)
    return found


def _all(given: JSONValue) -> list[Condition]:
    if not isinstance(given, list):
        raise UnknownFilter("'$and' has to be a list of filters")
    found: list[Condition] = []
    for each in given:
        if not isinstance(each, dict):
            raise UnknownFilter("'$and' has to be a list of filters")
        found += conditions(each)
    return found


def _of_field(field: str, given: JSONValue) -> list[Condition]:
    if isinstance(given, list):
        return [_checked(field, "$in", given)]
    if not isinstance(given, dict):
        return [_checked(field, "$eq", given)]
    if unknown := [name for name in given if name not in _OPERATORS]:
        raise UnknownFilter(f"{unknown[0]!r} of {field!r} is no operator: there is {', '.join(sorted(_OPERATORS))}")
    return [_checked(field, cast(Operator, name), value) for name, value in given.items()]


def _checked(field: str, operator: Operator, value: JSONValue) -> Condition:
    several = operator in {"$in", "$nin"}
    items = value if several and isinstance(value, list) else [value]
    if several != isinstance(value, list) or any(isinstance(item, list | dict) or item is None for item in items):
        wanted = "a list of texts, numbers or booleans" if several else "a text, a number or a boolean"
        raise UnknownFilter(f"{operator!r} of {field!r} takes {wanted}")
    if operator in _ORDERED and (isinstance(value, bool) or not isinstance(value, int | float)):
        raise UnknownFilter(f"{operator!r} of {field!r} takes a number")
    return Condition(field=field, operator=operator, value=value)
