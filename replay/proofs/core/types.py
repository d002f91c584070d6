"""Types of the evidence ladder: changes, probes and their results, and the interface that runs probes. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, runtime_checkable
from uuid import UUID

from diffing.schemas.evidence import Certificate, EvidenceQuestion, ProbeOutcome
from diffing.schemas.terms import Category, StepRef

Side = Literal["base", "candidate"]
Atoms = frozenset[str]


def opposite(side: Side) -> Side:
    return "candidate" if side == "base" else "base"


@dataclass(frozen=True, kw_only=True)
class Atom:
    """One change between base and candidate that can be applied or left out independently.

    `rank` is the prior: lower ranks are tried first. It orders the search and breaks ties; it is not evidence.
    `requires`: the atoms without which this one has no meaning. `why_not`: why no replay can apply it. `follows`: it
    comes after a changed output and may be a response to it. `rekeys`: it leads to other calls, to tools with other
    names or with other arguments. `fails`: a call failed on one side only, which code rarely ignores.
    `is_by_code`: no recorded setting or output explains it, which leaves code or something that was not recorded.
    `shown_at`: the places of the models that answer differently and have it in their request.
    `echoes`: its numbers recur, converted or formatted, in a difference that code made, or in the answer.
    `has_common_origin`: code made it, and may have made it of another such difference, or asked another agent.
    `is_input`: it is the input of the run, which only code reads. `is_relay`: code composed it after an output
    differed, so it is no change of its own, but a probe can hold it to the candidate's recording.
    `has_own_words`: words of such a message differ as no earlier output does, so code chose them. `texts`: the
    texts of both runs in which it shows, and those of the outputs that differ by it alone. `subject`: the words
    that name what it is about, as the arguments of a call whose result differs.
    """

    id: str
    category: Category
    title: str
    description: str = ""
    rank: tuple[float, ...] = ()
    parent: str | None = None
    requires: frozenset[str] = frozenset()
    why_not: str = ""
    follows: bool = False
    rekeys: bool = False
    fails: bool = False
    echoes: bool = False
    is_by_code: bool = False
    shown_at: frozenset[int] = frozenset()
    has_common_origin: bool = False
    is_input: bool = False
    is_relay: bool = False
    has_own_words: bool = False
    texts: tuple[tuple[str, str], ...] = ()
    subject: frozenset[str] = frozenset()
    certificate: Certificate | None = None
    base: StepRef | None = None
    candidate: StepRef | None = None

    @property
    def testable(self) -> bool:
        return not self.why_not


@dataclass(frozen=True, kw_only=True)
class PathStep:
    """A candidate step between cause and answer whose output differs from that of its counterpart.

    `number` is the step's number in the candidate; `text` describes the difference.
    """

    number: int
    step: StepRef
    text: str


@dataclass(frozen=True, kw_only=True)
class ProbeSpec:
    """One probe: a replay with exactly the changes in `atoms`.

    `side`: the recording that is replayed and answers first. `base` is replayed with the changes applied, `candidate`
    with all others reverted. A part of an atom may appear in the place of the atom; all parts together equal the atom.
    `clamp`: the number of a candidate step that answers as in the base. `repeat`: from 1 on, a new sample of the side
    that uses no recorded model answers; each number is a different sample. `control`: the agent is started unchanged
    with the side's own recording, to see whether it does what is recorded.
    """

    atoms: Atoms
    side: Side = "base"
    clamp: int | None = None
    repeat: int = 0
    control: bool = False


@dataclass(frozen=True, kw_only=True)
class Allowance:
    """What one probe may still spend; None: no limit."""

    live_calls: int | None = 0
    cost_usd: float | None = None


@dataclass(frozen=True, kw_only=True)
class Stray:
    """An output of a probe on which the agent's code would act, with the outputs of both runs at that step.

    No recording shows what the code makes of it. `is_wording`: the outputs of the two runs differ in wording only.
    """

    step: int
    text: str
    base: str
    candidate: str
    is_wording: bool = False


@dataclass(frozen=True, kw_only=True)
class ProbeResult:
    """The result of a probe. `value` is its outcome under the current question, `summary` the outcome in words.

    missing           what had to run and could not, for `needs_live` and `failed`
    borrowed_answers  answers of tools and retrievers that only a run other than the replayed side recorded. A model
                      answers equal requests alike, but that run's environment may have been different. Includes that
                      run's own calls, where the probe continues as that run did.
    derived           the agent's code is assumed to do what it did in the other run, whose outputs the probe reproduced
    assumed_steps     steps assumed to be unaffected although part of their input is unexplained
    replay_side       the side whose recording was replayed, if it is not the requested one: the probe reached the state
                      of the other run and continued as that run did
    other_models      models that answered in place of the recorded ones
    strays            outputs after which the agent's code would continue in a way that no recording shows
    values            outcomes under this question and coarser ones, by kind: switching the question needs no new probe
    """

    outcome: ProbeOutcome
    summary: str = ""
    value: str = ""
    missing: str = ""
    executed_steps: int = 0
    cached_calls: int = 0
    borrowed_answers: int = 0
    derived: bool = False
    assumed_steps: int = 0
    replay_side: Side | None = None
    other_models: Sequence[str] = ()
    strays: Sequence[Stray] = ()
    values: Mapping[str, str] = field(default_factory=dict)
    live_calls: int = 0
    cost_usd: float | None = 0.0
    run: UUID | None = None

    @property
    def is_settled(self) -> bool:
        return self.outcome.is_settled

    def is_assumed(self, side: Side) -> bool:
        """Return whether this is the outcome of the run that was replayed, with steps assumed to be unaffected.

        Whatever the changes do, such a replay may show this outcome.
        """
        return self.assumed_steps > 0 and self.outcome == (self.replay_side or side)


class Prober(Protocol):
    """Runs probes. Equal specs give equal results."""

    def probe(self, spec: ProbeSpec, allowance: Allowance) -> ProbeResult:
        """Run a probe; one that needs more than the allowance returns `needs_live`."""

    def parts(self, atom: Atom) -> Sequence[Atom]:
        """The parts of an atom, in order; empty if it cannot be divided."""

    def path_steps(self, cause: Atoms) -> Sequence[PathStep]:
        """The steps between a cause and the answer, in order, without the one that gives the answer."""


@runtime_checkable
class BatchProber(Protocol):
    """A prober that can run several probes concurrently."""

    def expect(self, specs: Sequence[ProbeSpec]) -> None:
        """Announce probes that will be requested after the next one, whatever its result."""

    def ahead(self) -> "Spending":
        """The spending of probes that were started ahead and not requested yet."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Spending:
    """Live calls and their cost; None: unknown."""

    live_calls: int = 0
    cost_usd: float | None = 0.0


