"""Store-independent filters: conditions of field, operator and value, combined with AND. Pure."""

from dataclasses import dataclass
from typing import Final, Literal, cast

from traces.core.json_access import is_number
from traces.core.json_types import JSONObject, JSONValue

Operator = Literal["$eq", "$ne", "$gt", "$gte", "$lt", "$lte", "$in", "$nin"]
_OPERATORS: Final = frozenset({"$eq", "$ne", "$gt", "$gte", "$lt", "$lte", "$in", "$nin"})
_RANGE_OPERATORS: Final = frozenset({"$gt", "$gte", "$lt", "$lte"})


@dataclass(frozen=True, kw_only=True)
class Condition:
    field: str
    operator: Operator
    value: JSONValue


class UnknownFilter(ValueError):
    """A filter that the store-independent language does not support."""


def conditions(filters: JSONObject) -> list[Condition]:
    """Parse filters such as `{"lang": "en", "year": {"$gte": 2020}}`; raises `UnknownFilter`."""
    parsed_conditions: list[Condition] = []
    for field, value in filters.items():
        if field == "$and":
            parsed_conditions += _and_conditions(value)
        elif field.startswith("$"):
            raise UnknownFilter(
                f"“{field}” is unknown: give fields with values, or filters in the store's own language"
            )
        else:
            parsed_conditions += _field_conditions(field, value)
    return parsed_conditions


def _and_conditions(value: JSONValue) -> list[Condition]:
    if not isinstance(value, list):
        raise UnknownFilter("“$and” has to be a list of filters")
    parsed_conditions: list[Condition] = []
    for item in value:
        if not isinstance(item, dict):
            raise UnknownFilter("“$and” has to be a list of filters")
        parsed_conditions += conditions(item)
    return parsed_conditions


def _field_conditions(field: str, test: JSONValue) -> list[Condition]:
    if isinstance(test, list):
        return [_validated_condition(field, "$in", test)]
    if not isinstance(test, dict):
        return [_validated_condition(field, "$eq", test)]
    if unknown_operators := [name for name in test if name not in _OPERATORS]:
        raise UnknownFilter(
            f"“{unknown_operators[0]}” of “{field}” is not an operator: use one of {', '.join(sorted(_OPERATORS))}"
        )
    return [_validated_condition(field, cast(Operator, name), value) for name, value in test.items()]


def _validated_condition(field: str, operator: Operator, value: JSONValue) -> Condition:
    takes_list = operator in {"$in", "$nin"}
    items = value if takes_list and isinstance(value, list) else [value]
    if takes_list != isinstance(value, list) or any(isinstance(item, list | dict) or item is None for item in items):
        expected_value = "a list of strings, numbers or booleans" if takes_list else "a string, a number or a boolean"
        raise UnknownFilter(f"“{operator}” of “{field}” takes {expected_value}")
    if operator in _RANGE_OPERATORS and not is_number(value):
        raise UnknownFilter(f"“{operator}” of “{field}” takes a number")
    return Condition(field=field, operator=operator, value=value)
