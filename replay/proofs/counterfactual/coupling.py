"""Recorded answers for a counterfactual replay: what no change touches is the same, not a new sample. Pure.

The key of an answer is its call, and the how many-th time in the run the call is made. Calls that differ only in what
the app's ignore list leaves out are the same call. The side that is replayed answers first, then the other one, then
earlier probes.
"""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from traces.core.vocabulary import StepStatus


@dataclass(frozen=True, kw_only=True, slots=True)
class Recorded:
    """One answer that was really given."""

    run: UUID
    step: int
    output_ref: str
    status: StepStatus


Recording = Mapping[str, Sequence[Recorded]]  # by signature, in order
Alike = Callable[[str], str]  # a signature as it is under the ignore list


def as_signed(signature: str) -> str:
    """A signature where no ignore list holds."""
    return signature


@dataclass
class Coupling:
    """The recordings, the first of them first, and how often each call was made so far."""

    recordings: Sequence[Recording]
    made: Counter[str] = field(default_factory=Counter)
    alike: Alike = as_signed

    def answer(self, signature: str) -> Recorded | None:
        """The recorded answer to the call as it is made next."""
        signature = self.alike(signature)
        turn = self.made[signature]
        for recording in self.recordings:
            answers = recording.get(signature, ())
            if len(answers) > turn:
                return answers[turn]
        return None

    def is_borrowed(self, signature: str) -> bool:
        """Whether the side that is replayed did not record the call as it is made next."""
        signature = self.alike(signature)
        return not self.recordings or len(self.recordings[0].get(signature, ())) <= self.made[signature]

    def lacked(self, signatures: Collection[str]) -> int:
        """How many of these calls the side that is replayed did not record at all."""
        return sum(self.alike(signature) not in self.recordings[0] for signature in signatures)

    def made_again(self, signature: str) -> None:
        if signature:
            self.made[self.alike(signature)] += 1
