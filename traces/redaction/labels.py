"""Names of values as detectors see them: beside a header's value stands its name, in an object or a pair of texts."""

from collections.abc import Mapping, Sequence
from typing import Final

from traces.core.json_types import JSONValue

_VALUE: Final = "value"
_NAMES: Final = ("name", "key")


def member_name(fields: Mapping[str, JSONValue], key: str) -> str:
    """Return the name of a member of an object: `X-Api-Key` for the value in `{"name": "X-Api-Key", "value": …}`."""
    if key != _VALUE:
        return key
    return next((name for field in _NAMES if isinstance(name := fields.get(field), str)), key)


def item_name(items: Sequence[JSONValue], index: int, name: str) -> str:
    """Return the name of an item of a list called `name`: `X-Api-Key` for the second one in `["X-Api-Key", …]`."""
    if index == 1 and len(items) == 2 and isinstance(items[0], str):  # noqa: PLR2004 - a pair
        return items[0]
    return name
