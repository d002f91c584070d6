"""Bundles whose parts multiply: a few kilobytes must not become terabytes."""

from collections.abc import Callable

import orjson
import pytest

from traces.bundles import expansion
from traces.bundles.archive import BadBundle
from traces.core.canonical import digest_bytes
from traces.core.json_types import JSONValue
from traces.payloads.splitter import Splitter


def chain(levels: int, make: Callable[[JSONValue], JSONValue]) -> tuple[dict[str, bytes], str]:
    """Artifacts each of which is made of a reference to the one before; and the last one's digest."""
    artifacts: dict[str, bytes] = {}
    data, digest = orjson.dumps(["x" * 50]), ""
    for _ in range(levels):
        digest = digest_bytes(data)
        artifacts[digest] = data
        data = orjson.dumps(make({"$part": digest}))
    return artifacts, digest


@pytest.mark.parametrize(
    ("levels", "make"),
    [
        (40, lambda part: [part, part]),
        (10, lambda part: [part] * 8),
        (40, lambda part: {"$literal": {"a": part, "b": {"$blocks": [[part], []]}}}),
        (5_000, lambda part: [part]),
    ],
)
def test_multiplied_parts_are_refused(levels: int, make: Callable[[JSONValue], JSONValue]) -> None:
    artifacts, root = chain(levels, make)
    with pytest.raises(BadBundle) as refusal:
        expansion.check(artifacts, [root])
    assert root in refusal.value.where


def test_conversation_that_repeats_itself_is_accepted() -> None:
    splitter = Splitter()
    messages: list[JSONValue] = [{"role": "user", "content": f"{number} " + "word " * 100} for number in range(300)]
    roots = [splitter.split({"messages": messages[:number] * 2}) for number in range(300)]
    expansion.check(splitter.parts, roots)
    artifacts, root = chain(150, lambda part: [part])
    expansion.check(artifacts, [root])
