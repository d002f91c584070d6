"""The type of any JSON value."""

from typing import TYPE_CHECKING, TypeAlias

from typing_extensions import TypeAliasType

if TYPE_CHECKING:
    JSONValue: TypeAlias = str | int | float | bool | None | list["JSONValue"] | dict[str, "JSONValue"]
else:
    # A named alias, because pydantic cannot resolve an anonymous recursive one.
    JSONValue = TypeAliasType("JSONValue", str | int | float | bool | None | list["JSONValue"] | dict[str, "JSONValue"])
JSONObject: TypeAlias = dict[str, JSONValue]