@dataclass(frozen=True, kw_only=True)
class Case:
    """The difference to explain.

    differs        false if both runs have the same outcome
    is_sampled     a differing answer was drawn from a model, so that chance could have made the difference
    chance         why only chance can have made the difference: no change was made; empty if a change may have
    one_space      with the same changes applied, both sides replay the same run, as with a fork and its source;
                   separate recordings may differ in other ways
    live_calls,
    live_cost_usd  expected for one full replay, for estimates
    runs_agent     the agent itself runs in every probe
    other_code     different code made the two recordings, which shows in none of the changes
    same_code      both runs have recorded the same version of the agent's code
    lacks_models,
    lacks_lookups  one run may not have recorded its models or system prompts, or its searches and templates of prompts
    home           the side whose recording the agent reproduces, if it is only one of two: both are replayed from there
    obstacle       why no probe can run; empty if they can
    coarser        questions to fall back on if repeats disagree under this one, the finest first
    values         outcomes of the two recordings under each question, by side and kind
    names          the outcomes of `base` and `candidate` in words
    """

    question: EvidenceQuestion
    atoms: Sequence[Atom]
    differs: bool = True
    is_sampled: bool = False
    chance: str = ""
    one_space: bool = False
    features: tuple[str, ...] = ()
    assumptions: tuple[str, ...] = ()
    live_calls: int = 0
    live_cost_usd: float | None = None
    runs_agent: bool = False
    other_code: bool = False
    same_code: bool = False
    lacks_models: bool = False
    lacks_lookups: bool = False
    home: Side | None = None
    obstacle: str = ""
    coarser: Sequence[EvidenceQuestion] = ()
    values: Mapping[Side, Mapping[str, str]] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Budget:
    """Where a proof stops. Live calls include those of probes and repeats; None: no limit."""

    probes: int = 200
    live_calls: int | None = 0
    cost_usd: float | None = None
    # The maximum for each side.
    repeats: int = 10
