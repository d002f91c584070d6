"""Everything a run is made of, as one flat map: `prompt.desk.3`, `model.desk.name`, `row.get_order.A-7.total`.

A change sets some of its entries, so changes of different entries can be applied in any order and any number.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from traces.core.json_types import JSONObject, JSONValue

Settings = Mapping[str, JSONValue]
SLOTS: Final = 8  # sentences of a prompt; an empty one is left out


def system(settings: Settings, node: str) -> str:
    """A node's system prompt."""
    slots = (settings.get(f"prompt.{node}.{at}") for at in range(SLOTS))
    return " ".join(str(slot) for slot in slots if slot)


def user(settings: Settings) -> str:
    """What the user says."""
    slots = (settings.get(f"user.{at}") for at in range(SLOTS))
    return " ".join(str(slot) for slot in slots if slot)


def parameters(settings: Settings, node: str) -> JSONObject:
    """A node's sampling parameters; its tokens are words."""
    return {
        "temperature": settings.get(f"model.{node}.temperature", 0),
        "max_tokens": settings.get(f"model.{node}.max_tokens", 400),
    }


def model(settings: Settings, node: str) -> str:
    return str(settings.get(f"model.{node}.name", "m1"))


def row(settings: Settings, tool: str, key: str) -> JSONObject | None:
    """What a tool has under a key: the fields that are there; None where it has nothing."""
    prefix = f"row.{tool}.{key}."
    found = {path.removeprefix(prefix): value for path, value in settings.items() if path.startswith(prefix)}
    return {name: value for name, value in found.items() if value is not None} or None


def prompts(**nodes: Iterable[str]) -> dict[str, JSONValue]:
    """Entries for the sentences of some nodes' prompts."""
    return {f"prompt.{node}.{at}": text for node, texts in nodes.items() for at, text in enumerate(texts)}


def rows(tool: str, **found: JSONObject) -> dict[str, JSONValue]:
    """Entries for what a tool has; `_` stands for `-` in a key."""
    return {
        f"row.{tool}.{key.replace('_', '-')}.{name}": value
        for key, fields in found.items()
        for name, value in fields.items()
    }
