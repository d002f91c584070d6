"""Attributes in protobuf: the quick decoding of texts agrees with protobuf on all bytes."""

import random

import pytest
from google.protobuf.message import DecodeError
from opentelemetry.proto.common.v1.common_pb2 import KeyValue

from traces.importers.otlp.protobuf import attribute


def _text(name: str, value: str) -> bytes:
    pair = KeyValue(key=name)
    pair.value.string_value = value
    return pair.SerializeToString()


@pytest.mark.parametrize("size", [0, 1, 125, 126, 127, 128, 129, 16_380, 16_383, 16_384, 20_000])
def test_texts_of_every_length_of_their_length(size: int) -> None:
    assert attribute(_text("input.value", "ä" * (size // 2) + "x" * (size % 2))) == (
        "input.value",
        "ä" * (size // 2) + "x" * (size % 2),
    )


def test_names_that_do_not_fit_into_a_byte_of_length() -> None:
    assert attribute(_text("n" * 300, "value")) == ("n" * 300, "value")


def test_values_that_are_no_texts() -> None:
    pair = KeyValue(key="count")
    pair.value.int_value = 7
    assert attribute(pair.SerializeToString()) == ("count", 7)
    assert attribute(KeyValue(key="empty").SerializeToString()) == ("empty", None)


def test_fields_in_another_order_and_fields_twice() -> None:
    name, value, later_value = b"\x0a\x01a", b"\x12\x03\x0a\x01b", b"\x12\x03\x0a\x01c"
    assert attribute(value + name) == ("a", "b")
    assert attribute(name + value + later_value) == ("a", "c")


def test_broken_characters_are_replaced() -> None:
    assert attribute(_text("name", "value").replace(b"value", b"val\xffe")) == ("name", "val\ufffde")


def test_any_bytes_decode_as_protobuf_decodes_them() -> None:
    chance = random.Random(1)  # noqa: S311 - reproducible
    data = _text("llm.model_name", "gpt-5-mini " * 20)
    for _ in range(3_000):
        changed = bytearray(data)
        for _ in range(chance.randint(1, 3)):
            changed[chance.randrange(len(changed))] = chance.choice(
                (0, 1, 10, 18, 127, 128, 255, chance.randrange(256))
            )
        changed = changed[: chance.choice((len(changed), chance.randrange(1, len(changed))))]
        try:
            pair = KeyValue.FromString(bytes(changed))
        except DecodeError:
            continue
        if pair.value.WhichOneof("value") == "string_value":
            assert attribute(bytes(changed)) == (pair.key, pair.value.string_value)
