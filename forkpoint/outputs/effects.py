"""What a call changes besides what it returns: entries of its framework's state, which a rerun changes again."""

import json
from collections.abc import Mapping
from typing import Any, Final, Protocol

from forkpoint.encoding import encode, without_long_integers
from forkpoint.outputs.forms import Form, form_of
from forkpoint.outputs.restoring import restore

EFFECTS: Final = "effects"
# Entries of one call, and characters of one entry.
_MOST: Final = 100
_LONGEST: Final = 200_000


class State(Protocol):
    """The state that the tools of a framework share, by name."""

    def read(self) -> Mapping[str, Any]: ...
    def write(self, name: str, value: Any) -> None: ...
    def remove(self, name: str) -> None: ...


def snapshot(state: State) -> dict[str, str]:
    """Return the JSON of each entry."""
    return {name: without_long_integers(encode(value)) for name, value in state.read().items()}


def with_effects(form: Form | None, state: State, before: Mapping[str, str]) -> Form | None:
    """Return the form of an output with the entries that changed since the snapshot."""
    after, values = snapshot(state), state.read()
    names = [name for name, line in after.items() if before.get(name) != line]
    effects: list[Form] = [_describe(name, after[name], values[name]) for name in names]
    effects += [{"name": name, "is_removed": True} for name in before if name not in after]
    return {**(form or {"type": "plain"}), EFFECTS: effects[:_MOST]} if effects else form


def _describe(name: str, line: str, value: Any) -> Form:
    form = form_of(value)
    if len(line) > _LONGEST or not restore(json.loads(line), form).is_faithful:
        return {"name": name, "is_lost": True}
    return {"name": name, "value": json.loads(line), **({} if form is None else {"form": form})}


def repeat_effects(state: State, form: Any) -> bool:
    """Change the state as the recorded call did; return whether all of it is known."""
    effects = form.get(EFFECTS, []) if isinstance(form, dict) else []
    for effect in effects:
        if effect.get("is_removed"):
            state.remove(effect["name"])
        elif "value" in effect:
            state.write(effect["name"], restore(effect["value"], effect.get("form")).value)
    return not any(effect.get("is_lost") for effect in effects)
