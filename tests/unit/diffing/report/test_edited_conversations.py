"""What holds for reports of conversations that were edited in any way."""

import random

import pytest

from tests.bench.attribution import editing, pairs, transcripts
from tests.support.mirroring import essence, is_empty
from traces.core.json_types import JSONObject


def edited_conversation(seed: int) -> tuple[JSONObject, JSONObject]:
    """A talk of some turns, and the same after some edits of every kind."""
    rng = random.Random(seed)
    messages = transcripts.generate(seed)
    script = editing.apply_edits(messages, rng.choices(list(editing.EDITS), k=rng.randint(1, 6)), rng)
    return {"messages": [*messages]}, {"messages": [message for _, message in script.messages]}


@pytest.mark.parametrize("seed", range(8))
def test_swapping_the_sides_of_edited_conversations_swaps_the_report(seed: int) -> None:
    base, candidate = edited_conversation(seed)
    assert essence(pairs.compare_transcripts(base, candidate)) == essence(
        pairs.compare_transcripts(candidate, base), swapped=True
    )


@pytest.mark.parametrize("seed", range(8))
def test_a_conversation_does_not_differ_from_itself(seed: int) -> None:
    assert all(is_empty(pairs.compare_transcripts(messages, messages)) for messages in edited_conversation(seed))
