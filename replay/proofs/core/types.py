"""What the evidence ladder asks of the world, in the ladder's own words. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, runtime_checkable
from uuid import UUID

from diffing.schemas.evidence import Certificate, EvidenceQuestion, ProbeOutcome
from diffing.schemas.terms import Category, StepRef

Side = Literal["base", "candidate"]
Atoms = frozenset[str]


def other(side: Side) -> Side:
    return "candidate" if side == "base" else "base"


@dataclass(frozen=True, kw_only=True)
class Atom:
    """One change between base and candidate that can be made or left out on its own.

    `rank` is the prior: what is smaller is tried first. It orders the search and breaks ties, and is no evidence.
    An atom that `requires` others has no meaning without them. `why_not` says why no replay can apply it. One that
    `follows` comes after a changed output, and may be a response to it. One that `rekeys` makes other calls: by other
    names of tools, or with other arguments.
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
    certificate: Certificate | None = None
    base: StepRef | None = None
    candidate: StepRef | None = None

    @property
    def testable(self) -> bool:
        return not self.why_not


@dataclass(frozen=True, kw_only=True)
class Stage:
    """A step of the candidate between cause and answer whose output differs from its counterpart's.

    `text` says what it did otherwise, `number` is the candidate's.
    """

    number: int
    step: StepRef
    text: str


@dataclass(frozen=True, kw_only=True)
class Ask:
    """One probe: a run with the changes in `applied` and no others.

    `side` says which recording is replayed and answers first: `base` with the changes applied, or `candidate` with
    all others reverted. A part of an atom stands in `applied` in the atom's place; the whole atom is all its parts.
    `clamp` is a stage of the candidate that answers as in the base. `repeat` from 1 on samples the side anew: no
    recorded answer of a model is used, and each number is another sample.
    """

    applied: Atoms
    side: Side = "base"
    clamp: int | None = None
    repeat: int = 0


@dataclass(frozen=True, kw_only=True)
class Allowance:
    """What one probe may still spend; None: no limit."""

    live_calls: int | None = 0
    cost_usd: float | None = None


@dataclass(frozen=True, kw_only=True)
class Stray:
    """An output of a probe from which the agent's code would go on, beside those of both runs at its place.

    Nothing recorded shows what the code makes of it.
    """

    step: int
    text: str
    base: str
    candidate: str


@dataclass(frozen=True, kw_only=True)
class Seen:
    """What came of a probe, `value` under the question that is asked.

    `missing` names what had to run and could not, for `needs_live` and `failed`.

    `borrowed` counts the answers of tools and retrievers that only another run than the replayed side recorded: a
    model answers the same request alike, but the world of the other run may be another one; so does what that run's
    own calls were answered, where the probe goes on as it did. `derived`: what the
    agent's code does there is taken from the other run, whose outputs the probe had brought about. `values`: what
    came out under this question and coarser ones, by kind, so that another one can be asked without another probe.
    `assumed` counts the steps that are taken to be unaffected although part of their input is not explained;
    `other_models` names those that answered in place of the recorded ones. `strays` are the outputs that a probe came
    to before the agent's code would have gone on in a way that no recording shows.
    """

    outcome: ProbeOutcome
    said: str = ""
    value: str = ""
    missing: str = ""
    executed_steps: int = 0
    cached_calls: int = 0
    borrowed: int = 0
    derived: bool = False
    assumed: int = 0
    other_models: Sequence[str] = ()
    strays: Sequence[Stray] = ()
    values: Mapping[str, str] = field(default_factory=dict)
    live_calls: int = 0
    cost_usd: float | None = 0.0
    run: UUID | None = None

    @property
    def settled(self) -> bool:
        return self.outcome in {"candidate", "base", "other"}


class Lab(Protocol):
    """Makes probes. The same ask again gives the same answer."""

    def probe(self, ask: Ask, allowance: Allowance) -> Seen:
        """Replay; what the allowance forbids ends in `needs_live`."""

    def parts(self, atom: Atom) -> Sequence[Atom]:
        """The parts into which an atom can be divided, in order; none where it is one thing."""

    def stages(self, cause: Atoms) -> Sequence[Stage]:
        """The steps between a cause and the answer, in order, without the one that gives the answer."""


@runtime_checkable
class ManyAtOnce(Protocol):
    """A lab that can make several probes side by side."""

    def expect(self, asks: Sequence[Ask]) -> None:
        """These will be asked for after the next one, whatever that says."""

    def ahead(self) -> "Spending":
        """The spending of probes that were begun ahead and that nobody has asked for yet."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Spending:
    """Live calls and their cost; None: not known."""

    live_calls: int = 0
    cost_usd: float | None = 0.0


@dataclass(frozen=True, kw_only=True)
class Case:
    """What is to be explained.

    `differs` is false where both runs have the same outcome already. `sampled`: an answer that differs was drawn
    from a model, so that chance could have made the difference. `chance` says why nothing else can have: nobody
    changed anything; empty where somebody may have. `one_space`: with the same changes applied both
    sides replay the same run, as it is with a fork and its source; of separate recordings the rest may differ.
    `live_cost_usd` and `live_calls` are what one replay of the whole is expected to take, for estimates. `coarser` are
    the questions to fall back on where repeats disagree under this one, the finest first; `values` what the two
    recordings come to under each, by side and kind.
    """

    question: EvidenceQuestion
    atoms: Sequence[Atom]
    differs: bool = True
    sampled: bool = False
    chance: str = ""
    one_space: bool = False
    features: tuple[str, ...] = ()
    assumptions: tuple[str, ...] = ()
    live_calls: int = 0
    live_cost_usd: float | None = None
    coarser: Sequence[EvidenceQuestion] = ()
    values: Mapping[Side, Mapping[str, str]] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)  # the outcomes of "base" and "candidate" in words


@dataclass(frozen=True, kw_only=True)
class Budget:
    """Where a proof stops. Live calls are of all probes and repeats together; None: no limit."""

    probes: int = 200
    live_calls: int | None = 0
    cost_usd: float | None = None
    repeats: int = 10  # of each side, at most
