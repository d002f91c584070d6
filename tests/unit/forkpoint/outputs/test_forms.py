"""Outputs, and what a rerun makes of their recorded JSON and their form."""

import collections
import dataclasses
import datetime
import enum
import json
import os
import sys
import uuid
from decimal import Decimal
from pathlib import PurePosixPath
from types import SimpleNamespace
from typing import Any, Generic, NamedTuple, TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp.shared.exceptions import MCPError
from mcp.types import CallToolResult, InputRequiredResult
from pydantic import BaseModel, ConfigDict, PrivateAttr

import forkpoint
from forkpoint.answers import Answer
from forkpoint.encoding import encode, without_long_integers
from forkpoint.instrumentations.mcp import _read as read_result
from forkpoint.instrumentations.mcp import _result as substitute
from forkpoint.outputs.forms import form_of, form_of_documents
from forkpoint.outputs.restoring import Output, restore
from traces.core.canonical import canonical_bytes

T = TypeVar("T")
_SUNNY = {"type": "text", "text": "sunny"}


@dataclasses.dataclass
class Weather:
    degrees: float
    city: str
    days: tuple[Any, ...] = ()
    secret: str = dataclasses.field(default="", repr=False)


class Order(BaseModel):
    model_config = ConfigDict(extra="allow")
    id: str
    total: Decimal
    note: str | None = None
    weather: Weather | None = None


class Counting(BaseModel):
    count: int
    _calls: int = PrivateAttr(default=3)


class Point(NamedTuple):
    lon: float
    lat: float


class LabeledPoint(Point):
    """A named tuple whose objects may have more attributes than items."""


@dataclasses.dataclass
class Slotted:
    __slots__ = ("hidden", "id")
    id: int


@dataclasses.dataclass
class Handle:
    """An open file, which ends with its object."""

    number: int

    def __del__(self) -> None:
        os.close(self.number)


class Page(BaseModel, Generic[T]):
    items: list[T] = []


class Message(BaseModel):
    text: str
    _calls: int = PrivateAttr(default=3)


class Sky(enum.StrEnum):
    CLEAR = "clear"


class Name(str):
    """A text with more than its characters."""


class Sensor:
    def __str__(self) -> str:
        return "sensor A"


TEXTS = st.text(max_size=8)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | TEXTS
    | st.binary(max_size=8)
    | st.dates()
    | st.datetimes(timezones=st.just(datetime.UTC) | st.none())
    | st.timedeltas()
    | st.decimals()
    | st.fractions()
    | st.uuids()
    | st.just(Sky.CLEAR)
)
KEYS = TEXTS | st.integers() | st.booleans() | st.none() | st.dates() | st.floats(allow_nan=False)
VALUES = st.recursive(
    SCALARS,
    lambda items: (
        st.lists(items, max_size=4)
        | st.dictionaries(KEYS, items, max_size=4)
        | st.tuples(items, items)
        | st.builds(Weather, items, TEXTS, st.tuples(items))
        | st.builds(Point, items, items)
        | st.builds(collections.OrderedDict, st.dictionaries(TEXTS, items, max_size=3))
        | st.frozensets(TEXTS, max_size=3)
    ),
    max_leaves=12,
)


def stored(value: Any) -> Any:
    """Return a value as the server stores it and gives it back."""
    return json.loads(canonical_bytes(json.loads(without_long_integers(encode(value)))))


def recorded(value: Any) -> Output:
    form = form_of(value)
    return restore(stored(value), None if form is None else stored(form))


def texts(value: Any) -> tuple[type, str, str]:
    return type(value), str(value), repr(value)


@given(VALUES)
def test_faithful_values_cannot_be_told_apart(value: Any) -> None:
    result = recorded(value)
    if result.is_faithful:
        assert texts(result.value) == texts(value)


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | TEXTS, lambda items: st.lists(items)))
def test_json_values_are_always_faithful(value: Any) -> None:
    assert recorded(value).is_faithful


@pytest.mark.parametrize(
    "value",
    [
        42.0,
        {"b": 1.0, "a": [{"y": 1, "x": 2}] * 3},
        {2: "b", 1: "a"},
        {True: 1, None: -0.0},
        (1, 2.0, ()),
        Weather(21.0, "Zürich", (datetime.date(2026, 11, 28),), secret="s"),
        Order(id="A-1", total=Decimal("9.50"), weather=Weather(1, "Bern"), rush=True),
        [Order(id="A-1", total=Decimal(9))],
        Point(8.5, 47.0),
        Sky.CLEAR,
        uuid.UUID(int=7),
        PurePosixPath("/a"),
        datetime.timedelta(days=-1, microseconds=3),
        10**30,
    ],
    ids=repr,
)
def test_objects_of_data_are_faithful(value: Any) -> None:
    result = recorded(value)
    assert (result.is_faithful, texts(result.value)) == (True, texts(value))
    assert result.value == value


@pytest.mark.parametrize(
    "value",
    [Sensor(), Name("Ada"), collections.Counter("aab"), {1: 1, "1": 2}, {(1, 2): 3}, Counting(count=1)],
    ids=lambda value: type(value).__name__,
)
def test_other_objects_have_their_texts_and_are_not_faithful(value: Any) -> None:
    result = recorded(value)
    assert not result.is_faithful
    assert (str(result.value), repr(result.value), f"{result.value}") == (str(value), repr(value), f"{value}")


def test_fields_of_a_stand_in_are_attributes() -> None:
    value = recorded(Counting(count=1)).value
    assert (value.count, value["count"], json.dumps(value)) == (1, 1, '{"count": 1}')


def test_no_field_of_a_stand_in_is_hidden_by_its_texts() -> None:
    assert recorded(Message(text="hello")).value.text == "hello"


