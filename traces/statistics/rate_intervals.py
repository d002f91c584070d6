"""The interval of a rate, such as that of passes among repeated runs. Pure."""

from math import sqrt
from typing import Final

_Z: Final = 1.959963984540054  # 95 % of a normal distribution


def wilson(hits: int, n: int) -> tuple[float, float]:
    """The 95 % interval of a rate (Wilson)."""
    if n == 0:
        return 0.0, 1.0
    rate, square = hits / n, _Z * _Z
    middle = (rate + square / (2 * n)) / (1 + square / n)
    half = _Z * sqrt(rate * (1 - rate) / n + square / (4 * n * n)) / (1 + square / n)
    # Exact at the ends, where rounding would not be.
    return 0.0 if hits == 0 else middle - half, 1.0 if hits == n else middle + half
