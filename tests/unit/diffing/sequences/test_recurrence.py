"""Recurrence of a difference in another text: words, fields and numbers."""

import pytest

from diffing.sequences.recurrence import Texts, number_moves, recurs


@pytest.mark.parametrize(
    ("own", "other"),
    [
        (('{"snow": 20}', '{"snow": 50}'), ("pass: 20 cm", "pass: 50 cm")),
        (('{"quota": 7}', '{"quota": 3}'), ("", "error: above the quota of 3")),
        (('{"climb_ft": 4100}', '{"climb_ft": 2300}'), ("a climb of 1,250 m", "a climb of 701 m")),
        # Three digits are distinctive wherever the point is.
        (('{"rate": "1.16"}', '{"rate": "1.19"}'), ("Hartley | 742 EUR", "Hartley | 762 EUR")),
        (('{"days": 14}', '{"days": 30}'), ("due 2026-03-17", "due 2026-04-02")),
        (("Save all.", "Save nothing about the allergy."), ("", "allergy: unknown")),
    ],
)
def test_change_recurs_in_what_code_made(own: Texts, other: Texts) -> None:
    assert recurs(own, other)


@pytest.mark.parametrize(
    ("own", "other"),
    [
        (('{"beds": 0}', '{"beds": 6}'), ("pass: 20 cm", "pass: 50 cm")),
        (('{"quota": 7}', '{"quota": 3}'), ("", "3 tries")),
        # Small numbers move by the same difference by chance.
        (('{"step": 0.5}', '{"step": 1}'), ("page 3", "page 6")),
        (('{"keep": 7}', '{"keep": 9}'), ("busy until 4", "busy until 6")),
    ],
)
def test_other_change_does_not_recur(own: Texts, other: Texts) -> None:
    assert not recurs(own, other)


def test_dates_move_by_days() -> None:
    [(before, after)] = number_moves("due 2026-03-17", "due 2026-04-02")
    assert after - before == 16


def test_many_numbers_have_no_counterparts() -> None:
    assert number_moves("1 2 3 4 5", "11 12 13 14 15") == []
    assert number_moves("no date: 2026-99-99", "none") == []
