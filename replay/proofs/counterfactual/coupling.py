"""Recorded answers for a counterfactual replay: calls that no change reaches get the recorded answer. Pure.

The key of an answer is its call and the call's ordinal in the run. Calls that differ only in what the app's ignore list
ignores are the same call. The replayed side answers first, then the other side, then earlier probes.
"""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from traces.core.vocabulary import StepStatus


@dataclass(frozen=True, kw_only=True, slots=True)
class RecordedAnswer:
    """One real answer."""

    run: UUID
    step: int
    output_ref: str
    status: StepStatus


# By signature, in order.
Recording = Mapping[str, Sequence[RecordedAnswer]]
# Reduces a signature by an ignore list.
Reduce = Callable[[str], str]


def identity(signature: str) -> str:
    """Return the signature unchanged, for apps without an ignore list."""
    return signature


@dataclass
class Coupling:
    """Recordings in the order in which they answer, and how often each call was made so far."""

    recordings: Sequence[Recording]
    call_counts: Counter[str] = field(default_factory=Counter)
    reduce: Reduce = identity

    def answer(self, signature: str) -> RecordedAnswer | None:
        """The recorded answer to the next call with this signature."""
        signature = self.reduce(signature)
        turn = self.call_counts[signature]
        for recording in self.recordings:
            answers = recording.get(signature, ())
            if len(answers) > turn:
                return answers[turn]
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
