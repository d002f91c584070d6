"""Values of agents as JSON: none of them may raise into the agent, or stop it."""

import dataclasses
import json
from typing import Any
from unittest.mock import MagicMock, Mock

import pytest

from forkpoint.encoding import encode, freeze, thaw
from forkpoint.outputs.forms import form_of


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


def pairs_of_pairs(value: Any) -> Any:
    """Forty lists of JSON, or forty objects, each of which has the next one twice."""
    for _ in range(40):
        value = Node("pair", value, [value]) if isinstance(value, Node) else [value, value]
    return value


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
        ([{("a", 1): 1}, lattice()], "[too large]"),
        (pairs_of_pairs([{"text": "a"}]), "[too large]"),
        (pairs_of_pairs(Node("a")), "[too large]"),
        ([[0] * 1_000_000] * 1_000_000, "[too large]"),
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
    assert len(thaw(freeze(value))) == len(line)
    assert len(line) < 5_000_000
    json.loads(line)


def test_shared_values_are_kept() -> None:
    message = {"role": "user", "content": {1.5, float("nan")}}
    assert encode([message] * 3).count("user") == 3


def test_large_event_keeps_its_fields() -> None:
    """An agent does not wait for more than 16 MB of a result."""
    event = {"tool_name": "read", "result": "a" * 20_000_000, "attributes": {"n": [1, 2]}, "status": "success"}
    fields = json.loads(encode(event))
    assert fields["tool_name"] == "read"
    assert fields["result"].endswith("[too large] 20000000 characters")
    assert fields["status"] == "success"
    rows = json.loads(encode({"result": [{"n": n} for n in range(300_000)], "latency_ms": 1.5}))
    assert rows["result"][-1] == "[too large] 300000 items"
    assert rows["latency_ms"] == 1.5
    assert form_of(["a" * 9_000_000]) == {"type": "opaque"}
    assert form_of("é" * 5_000_000) is None


def test_frozen_value_stays_as_it_was() -> None:
    messages: list[Any] = [{"role": "user", "content": "é \ud800", "n": [1, 2.5, None, True, 2**70]}]
    line, frozen = encode(messages), freeze(messages)
    messages.clear()
    assert isinstance(frozen, bytes)
    assert thaw(frozen) == line
