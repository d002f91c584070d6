"""Arguments that an override makes up for a framework's tool."""

from typing import Any

import pytest

from forkpoint.arguments import WrongArguments, require_properties

CITY = {"properties": {"city": {"type": "string"}}}


@pytest.mark.parametrize(
    ("arguments", "schema"),
    [
        ({"city": "Oslo"}, CITY),
        ({}, CITY),
        ({"city": "Oslo", "day": 1}, {**CITY, "additionalProperties": True}),
        ({"city": "Oslo"}, {}),
    ],
)
def test_arguments_of_the_schema_are_accepted(arguments: Any, schema: dict[str, Any]) -> None:
    require_properties(arguments, schema)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [({"town": "Oslo"}, "it has no argument “town”"), ("Oslo", "its arguments have names")],
)
def test_other_arguments_are_refused(arguments: Any, message: str) -> None:
    with pytest.raises(WrongArguments, match=message):
        require_properties(arguments, {**CITY, "additionalProperties": False})
