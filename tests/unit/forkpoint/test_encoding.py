"""Values of agents as JSON: none of them may raise into the agent, or stop it."""

import dataclasses
import json
from typing import Any
from unittest.mock import MagicMock, Mock

import pytest

from forkpoint.encoding import encode


@dataclasses.dataclass
class Node:
    name: str
    parent: "Node | None" = None
    children: "list[Node]" = dataclasses.field(default_factory=list)


class BadKey:
    def __str__(self) -> str:
        raise OSError


class BadItems(dict[str, Any]):
    def items(self) -> Any:
        raise OSError


class Siblings:
    def model_dump(self, **_: Any) -> Any:
        return [self, self]


def family() -> Node:
    root = Node("root")
    root.children = [Node(f"child {number}", root) for number in range(4)]
    return root


def lattice() -> list[Any]:
    """A hundred lists with as many paths as memory cannot count; a set has no JSON, so that all take the long way."""
    value: list[Any] = [{1}]
    for _ in range(60):
        value = [value] * 5
    return [{1}, value]


def pair() -> list[Any]:
    value: list[Any] = []
    value += [value, value]
    return value


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    ("value", "text"),
    [
        (family(), '"parent":"[contains itself]"'),
        (pair(), '["[contains itself]","[contains itself]"]'),
        (Siblings(), "[contains itself]"),
        ([{("a", 1): 1}, lattice()], "[repeated too often]"),
        (Mock(), "<Mock id="),
        (MagicMock(), "<MagicMock id="),
        ({BadKey(): 1}, '{"[could not be recorded: OSError]":1}'),
        ([1, BadItems(a=1)], '[1,"[could not be recorded: OSError]"]'),
        ([10**5000], '["0x'),
    ],
)
def test_any_value_has_short_json(value: Any, text: str) -> None:
    line = encode(value)
    assert text in line
    assert len(line) < 5_000_000
    json.loads(line)


def test_shared_values_are_kept() -> None:
    message = {"role": "user", "content": {1.5, float("nan")}}
    assert encode([message] * 3).count("user") == 3
