"""Alignment of two short stretches by similarity, with gaps (Gotoh's affine Needleman-Wunsch)."""

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Final

from rapidfuzz.distance import LCSseq

CELLS: Final = 40_000  # of one table; longer stretches are cut at equal kinds first
_OPEN: Final = -0.10  # beginning a gap costs more than going on with it: a repeated call is one gap
_EXTEND: Final = -0.02
LEAST: Final = 0.36  # below this two steps do not correspond
_NOTHING: Final = 0.30  # the likeness of unrelated texts: one good pair is worth more than two poor ones
_NEVER: Final = float("-inf")
_WINDOW: Final = 8_000  # steps of a stretch aligned by kind at once

Score = Callable[[int, int], float]
Key = Callable[[int, bool], Hashable]  # of a step, and whether it stands on the right
Pairs = list[tuple[int, int]]


def align(left: Sequence[int], right: Sequence[int], score: Score, keys: Sequence[Key]) -> Iterator[tuple[int, int]]:
    """Pairs of `left` and `right`, ascending on both sides; `keys` cut long stretches, the most telling first."""
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
    """Places with equal keys in one order, found in windows of like share."""
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
    """Three states a cell: paired here, a gap on the right (left step alone), a gap on the left.

    Filled from the end, so that it is read from the start: of repeated calls the first is the one that has a partner.
    """
    left, right = left[::-1], right[::-1]
    rows, columns = len(left) + 1, len(right) + 1
    best = [[(0.0, _NEVER, _NEVER)] + [(_NEVER, _NEVER, _gap(j)) for j in range(1, columns)]]
    came = [[(0, 0, 0)] * columns]
    for i in range(1, rows):
        line = [(_NEVER, _gap(i), _NEVER)]
        steps = [(0, 1 if i > 1 else 0, 0)]
        for j in range(1, columns):
            cell, step = _cell(
                best[i - 1][j - 1], best[i - 1][j], line[j - 1], _worth(score(left[i - 1], right[j - 1]))
            )
            line.append(cell)
            steps.append(step)
        best.append(line)
        came.append(steps)
    yield from _trace(left, right, best, came)


Cell = tuple[float, float, float]


def _cell(corner: Cell, above: Cell, before: Cell, worth: float) -> tuple[Cell, tuple[int, int, int]]:
    paired_from = _top(corner)
    down = (above[0] + _OPEN, above[1] + _EXTEND, above[2] + _OPEN)
    across = (before[0] + _OPEN, before[1] + _OPEN, before[2] + _EXTEND)
    down_from, across_from = _top(down), _top(across)
    cell = (corner[paired_from] + worth, down[down_from], across[across_from])
    return cell, (paired_from, down_from, across_from)


def _trace(
    left: Sequence[int], right: Sequence[int], best: list[list[Cell]], came: list[list[tuple[int, int, int]]]
) -> Iterator[tuple[int, int]]:
    i, j = len(left), len(right)
    state = _top(best[i][j])
    pairs = []
    while i and j:
        previous = came[i][j][state]
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
    return score - _NOTHING if score >= LEAST else _NEVER


def _gap(length: int) -> float:
    return _OPEN + _EXTEND * (length - 1)


def _top(cell: Cell) -> int:
    return max(range(3), key=cell.__getitem__)
