"""Recorded answers for a counterfactual replay: calls that no change reaches get the recorded answer. Pure.

The key of an answer is its call and the call's ordinal in the run. Calls that differ only in what the app's ignore list
ignores are the same call. The replayed side answers first, then the other side, then earlier probes.

A search of the other side may have found the same documents as its counterpart, with edited texts. For its query, the
replayed side has those documents with its own texts: the edit is a change of its own.

    base       search "roof"             found [d1] "grants 25,000 euros"
    candidate  search "roof, please"     found [d1] "grants 45,000 euros"
    probe      base, with "roof, please" finds [d1] "grants 25,000 euros"
"""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from diffing.attribution.difference_origins import has_edited_documents
from diffing.attribution.unexplained_changes import Atom as Root
from replay.proofs.core.types import Side, opposite
from traces.core.vocabulary import StepStatus


@dataclass(frozen=True, kw_only=True, slots=True)
class RecordedAnswer:
    """One real answer."""

    run: UUID
    step: int
    output_ref: str
    status: StepStatus
    # Of a tool: its name, and the attributes of its call.
    tool: str = ""
    attributes_ref: str = ""


# By signature, in order.
Recording = Mapping[str, Sequence[RecordedAnswer]]
# Reduces a signature by an ignore list.
Reduce = Callable[[str], str]


def identity(signature: str) -> str:
    """Return the signature unchanged, for apps without an ignore list."""
    return signature


@dataclass
class Coupling:
    """Recordings in the order in which they answer, and how often each call was made so far.

    `counterparts`: the replayed side's answers to searches that found the same documents on the other side.
    """

    recordings: Sequence[Recording]
    counterparts: Mapping[tuple[UUID, int], RecordedAnswer] = field(default_factory=dict)
    call_counts: Counter[str] = field(default_factory=Counter)
    reduce: Reduce = identity

    def answer(self, signature: str) -> RecordedAnswer | None:
        """The recorded answer to the next call with this signature."""
        signature = self.reduce(signature)
        turn = self.call_counts[signature]
        for recording in self.recordings:
            answers = recording.get(signature, ())
            if len(answers) > turn:
                answer = answers[turn]
                return self.counterparts.get((answer.run, answer.step), answer)
        return None

    def is_borrowed(self, signature: str) -> bool:
        """True if the replayed side did not record the next call with this signature."""
        signature = self.reduce(signature)
        return not self.recordings or len(self.recordings[0].get(signature, ())) <= self.call_counts[signature]

    def count_unrecorded(self, signatures: Collection[str]) -> int:
        """The number of these calls that the replayed side did not record at all."""
        return sum(self.reduce(signature) not in self.recordings[0] for signature in signatures)

    def count_call(self, signature: str) -> None:
        if signature:
            self.call_counts[self.reduce(signature)] += 1


def counterparts(
    atoms: Sequence[Root], side: Side, runs: Mapping[Side, UUID]
) -> dict[tuple[UUID, int], RecordedAnswer]:
    """A side's answers to the searches of the other side that found the same documents, with edited texts."""
    pairs = [atom.pair for atom in atoms if atom.facet is not None and has_edited_documents(atom.facet)]
    sides = [pair.sides if side == "base" else pair.sides[::-1] for pair in pairs if pair.sides is not None]
    return {
        (runs[opposite(side)], other.sequence_no): RecordedAnswer(
            run=runs[side], step=own.sequence_no, output_ref=own.output_ref, status=StepStatus(own.status)
        )
        for own, other in sides
    }
