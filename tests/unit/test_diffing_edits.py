"""What holds for reports of conversations that were edited in any way."""

import random

import pytest

from diffing.schemas import DiffReport
from tests.bench.attribution import editing, pairs, transcripts
from traces.json_types import JSONObject


def edited_conversation(seed: int) -> tuple[JSONObject, JSONObject]:
    """A talk of some turns, and the same after some edits of every kind."""
    rng = random.Random(seed)
    messages = transcripts.generated(seed)
    script = editing.edited(messages, rng.choices(list(editing.EDITS), k=rng.randint(1, 6)), rng)
    return {"messages": [*messages]}, {"messages": [message for _, message in script.messages]}


@pytest.mark.parametrize("seed", range(8))
def test_swapping_the_sides_of_edited_conversations_swaps_the_report(seed: int) -> None:
    base, candidate = edited_conversation(seed)
    there, back = pairs.compared(base, candidate), pairs.compared(candidate, base)
    flipped = {"added": "removed", "removed": "added"}

    def relations(report: DiffReport) -> set[tuple[int | None, int | None, str, str]]:
        numbers = [[side.sequence_no if side else None for side in (p.base, p.candidate)] for p in report.pairs]
        return {(*both, p.relation, p.found_by) for both, p in zip(numbers, report.pairs, strict=True)}  # type: ignore[misc]  # two each

    assert relations(there) == {(c, b, flipped.get(r, r), found) for b, c, r, found in relations(back)}
    assert (there.attribution.verdict, there.attribution.confidence) == (
        back.attribution.verdict,
        back.attribution.confidence,
    )
    assert there.deltas.steps == -back.deltas.steps


@pytest.mark.parametrize("seed", range(8))
def test_a_conversation_does_not_differ_from_itself(seed: int) -> None:
    for messages in edited_conversation(seed):
        found = pairs.compared(messages, messages)
        assert {pair.relation for pair in found.pairs} == {"same"}
        sections = found.sections
        named = (sections.prompt, sections.retrieval, sections.tool, sections.model, sections.output, sections.run)
        assert not any(section.items for section in named)
        assert found.attribution.verdict == "no_difference"
