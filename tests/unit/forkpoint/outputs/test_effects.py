"""Entries of a framework's state that a tool changes, and that a rerun changes again."""

import json
import time
from types import SimpleNamespace
from typing import Any

import pytest

from forkpoint.encoding import encode
from forkpoint.outputs import effects as module
from forkpoint.outputs.effects import ObjectState, repeat_effects, snapshot, with_effects
from forkpoint.outputs.restoring import restore


def effects(owner: Any, *, form: Any = None, **changes: Any) -> Any:
    """Return the form of a call that makes these changes; None removes an entry."""
    state = ObjectState(owner)
    earlier_state = snapshot(state)
    for name, value in changes.items():
        if value is None:
            state.remove(name)
        else:
            state.write(name, value)
    form = with_effects(form, state, earlier_state)
    return None if form is None else json.loads(encode(form))


@pytest.mark.parametrize("kind", [dict, SimpleNamespace])
def test_changed_entries_are_changed_again(kind: Any) -> None:
    before: Any = {"cities": ["Rome"], "hour": 1, "kept": "x"}
    form = effects(kind(**before), cities=["Rome", "Oslo"], hour=None, clock=(12.0, 30))
    again = kind(**{**before, "cities": ["Rome"], "kept": "y"})
    entries = again if kind is dict else vars(again)
    cities = entries["cities"]
    assert repeat_effects(ObjectState(again), form)
    assert entries == {"cities": ["Rome", "Oslo"], "clock": (12.0, 30), "kept": "y"}
    assert type(entries["clock"][0]) is float
    # Whoever else has the list sees the change.
    assert cities == ["Rome", "Oslo"]
    assert restore({"a": 1}, form).value == {"a": 1}


def test_form_of_the_output_stays() -> None:
    form = effects({}, form={"type": "tuple"}, a=1)
    assert restore([1, 2], form).value == (1, 2)
    assert effects({"a": 1}, form={"type": "tuple"}) == {"type": "tuple"}
    assert effects({"a": 1}) is None


def test_order_of_answers_does_not_count() -> None:
    """Calls that were open at once may be answered in another order."""
    state, count = {"count": 0}, {"count": 0}
    first = effects(count, count=1)
    time.sleep(0.001)
    second = effects(count, count=2)
    for form in (second, first):
        repeat_effects(ObjectState(state), form)
    assert state == {"count": 2}


def test_what_no_rerun_could_make_is_a_loss() -> None:
    again: dict[str, Any] = {}
    form = effects({}, items=[object()], a=1, connection=object())
    assert not repeat_effects(ObjectState(again), form)
    assert again == {"a": 1}
    assert repeat_effects(ObjectState(again), None)


def test_state_of_an_agent_that_has_ended_does_not_count() -> None:
    """Another state may be where it was in memory."""
    first = effects({}, count=1)
    time.sleep(0.001)
    second = effects({}, count=2)
    for _ in range(10):
        repeat_effects(ObjectState({}), second)
    state: dict[str, Any] = {}
    repeat_effects(ObjectState(state), first)
    assert state == {"count": 1}


def test_plain_data_that_stays_is_not_encoded(monkeypatch: pytest.MonkeyPatch) -> None:
    def encode_none(value: Any) -> str:
        raise AssertionError("JSON takes ten times as long")

    monkeypatch.setattr(module, "encode", encode_none)
    # The same text in two places, and in two objects, is the same data.
    text = "Rome" * 2
    shared: Any = {"cities": [text, text], "at": {"clock": (12.0, 30)}}
    before = snapshot(ObjectState({**shared, "cities": [text, "".join(["Rome", "Rome"])]}))
    assert with_effects(None, ObjectState(shared), before) is None
