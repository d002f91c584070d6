"""What an operator reads about a call that no recording answers."""

import pytest

from replay.reruns.core.comparison import Difference
from replay.reruns.core.matcher import Divergence
from replay.reruns.core.recorded_calls import RecordedRequest
from replay.reruns.tools.permissions import describe_difference


@pytest.mark.parametrize(
    ("path", "place"),
    [("/arguments/amount", "amount"), ("/arguments/items/0/price", "items/0/price"), ("", "its input")],
)
def test_difference_names_the_argument(path: str, place: str) -> None:
    nearest = RecordedRequest(no=8, request={}, strict={})
    divergence = Divergence(nearest=nearest, difference=Difference(path=path, old=4200, new=5100))
    assert describe_difference(divergence) == f": {place} is 5100, not 4200 as in step 8"
    assert describe_difference(Divergence()) == ""
