"""What a call changes besides what it returns: entries of a state that its framework shares, changed again in a rerun.

get_weather.state = {"cities": ["Rome"]}  becomes  {"cities": ["Rome", "Oslo"]}
the form of the output has  "effects": [{"name": "cities", "value": ["Rome", "Oslo"]}]
"""

import json
import marshal
import time
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, Final, Protocol

from forkpoint.encoding import encode, without_long_integers
from forkpoint.outputs.data_classes import category
from forkpoint.outputs.forms import Form, form_of
from forkpoint.outputs.restoring import restore

EFFECTS: Final = "effects"
# When a call ended. Calls that were open at once may be answered in another order.
_END: Final = "effects_at"
# Entries of one call, and characters of one entry.
_MOST: Final = 100
_LONGEST: Final = 200_000
# Of marshal: later ones mark objects that others share, so that equal data has several forms.
_WITHOUT_SHARING: Final = 2
_DATA: Final = frozenset({type(None), bool, int, float, str, list, tuple, dict, set, frozenset})
# The owners that are remembered. Each stays alive as long, so that no other one gets its id.
_MOST_OWNERS: Final = 64
# When the call ended that changed an entry last, by its name, with the owner, by the id of this.
_ends: OrderedDict[int, tuple[Any, dict[str, int]]] = OrderedDict()


class State(Protocol):
    """The state that the tools of a framework share. `owner` is the object that has its entries."""

    @property
    def owner(self) -> Any: ...
    def read(self) -> Mapping[str, Any]: ...
    def write(self, name: str, value: Any) -> None: ...
    def remove(self, name: str) -> None: ...


class ObjectState:
    """A dictionary, or an object whose attributes are the entries. Of an object, only data counts, and no client."""

    def __init__(self, owner: Any) -> None:
        self.owner = owner

    def read(self) -> Mapping[str, Any]:
        entries = self._entries()
        return {
            name: value
            for name, value in entries.items()
            if type(name) is str and (type(value) in _DATA or category(type(value)))
        }

    def write(self, name: str, value: Any) -> None:
        """Change an entry in place where others may have it, too."""
        earlier_value: Any = self._entries().get(name)
        if type(earlier_value) is list and type(value) is list:
            earlier_value[:] = value
        elif type(earlier_value) in {dict, set} and type(value) is type(earlier_value):
            earlier_value.clear()
            earlier_value.update(value)
        elif isinstance(self.owner, dict):
            self.owner[name] = value
        else:
            setattr(self.owner, name, value)

    def remove(self, name: str) -> None:
        self._entries().pop(name, None)

    def _entries(self) -> dict[str, Any]:
        return self.owner if isinstance(self.owner, dict) else getattr(self.owner, "__dict__", {})


def snapshot(state: State) -> dict[str, bytes]:
    """Return a copy of each entry to compare it with: its JSON or, in a tenth of the time, a copy of plain data."""
    return {name: _copy(value) for name, value in state.read().items()}


def _copy(value: Any) -> bytes:
    try:
        return marshal.dumps(value, _WITHOUT_SHARING)
    except ValueError:
        return _line(value).encode(errors="surrogatepass")


def _line(value: Any) -> str:
    return without_long_integers(encode(value))


def with_effects(form: Form | None, state: State, before: Mapping[str, bytes]) -> Form | None:
    """Return the form of an output with the entries that changed since the snapshot."""
    after, values = snapshot(state), state.read()
    names = [name for name, copy in after.items() if before.get(name) != copy]
    effects: list[Form] = [_describe(name, values[name]) for name in names]
    effects += [{"name": name, "is_removed": True} for name in before if name not in after]
    if not effects:
        return form
    return {**(form or {"type": "plain"}), EFFECTS: effects[:_MOST], _END: time.time_ns()}


def _describe(name: str, value: Any) -> Form:
    line, form = _line(value), form_of(value)
    if len(line) > _LONGEST or not restore(json.loads(line), form).is_faithful:
        return {"name": name, "is_lost": True}
    return {"name": name, "value": json.loads(line), **({} if form is None else {"form": form})}


def repeat_effects(state: State, form: Any) -> bool:
    """Change the state as the recorded call did; return whether all of it is known.

    What a call that ended later has changed stays: its entries have the changes of both.
    """
    effects = form.get(EFFECTS, []) if isinstance(form, dict) else []
    ends = _ends_of(state.owner) if effects else {}
    for effect in effects:
        name, end = effect["name"], form.get(_END, 0)
        if end < ends.get(name, 0):
            continue
        ends[name] = end
        if effect.get("is_removed"):
            state.remove(name)
        elif "value" in effect:
            state.write(name, restore(effect["value"], effect.get("form")).value)
    return not any(effect.get("is_lost") for effect in effects)


def _ends_of(owner: Any) -> dict[str, int]:
    _, ends = _ends.setdefault(id(owner), (owner, {}))
    _ends.move_to_end(id(owner))
    if len(_ends) > _MOST_OWNERS:
        _ends.popitem(last=False)
    return ends
