"""Suggestions whether a tool is safe to run."""

import pytest

from replay.resolution.side_effects import suggest


@pytest.mark.parametrize(
    ("name", "description", "safe"),
    [
        ("get_report", "Gets the report and emails it to the boss", False),
        ("search_archive", "Searches it. Deleting is possible, too.", False),
        ("read_inbox", "The message was written before", False),
        ("get_report", "Gets the report", True),
        ("get_postage", "Finds the postage of a letter", True),
    ],
)
def test_other_forms_of_unsafe_words_count(name: str, description: str, safe: bool) -> None:
    assert suggest(name, description).safe is safe
