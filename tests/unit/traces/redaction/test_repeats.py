"""New content of records: a detector that looks only at it misses nothing."""

from itertools import accumulate

from hypothesis import given
from hypothesis import strategies as st

from traces.redaction.repeats import new_content

# Longer than any secret that has a shape of its own.
WIDTH = 200
texts = st.integers(0, 2**32).map(lambda seed: b"%08x" % seed)
blocks = st.tuples(texts, st.integers(1, 300)).map(lambda block: block[0] * block[1])
records = st.lists(st.lists(blocks, max_size=6), min_size=1, max_size=6)


def _new(parts: list[bytes]) -> bytes:
    return new_content(b"".join(parts), [*accumulate(map(len, parts))])


@given(records)
def test_each_short_piece_of_a_record_is_in_the_new_content(lists: list[list[bytes]]) -> None:
    history: list[bytes] = []
    parts: list[bytes] = []
    for number, additions in enumerate(lists):
        history += additions
        parts.append(b"head %d " % number + b"".join(history) + b" tail %d" % number)
    content = _new(parts)
    for part in parts:
        assert all(part[start : start + WIDTH] in content for start in range(0, max(1, len(part) - WIDTH), 7))


def test_history_is_looked_at_once() -> None:
    messages = [f"message {number:04} of the conversation. ".encode() * 4 for number in range(200)]
    parts = [b"".join(messages[:count]) for count in range(1, len(messages), 2)]
    assert len(_new(parts)) < sum(map(len, parts)) / 10
    assert _new(parts[:1]) == parts[0]
