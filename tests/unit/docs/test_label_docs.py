"""The page of labels has all of them."""

import re
from enum import StrEnum
from pathlib import Path

import pytest

from traces.core.vocabulary import Cause, Label, Reason

PAGE = Path(__file__).parents[3] / "docs" / "labels.md"


@pytest.mark.parametrize("names", [Label, Reason, Cause])
def test_page_has_a_row_for_each(names: type[StrEnum]) -> None:
    rows = re.findall(r"^\| `(\w+)` \|", PAGE.read_text(), re.M)
    assert {*names} <= {*rows}
    assert {*rows} <= {*Label, *Reason, *Cause}
    assert len(rows) == len({*rows})