def labeled_point() -> LabeledPoint:
    point = LabeledPoint(8.5, 47.0)
    point.name = "Zürich"  # type: ignore[attr-defined]  # an attribute beside the fields
    return point


def slotted() -> Slotted:
    value = Slotted(1)
    value.hidden = "h"  # type: ignore[attr-defined]  # an attribute beside the fields
    return value


@pytest.mark.parametrize("value", [labeled_point(), slotted(), "caf\udce9.txt", ["caf\udce9.txt"]], ids=ascii)
def test_what_a_recording_lacks_is_not_faithful(value: Any) -> None:
    form = form_of(value)
    assert form is not None
    assert not restore([], stored(form)).is_faithful


def test_describing_an_open_object_does_not_end_it() -> None:
    reader, writer = os.pipe()
    handle = Handle(writer)
    form = form_of(handle)
    assert os.write(writer, b"x") == 1
    assert form == {"type": "opaque", "str": f"Handle(number={writer})"}
    del handle
    os.close(reader)


def test_enum_with_another_value_by_now_is_not_faithful() -> None:
    assert restore("cloudless", stored(form_of(Sky.CLEAR))) == Output(Sky.CLEAR, is_faithful=False)


@pytest.mark.parametrize("kind", ["enum", "named_tuple"])
def test_form_of_another_category_runs_no_code(kind: str, capfd: pytest.CaptureFixture[str]) -> None:
    code = "__import__('os').system('echo executed')"
    form = {"type": kind, "class": f"{__name__}:Page", "name": code}
    assert restore([], form) == Output([], is_faithful=False)
    assert "executed" not in capfd.readouterr().out


def test_tuple_of_an_object_stays_a_tuple() -> None:
    result = recorded((1, Sensor()))
    assert (type(result.value), str(result.value[1]), result.is_faithful) == (tuple, "sensor A", False)


def test_class_with_other_fields_is_not_faithful(monkeypatch: pytest.MonkeyPatch) -> None:
    plain, form = stored(Weather(1.0, "Bern")), stored(form_of(Weather(1.0, "Bern")))

    @dataclasses.dataclass
    class Other:
        degrees: float

    monkeypatch.setattr(sys.modules[__name__], "Weather", Other)
    result = restore(plain, form)
    assert (result.is_faithful, result.value["city"]) == (False, "Bern")


@pytest.mark.parametrize("name", ["os:system", "subprocess:Popen", "no_such_module:Thing", "builtins:dict", "x"])
def test_only_loaded_classes_of_data_are_made(name: str) -> None:
    form = {"type": "object", "class": name, "names": ["a"], "fields": [None]}
    result = restore({"a": "true"}, form)
    assert (result.is_faithful, result.value) == (False, {"a": "true"})


@given(st.recursive(st.none() | TEXTS | st.integers(), lambda items: st.lists(items) | st.dictionaries(TEXTS, items)))
def test_broken_forms_are_not_faithful(form: Any) -> None:
    result = restore({"a": 1}, form)
    assert result.value == {"a": 1}
    assert result.is_faithful == (form is None)


def test_texts_among_documents_stay_texts() -> None:
    documents = ["a text", {"id": "d1", "content": "x", "score": 1.0}]
    recorded_documents = [{"content": "a text"}, {"id": "d1", "content": "x", "score": 1}]
    assert restore(recorded_documents, stored(form_of_documents(documents))) == Output(documents)


@pytest.mark.parametrize(
    ("text", "structured"),
    [("sunny", {"result": "sunny"}), ('{"b": 1, "a": 2.5}', {"b": 1, "a": 2.5})],
)
def test_results_of_mcp_servers_have_their_structured_content(text: str, structured: Any) -> None:
    block = SimpleNamespace(type="text", text=text)
    with forkpoint.recorder.tool("get_weather", {}) as step:
        output = read_result(SimpleNamespace(content=[block], structuredContent=structured))
    assert (output, restore(output, step.form)) == (
        text,
        Output({"content": [{"type": "text", "text": text}], "structuredContent": structured}),
    )


@pytest.mark.parametrize(
    "result",
    [
        {"content": [_SUNNY], "structuredContent": {"weather": "sunny"}},
        {"content": [_SUNNY], "structuredContent": {"why": 5}, "isError": True},
        {"content": [_SUNNY], "_meta": {"cost": 3}},
        {"content": [{**_SUNNY, "annotations": {"audience": ["user"]}}]},
        {"content": [_SUNNY, {"type": "image", "data": "aGk=", "mimeType": "image/png"}]},
        {"content": []},
    ],
)
def test_result_that_is_more_than_a_text_is_kept(result: Any) -> None:
    """The process that runs again may get it as the class of its own library."""
    with forkpoint.recorder.tool("get_weather", {}) as step:
        output = read_result(CallToolResult.model_validate(result))
    again = substitute(Answer(restore(output, step.form).value, step.error))
    assert again == CallToolResult.model_validate(result)


def test_result_that_asks_the_client_asks_again() -> None:
    question = InputRequiredResult(request_state="s", input_requests={})
    output = read_result(question)
    assert substitute(Answer(output)) == question


def test_error_of_the_protocol_has_its_data() -> None:
    output = {"error": {"code": -32602, "message": "no such order", "data": {"at": "id"}}}
    with pytest.raises(MCPError) as problem:
        substitute(Answer(output, "MCPError: no such order"))
    assert (problem.value.code, problem.value.data, str(problem.value)) == (-32602, {"at": "id"}, "no such order")


def test_text_alone_is_a_whole_result_of_an_mcp_server() -> None:
    with forkpoint.recorder.tool("get_weather", {}) as step:
        assert read_result(SimpleNamespace(content=[SimpleNamespace(type="text", text="sunny")])) == "sunny"
    assert step.form is None
