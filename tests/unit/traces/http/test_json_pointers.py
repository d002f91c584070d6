"""Problems of a document, with pointers into the document as sent, not into the models."""

from typing import Annotated, Any, Literal

import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from replay.experiments.core.schemas import ExperimentRequest
from replay.sessions.schemas import ReplayRequest
from traces.core.schema import Schema
from traces.http.json_pointers import find_deep_part, first_problem


class _Cat(Schema):
    kind: Literal["cat"]
    lives: int


class _Dog(Schema):
    kind: Literal["dog"]


class _Home(Schema):
    step: str | int
    pets: list[Annotated[_Cat | _Dog, pydantic.Field(discriminator="kind")]] = []


def problem(model: type[Schema], document: Any) -> tuple[str, str]:
    with pytest.raises(pydantic.ValidationError) as error:
        model.model_validate(document)
    return first_problem(error.value, document)


@pytest.mark.parametrize(
    ("document", "where", "said"),
    [
        ({"step": 1.5}, "/step", "a valid string, or a valid integer"),
        ({"step": 1, "pets": [{"kind": "cat", "lives": "x"}]}, "/pets/0/lives", "integer"),
        ({"step": 1, "pets": [{"kind": "cat"}]}, "/pets/0/lives", "required"),
        ({"step": 1, "pets": [{"kind": "dog", "a/b~": 1}]}, "/pets/0/a~1b~0", "not permitted"),
        ({"step": 1, "pets": [{"kind": "dog"}, {}]}, "/pets/1", "kind"),
        ({"step": 1, "pets": [{"kind": "fish"}]}, "/pets/0", "fish"),
        ({}, "/step", "required"),
        ([], "", "dictionary"),
    ],
)
def test_pointer_refers_to_document(document: Any, where: str, said: str) -> None:
    detail, pointer = problem(_Home, document)
    assert pointer == where
    assert said in detail


def test_other_problems_are_counted() -> None:
    detail, _ = problem(_Home, {"step": None, "pets": 5})
    assert detail.endswith("(and 1 more)")


def test_own_messages_have_no_prefix() -> None:
    detail, where = problem(ReplayRequest, {"run": "a", "overrides": {"overrides": [{"match": {}, "output": 1}]}})
    assert (detail, where) == ("a match needs `step` or `type`", "/overrides/overrides/0/match")


def test_members_of_enums_are_shown_as_values() -> None:
    request = {"run": "last", "fork_step": 1, "axes": [], "checks": [{"kind": "status", "status": "maybe"}]}
    message, pointer = problem(ExperimentRequest, request)
    assert (message, pointer) == ("Input should be 'completed' or 'failed'", "/checks/0/status")


def test_checks_are_located_by_index() -> None:
    message: dict[str, Any] = {"run": "a", "checks": [{"kind": "contains", "text": ""}]}
    assert problem(ExperimentRequest, message)[1] == "/checks/0/text"


NESTED_VALUES = st.recursive(
    st.none() | st.text(), lambda inside: st.lists(inside) | st.dictionaries(st.text(), inside)
)


@given(NESTED_VALUES, st.integers(1, 6))
def test_deep_part_is_located(value: Any, limit: int) -> None:
    pointer = find_deep_part(value, limit)
    assert (pointer is not None) == (_depth(value) > limit)
    if pointer is not None:
        assert pointer.count("/") == limit


def _depth(value: Any) -> int:
    if not isinstance(value, dict | list):
        return 0
    return 1 + max(map(_depth, value.values() if isinstance(value, dict) else value), default=0)


def test_depth_beyond_recursion_limit_is_located() -> None:
    value: Any = 1
    for _ in range(100_000):
        value = [value]
    assert find_deep_part(value, 200) == "/0" * 200
