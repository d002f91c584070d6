"""JSONB of SQLite: values and damaged data. The bytes are those of `SELECT jsonb(…)` in SQLite 3.45."""

import pytest

from traces.core.json_types import JSONValue
from traces.importers.files import jsonb
from traces.importers.files.errors import BadFile


@pytest.mark.parametrize(
    ("data", "value"),
    [
        (b"\x00", None),
        (b"\x01", True),
        (b"\x13\x37", 7),
        (b"\x35\x31.5", 1.5),
        (b"\x37abc", "abc"),
        (b'\x48a\\"b', 'a"b'),
        (b"\xc7\x0d" + b"x" * 13, "x" * 13),
        (b"\xd7\x01\x00" + b"y" * 256, "y" * 256),
        (b"\x4b\x131\x132", [1, 2]),
        (b"\x6c\x17a\x3b\x01\x02\x00", {"a": [True, False, None]}),
        (b"\x0c", {}),
    ],
)
def test_values_are_decoded(data: bytes, value: JSONValue) -> None:
    assert jsonb.decode(data) == value


@pytest.mark.parametrize(
    "data",
    [b"", b"\x37ab", b"\x4b\x131", b"\x01\x01", b"\xe7\xff\xff\xff\xffa", b"\x1f", b"\x24\x30x", b"\x13x"],
)
def test_damaged_data_are_refused(data: bytes) -> None:
    with pytest.raises(BadFile):
        jsonb.decode(data)


def test_deep_lists_are_refused() -> None:
    data = b"\x0b"
    for _ in range(1_000):
        data = b"\xeb" + len(data).to_bytes(4, "big") + data
    with pytest.raises(BadFile, match="too deep"):
        jsonb.decode(data)
