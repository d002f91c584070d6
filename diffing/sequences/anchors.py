"""Anchors of an alignment: unique keys, and the longest chain of pairs in order. Pure."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence

from rapidfuzz.distance import LCSseq


def unique_pairs(left: Sequence[Hashable], right: Sequence[Hashable]) -> list[tuple[int, int]]:
    """Positions of the keys that are unique on both sides, by left position; None is no key."""
    counts = Counter(left), Counter(right)
    places = {key: place for place, key in enumerate(right) if key is not None and counts[1][key] == 1}
    return [(i, places[key]) for i, key in enumerate(left) if key in places and counts[0][key] == 1]


def longest_chain(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest chain of pairs that ascends on both sides; `pairs` ascend on the left.

    Patience sorting: each pair goes on the leftmost pile whose top is not lower on the right.
    """
    # The right position on top of each pile, and the index of its pair.
    tops: list[int] = []
    owners: list[int] = []
    # For each pair, the pair that was on top of the pile to the left when this one was placed.
    previous: list[int] = []
    for index, (_, right) in enumerate(pairs):
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
    """The stretches of two ascending index lists between anchors, in order."""
    parts = []
    at_left = at_right = 0
    for i, j in anchors:
        end_left = at_left
        while end_left < len(left) and left[end_left] < i:
            end_left += 1
        end_right = at_right
        while end_right < len(right) and right[end_right] < j:
            end_right += 1
        parts.append((list(left[at_left:end_left]), list(right[at_right:end_right])))
        at_left, at_right = end_left + 1, end_right + 1
    parts.append((list(left[at_left:]), list(right[at_right:])))
    return parts
