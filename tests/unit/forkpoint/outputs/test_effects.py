"""Entries of a framework's state that a tool changes, and that a rerun changes again."""

import json
from typing import Any

from forkpoint.encoding import encode
from forkpoint.outputs.effects import repeat_effects, snapshot, with_effects
from forkpoint.outputs.restoring import restore


class Entries:
    def __init__(self, **entries: Any) -> None:
        self.entries = entries

    def read(self) -> dict[str, Any]:
        return self.entries

    def write(self, name: str, value: Any) -> None:
        self.entries[name] = value

    def remove(self, name: str) -> None:
        self.entries.pop(name, None)


def effects(before: Entries, *, form: Any = None, **changes: Any) -> Any:
    """Return the form of a call that makes these changes; None removes an entry."""
    earlier_state = snapshot(before)
    for name, value in changes.items():
        if value is None:
            before.remove(name)
        else:
            before.write(name, value)
    form = with_effects(form, before, earlier_state)
    return None if form is None else json.loads(encode(form))


def test_changed_entries_are_changed_again() -> None:
    form = effects(Entries(cities=["Rome"], hour=1, kept="x"), cities=["Rome", "Oslo"], hour=None, clock=(12.0, 30))
    again = Entries(cities=["Rome"], hour=1, kept="y")
    assert repeat_effects(again, form)
    assert again.entries == {"cities": ["Rome", "Oslo"], "clock": (12.0, 30), "kept": "y"}
    assert type(again.entries["clock"][0]) is float
    assert restore({"a": 1}, form).value == {"a": 1}


def test_form_of_the_output_stays() -> None:
    form = effects(Entries(), form={"type": "tuple"}, a=1)
    assert restore([1, 2], form).value == (1, 2)
    assert effects(Entries(a=1), form={"type": "tuple"}) == {"type": "tuple"}
    assert effects(Entries(a=1)) is None


def test_what_no_rerun_could_make_is_a_loss() -> None:
    form = effects(Entries(), connection=object(), a=1)
    again = Entries()
    assert not repeat_effects(again, form)
    assert again.entries == {"a": 1}
    assert repeat_effects(again, None)
