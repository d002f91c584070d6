"""All settings of a run as one flat map: `prompt.desk.3`, `model.desk.name`, `row.get_order.A-7.total`.

A change sets some entries, so changes of different entries can be combined in any order and number.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from traces.core.json_types import JSONObject, JSONValue

Settings = Mapping[str, JSONValue]
# Sentences of a prompt. Empty ones are skipped.
SLOTS: Final = 8


def system(settings: Settings, node: str) -> str:
    """Return a node's system prompt."""
    slots = (settings.get(f"prompt.{node}.{at}") for at in range(SLOTS))
    return " ".join(str(slot) for slot in slots if slot)


def user(settings: Settings) -> str:
    """Return the user's message."""
    slots = (settings.get(f"user.{at}") for at in range(SLOTS))
    return " ".join(str(slot) for slot in slots if slot)


def parameters(settings: Settings, node: str) -> JSONObject:
    """Return a node's sampling parameters. One word counts as one token."""
    return {
        "temperature": settings.get(f"model.{node}.temperature", 0),
        "max_tokens": settings.get(f"model.{node}.max_tokens", 400),
    }


def model(settings: Settings, node: str) -> str:
    return str(settings.get(f"model.{node}.name", "m1"))


def row(settings: Settings, tool: str, key: str) -> JSONObject | None:
    """Return a tool's row for a key, without removed fields, or None if it has no such row."""
    prefix = f"row.{tool}.{key}."
    fields = {path.removeprefix(prefix): value for path, value in settings.items() if path.startswith(prefix)}
    return {name: value for name, value in fields.items() if value is not None} or None


def prompts(**nodes: Iterable[str]) -> dict[str, JSONValue]:
    """Return the entries for the prompt sentences of these nodes."""
    return {f"prompt.{node}.{at}": text for node, texts in nodes.items() for at, text in enumerate(texts)}


def rows(tool: str, **fields_by_key: JSONObject) -> dict[str, JSONValue]:
    """Return the entries for a tool's rows. `_` in a key stands for `-`."""
    return {
        f"row.{tool}.{key.replace('_', '-')}.{name}": value
        for key, fields in fields_by_key.items()
        for name, value in fields.items()
    }
