"""Anchors of an alignment: unique keys, and the longest chain of pairs in order. Pure."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from itertools import islice
from operator import lt
from sys import maxsize
from typing import Final

from rapidfuzz.distance import LCSseq

# An anchor after both lists.
_END: Final = maxsize


def unique_pairs(left: Sequence[Hashable], right: Sequence[Hashable]) -> list[tuple[int, int]]:
    """Positions of the keys that are unique on both sides, by left position; None is no key."""
    places = _unique_places(right)
    return [(i, j) for key, i in _unique_places(left).items() if (j := places.get(key)) is not None]


def _unique_places(keys: Sequence[Hashable]) -> dict[Hashable, int]:
    """The positions of the keys that occur once, in order."""
    places = dict(zip(keys, range(len(keys)), strict=True))
    # Hashing long keys takes most of the time, and the steps of most runs differ.
    if len(places) < len(keys):
        counts = Counter(keys)
        places = {key: place for key, place in places.items() if counts[key] == 1}
    places.pop(None, None)
    return places


def longest_chain(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest chain of pairs that ascends on both sides; `pairs` ascend on the left.

    Patience sorting: each pair goes on the leftmost pile whose top is not lower on the right.
    """
    rights = [right for _, right in pairs]
    if all(map(lt, rights, islice(rights, 1, None))):
        return list(pairs)
    # The right position on top of each pile, and the index of its pair.
    tops: list[int] = []
    owners: list[int] = []
    # For each pair, the pair that was on top of the pile to the left when this one was placed.
    previous: list[int] = []
    for index, right in enumerate(rights):
        pile = bisect_left(tops, right)
        previous.append(owners[pile - 1] if pile else -1)
        tops[pile : pile + 1] = [right]
        owners[pile : pile + 1] = [index]
    chain = []
    at = owners[-1] if owners else -1
    while at >= 0:
        chain.append(pairs[at])
        at = previous[at]
    return chain[::-1]


def differing_ranges(left: Sequence[Hashable], right: Sequence[Hashable]) -> Iterator[tuple[range, range]]:
    """The stretches of both sides that are outside their longest common subsequence, in order."""
    at_left = at_right = 0
    ends = [
        (op.src_start, op.src_end, op.dest_start, op.dest_end)
        for op in LCSseq.opcodes(left, right)
        if op.tag == "equal"
    ]
    for start_left, end_left, start_right, end_right in [*ends, (len(left), 0, len(right), 0)]:
        if at_left < start_left or at_right < start_right:
            yield range(at_left, start_left), range(at_right, start_right)
        at_left, at_right = end_left, end_right


def stretches(
    left: Sequence[int], right: Sequence[int], anchors: Sequence[tuple[int, int]]
) -> list[tuple[list[int], list[int]]]:
    """The stretches of two ascending index lists between anchors, in order, that contain steps of both."""
    parts = []
    at_left = at_right = 0
    for i, j in (*anchors, (_END, _END)):
        end_left, end_right = bisect_left(left, i, at_left), bisect_left(right, j, at_right)
        if at_left < end_left and at_right < end_right:
            parts.append((list(left[at_left:end_left]), list(right[at_right:end_right])))
        at_left, at_right = end_left + 1, end_right + 1
    return parts
