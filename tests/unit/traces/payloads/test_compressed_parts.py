import sys

from traces.core.canonical import canonical_bytes, digest_bytes
from traces.core.json_types import JSONValue
from traces.payloads.compressed_parts import CompressedParts

_REFERENCE: JSONValue = {"$part": digest_bytes(b"")}


def test_parts_of_long_runs_take_little_memory() -> None:
    parts = CompressedParts()
    contents = [canonical_bytes({"no": number, "history": [_REFERENCE] * 20}) for number in range(2_000)]
    for data in contents:
        parts.add(digest_bytes(data), data)

    assert [*parts.values()] == contents
    assert all(parts[digest_bytes(data)] == data for data in reversed(contents))
    assert sum(map(sys.getsizeof, parts._frames)) < sum(map(len, contents)) / 10


def test_parts_are_found_by_digest_only() -> None:
    parts = CompressedParts()
    parts.add(digest_bytes(b"1"), b"1")

    assert digest_bytes(b"1") in parts
    assert digest_bytes(b"2") not in parts
    assert len(parts) == 1
    parts.clear()
    assert not parts
    assert digest_bytes(b"1") not in parts
