"""Alignment of two short stretches by similarity, with gaps (Gotoh's affine Needleman-Wunsch)."""

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Final

from rapidfuzz.distance import LCSseq

# Cells of one table; longer stretches are first cut where their kinds are equal.
CELLS: Final = 40_000
# Opening a gap costs more than extending it, so that repeated calls make one gap.
_OPEN: Final = -0.10
_EXTEND: Final = -0.02
# Below this similarity, two steps do not correspond.
LEAST: Final = 0.36
# The similarity of unrelated texts. Subtracting it makes one good pair worth more than two poor ones.
_BASELINE: Final = 0.30
_IMPOSSIBLE: Final = float("-inf")
# Steps of a stretch that are aligned by kind at once.
_WINDOW: Final = 8_000

Score = Callable[[int, int], float]
# The key of a step, by its index and whether it is on the right side.
Key = Callable[[int, bool], Hashable]
Pairs = list[tuple[int, int]]


def align(left: Sequence[int], right: Sequence[int], score: Score, keys: Sequence[Key]) -> Iterator[tuple[int, int]]:
    """Pair `left` with `right` in order; `keys` cut long stretches, the most specific first."""
    if not left or not right:
        return
    if len(left) * len(right) <= CELLS:
        yield from _table(left, right, score)
    elif keys:
        at_left = at_right = 0
        for i, j in _equal_runs(left, right, keys[0]):
            yield from align(left[at_left:i], right[at_right:j], score, keys[1:])
            if score(left[i], right[j]) >= LEAST:
                yield left[i], right[j]
            at_left, at_right = i + 1, j + 1
        yield from align(left[at_left:], right[at_right:], score, keys[1:])


def _equal_runs(left: Sequence[int], right: Sequence[int], key: Key) -> Pairs:
    """Positions with equal keys in the same order, searched in proportional windows of both sides."""
    windows = -(-max(len(left), len(right)) // _WINDOW)
    pairs: Pairs = []
    for n in range(windows):
        mine, theirs = _share(len(left), n, windows), _share(len(right), n, windows)
        keys = [key(left[i], False) for i in mine], [key(right[j], True) for j in theirs]
        for op in LCSseq.opcodes(*keys):
            if op.tag == "equal":
                pairs += zip(mine[op.src_start : op.src_end], theirs[op.dest_start : op.dest_end], strict=True)
    return pairs


def _share(length: int, n: int, windows: int) -> range:
    return range(length * n // windows, length * (n + 1) // windows)


def _table(left: Sequence[int], right: Sequence[int], score: Score) -> Iterator[tuple[int, int]]:
    """Align by dynamic programming; a cell has three states: pair, gap right, gap left.

    The table is filled from the end and read from the start: of repeated calls, the first gets the partner.
    """
    left, right = left[::-1], right[::-1]
    rows, columns = len(left) + 1, len(right) + 1
    scores = [[(0.0, _IMPOSSIBLE, _IMPOSSIBLE)] + [(_IMPOSSIBLE, _IMPOSSIBLE, _gap(j)) for j in range(1, columns)]]
    sources = [[(0, 0, 0)] * columns]
    for i in range(1, rows):
        line = [(_IMPOSSIBLE, _gap(i), _IMPOSSIBLE)]
        steps = [(0, 1 if i > 1 else 0, 0)]
        for j in range(1, columns):
            cell, step = _cell(
                scores[i - 1][j - 1], scores[i - 1][j], line[j - 1], _worth(score(left[i - 1], right[j - 1]))
            )
            line.append(cell)
            steps.append(step)
        scores.append(line)
        sources.append(steps)
    yield from _trace(left, right, scores, sources)


Cell = tuple[float, float, float]


def _cell(corner: Cell, upper: Cell, previous: Cell, worth: float) -> tuple[Cell, tuple[int, int, int]]:
    paired_from = _top(corner)
    downward = (upper[0] + _OPEN, upper[1] + _EXTEND, upper[2] + _OPEN)
    rightward = (previous[0] + _OPEN, previous[1] + _OPEN, previous[2] + _EXTEND)
    downward_from, rightward_from = _top(downward), _top(rightward)
    cell = (corner[paired_from] + worth, downward[downward_from], rightward[rightward_from])
    return cell, (paired_from, downward_from, rightward_from)


def _trace(
    left: Sequence[int], right: Sequence[int], scores: list[list[Cell]], sources: list[list[tuple[int, int, int]]]
) -> Iterator[tuple[int, int]]:
    i, j = len(left), len(right)
    state = _top(scores[i][j])
    pairs = []
    while i and j:
        previous = sources[i][j][state]
        if state == 0:
            i, j = i - 1, j - 1
            pairs.append((left[i], right[j]))
        elif state == 1:
            i -= 1
        else:
            j -= 1
        state = previous
    yield from pairs


def _worth(score: float) -> float:
    return score - _BASELINE if score >= LEAST else _IMPOSSIBLE


def _gap(length: int) -> float:
    return _OPEN + _EXTEND * (length - 1)


def _top(cell: Cell) -> int:
    return max(range(3), key=cell.__getitem__)
