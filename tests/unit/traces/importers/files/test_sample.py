import pytest

from tests.unit.traces.importers.otlp.test_batches import protobuf, span
from traces.importers import registry
from traces.importers.files.sample import Sample

LINE = b'{"trace_id": "t", "span_id": "s", "started_at": 1}\n'


def sample(head: bytes) -> Sample:
    return Sample(name="recording", head=head, is_complete=True)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-32"])
def test_text_of_any_encoding_is_read(encoding: str) -> None:
    text = sample((2 * LINE).decode().encode(encoding))
    assert not text.is_binary
    assert len(text.values) == 2


def test_protobuf_is_not_read_as_text() -> None:
    # A text attribute that looks like JSON Lines must not be mistaken for the file's content.
    binary = sample(protobuf(span(1, attributes={"input.value": "\n" + 5 * LINE.decode()})))
    assert binary.is_binary
    assert binary.values == []
    assert not binary.is_lines
    assert registry.detect(binary).name == "otlp"


@pytest.mark.parametrize("damage", [b"\0" * 100 + b"\n", b'{"a": "\x01"}\n', b"{broken\n" * 50])
def test_damaged_lines_do_not_hide_a_format(damage: bytes) -> None:
    # A crash leaves zeros in files that it interrupts.
    for text in (damage + LINE, LINE + damage):
        lines = sample(b"{}\n" + text)
        assert not lines.is_binary
        assert lines.values == [{"trace_id": "t", "span_id": "s", "started_at": 1}]
        assert registry.detect(lines).name == "prela"
