"""Properties of reports of edited conversations."""

import random

import pytest

from tests.bench.attribution import editing, pairs, transcripts
from tests.support.mirroring import essence, is_empty
from traces.core.json_types import JSONObject


def edited_conversation(seed: int) -> tuple[JSONObject, JSONObject]:
    """A conversation of several turns, before and after edits of every kind."""
    rng = random.Random(seed)
    messages = transcripts.generate(seed)
    script = editing.apply_edits(messages, rng.choices(list(editing.EDITS), k=rng.randint(1, 6)), rng)
    return {"messages": [*messages]}, {"messages": [message for _, message in script.messages]}


@pytest.mark.parametrize("seed", range(8))
def test_swapped_conversations_swap_the_report(seed: int) -> None:
    base, candidate = edited_conversation(seed)
    assert essence(pairs.compare_transcripts(base, candidate)) == essence(
        pairs.compare_transcripts(candidate, base), is_swapped=True
    )


@pytest.mark.parametrize("seed", range(8))
def test_conversation_equals_itself(seed: int) -> None:
    assert all(is_empty(pairs.compare_transcripts(messages, messages)) for messages in edited_conversation(seed))
