"""Changed values inside texts that code composed."""

import pytest

from replay.core.graph import Node
from replay.inputs.changes import Change
from replay.inputs.substitution import substitute
from tests.support.recordings import assistant, model_step, user
from tests.support.replay_runs import graph_of
from traces.core.recorded_run import RecordedRun

BEFORE = "We checked A-1042: the order B-7701 arrives on Monday."


def _answering_step() -> Node:
    step = model_step("ask", [user("Where is A-1042?")], assistant(BEFORE))
    graph, _ = graph_of(RecordedRun(external_id="r", name="r", app="a", format="test", steps=(step,)))
    return graph.by_no[1]


@pytest.mark.parametrize(
    ("text", "after", "expected"),
    [
        # The new answer names the same parcels, but in another sentence.
        (BEFORE.upper(), "We checked A-1042: the order B-7701 was refunded.", None),
        (BEFORE.upper(), f"{BEFORE} Goodbye.", BEFORE.upper()),
        (
            f"Note: {BEFORE} Thanks.",
            "We checked A-1042: the order B-7802 arrives on Monday.",
            "Note: We checked A-1042: the order B-7802 arrives on Monday. Thanks.",
        ),
        ("Look at A-1042 and B-7701.", "We found A-1042 and the order B-7802.", "Look at A-1042 and B-7802."),
        # Code may choose another one of the ids now: the first, the last, or all.
        ("Look at A-1042.", "We found C-3000, A-1042 and the order B-7701.", None),
        ("Look at A-1042.", "The order B-7701 replaces A-1042.", None),
        ("Look at A-1042.", "We sent 5000 francs for A-1042, as for B-7701.", "Look at A-1042."),
    ],
)
def test_quoted_words_are_those_of_the_new_answer(text: str, after: str, expected: str | None) -> None:
    change = Change(
        node=_answering_step(), original={"message": assistant(BEFORE)}, current={"message": assistant(after)}
    )
    assert substitute(text, change) == expected


def test_value_in_a_sentence_that_stays_is_kept() -> None:
    """Another sentence with the same date changed."""
    sentence = "The parcel C-1 arrives there on 2025-01-06."
    before, after = (f"The order B-7 arrives on {day}. {sentence}" for day in ("2025-01-06", "2025-01-08"))
    change = Change(
        node=_answering_step(), original={"message": assistant(before)}, current={"message": assistant(after)}
    )
    assert substitute(f"Note: {sentence} Thanks.", change) == f"Note: {sentence} Thanks."
