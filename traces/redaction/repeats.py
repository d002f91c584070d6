"""What is new in records that repeat one another: an agent sends its whole history with every request."""

from collections.abc import Iterator, Sequence
from typing import Final

# Bytes that are looked up in the record before.
_PROBE: Final = 256
# Ahead of the last place that was equal.
_WINDOW: Final = 4 * 1024
# Bytes of a repeat on both sides of what is new: no rule needs more to recognise a secret that begins or ends there.
_MARGIN: Final = 256


def new_content(data: bytes, ends: Sequence[int]) -> bytes:
    """Return data without most of what its records repeat of the longest record before; `ends` are their ends."""
    pieces: list[bytes] = []
    start, longest = 0, range(0)
    for end in ends:
        record = range(start, end)
        pieces += _new_pieces(data, record, longest)
        if len(record) >= len(longest):
            longest = record
        start = end
    return b"\n".join(pieces)


def _new_pieces(data: bytes, record: range, earlier: range) -> Iterator[bytes]:
    """Yield the pieces of a record that an earlier one does not contain in the same order."""
    start = position = record.start
    place = earlier.start
    while position < record.stop:
        match = data.find(data[position : position + _PROBE], place, min(place + _WINDOW, earlier.stop))
        if match < 0:
            position += _PROBE
            continue
        size = _common_size(data, match, position, min(record.stop - position, earlier.stop - match))
        if size > 2 * _MARGIN:
            yield data[start : position + _MARGIN]
            start = position + size - _MARGIN
        position += max(size, _PROBE)
        place = match + size
    yield data[start : record.stop]


def _common_size(data: bytes, earlier: int, later: int, limit: int) -> int:
    """Return how many bytes, up to a limit, are equal from two places on, in whole probes."""
    size, step = 0, _PROBE
    is_growing = True
    while step >= _PROBE:
        piece = data[later + size : later + size + step]
        if size + step <= limit and data.startswith(piece, earlier + size):
            size += step
        else:
            is_growing = False
        step = step * 2 if is_growing else step // 2
    return size
