"""Words of the command line for figures that may be unknown."""

import pytest

from cockpit.cli import output


@pytest.mark.parametrize(
    ("estimate", "most", "words"),
    [
        (None, None, "unknown"),
        (0.5, None, "about $0.5000, maximum unknown"),
        (0.5, 0.75, "about $0.5000, at most $0.7500"),
    ],
)
def test_a_price_may_be_unknown(estimate: float | None, most: float | None, words: str) -> None:
    assert output.price(estimate, most) == words
