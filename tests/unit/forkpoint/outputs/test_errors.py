"""Errors that calls raised, and those that a rerun raises in their place."""

import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from forkpoint import Recorder
from forkpoint.encoding import encode
from forkpoint.outputs.errors import RecordedError, exception, form_of_error, loses_state
from forkpoint.outputs.restoring import restore


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        ("ValueError: no stock: none", ValueError, "no stock: none"),
        ("KeyError: 'id'", KeyError, "'id'"),
        ("TimeoutError", TimeoutError, ""),
        ("GoneWithItsModule: x", RecordedError, "x"),
        ("the server reported an error", RecordedError, "the server reported an error"),
    ],
)
def test_class_and_text_of_a_recorded_error(text: str, kind: type[Exception], message: str) -> None:
    error = exception(text)
    assert isinstance(error, kind)
    assert str(error) == message
    assert type(error).__name__ == (text.partition(":")[0] if kind is not RecordedError else type(error).__name__)


class NoStock(Exception):
    """An error of the agent's own."""


def test_recorded_error_is_of_the_same_class_each_time() -> None:
    for _ in range(2):
        assert isinstance(exception("NoStock: none left"), NoStock)


@dataclasses.dataclass
class Question:
    text: str
    choices: tuple[str, ...]


class Interrupt(Exception):
    """Raised by frameworks to leave a tool; its text has nothing of what they read."""

    def __init__(self, question: Question, **facts: Any) -> None:
        super().__init__([question])
        self.facts = facts

    def __str__(self) -> str:
        return "interrupted"


def raised_again(error: Exception) -> Exception:
    form = form_of_error(error)
    text = f"{type(error).__name__}: {error}".removesuffix(": ")
    return exception(text, None if form is None else json.loads(encode(form)))


def test_error_has_its_arguments_and_attributes_again() -> None:
    again: Any = raised_again(Interrupt(Question("Really?", ("yes", "no")), attempts=2.0))
    assert isinstance(again, Interrupt)
    assert (str(again), again.args) == ("interrupted", ([Question("Really?", ("yes", "no"))],))
    assert (again.facts, type(again.facts["attempts"])) == ({"attempts": 2.0}, float)
    assert raised_again(KeyError("id")).args == ("id",)
    missing: Any = raised_again(FileNotFoundError(2, "No such file", "orders.db"))
    assert missing.errno == 2


@pytest.mark.parametrize("error", [ValueError("no stock"), TimeoutError()])
def test_text_has_all_of_a_plain_error(error: Exception) -> None:
    assert form_of_error(error) is None
    assert raised_again(error).args in ((str(error),), ("",))


def test_what_no_rerun_could_make_is_a_loss() -> None:
    form = form_of_error(Interrupt(Question("Really?", ()), connection=object(), attempts=1))
    assert loses_state(form)
    assert not loses_state(form_of_error(Interrupt(Question("Really?", ()), attempts=1)))
    assert isinstance(exception("Interrupt: interrupted", form), Interrupt)


def test_failed_tool_records_its_error_beside_its_items(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "run.jsonl")
    with recorder.run("r"), pytest.raises(KeyError):
        [*recorder.tool()(items_until_an_error)()]
    assert recorder.flush()
    events = map(json.loads, (tmp_path / "run.jsonl").read_text().splitlines())
    [form] = [event["payload"]["output_form"] for event in events if event["event_type"] == "tool_result"]
    assert form["args"] == [{"value": "id"}]
    assert restore([1], form).value == [1.0]


def items_until_an_error() -> Iterator[float]:
    yield 1.0
    raise KeyError("id")
