"""What really made the difference: every combination of the changes, run."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from math import factorial
from typing import Literal

from tests.bench.attribution.mechanisms.pipelines import Category, Pipeline
from tests.bench.attribution.mechanisms.rules import rule
from tests.bench.attribution.mechanisms.running import Answering
from traces.core.json_types import JSONValue

Structure = Literal["none", "single", "joint", "over_determined"]
Ids = frozenset[str]


@dataclass(frozen=True, kw_only=True)
class Injection:
    """One change: entries of the settings, each of them a hunk of it; only the `main` one can matter."""

    id: str
    category: Category
    hunks: tuple[tuple[str, JSONValue], ...]
    main: int

    @property
    def path(self) -> str:
        return self.hunks[self.main][0]


@dataclass
class Truth:
    """What every combination of the changes answers; run when it is first asked for, and each only once.

    `acting` are the changes that are more than other words for the same.
    """

    pipeline: Pipeline
    acting: Mapping[str, Injection]
    known: dict[Ids, str] = field(default_factory=dict)

    @cached_property
    def base(self) -> str:
        return self.outcome(())

    @cached_property
    def full(self) -> str:
        return self.outcome(self.acting)

    def settings(self, applied: Iterable[str]) -> dict[str, JSONValue]:
        settings = dict(self.pipeline.settings)
        for name in applied:
            settings |= dict(self.acting[name].hunks)
        return settings

    def outcome(self, applied: Iterable[str]) -> str:
        made = frozenset(name for name in applied if name in self.acting)
        if made not in self.known:
            self.known[made] = self.pipeline.program(Answering(self.settings(made), ask=self.pipeline.model))
        return self.known[made]

    def enough(self, applied: Iterable[str]) -> bool:
        return self.outcome(applied) == self.full

    @cached_property
    def sets(self) -> tuple[Ids, ...]:
        """The minimal sufficient sets."""
        if self.base == self.full:
            return ()
        found: list[Ids] = []
        for applied in subsets(tuple(self.acting)):
            if not any(one <= applied for one in found) and self.enough(applied):
                found.append(applied)
        return tuple(found)

    @property
    def structure(self) -> Structure:
        if not self.sets:
            return "none"
        if len(self.sets) > 1:
            return "over_determined"
        return "single" if len(self.sets[0]) == 1 else "joint"

    @cached_property
    def effective_alone(self) -> Ids:
        return frozenset(atom for atom in self.acting if self.outcome({atom}) != self.base)

    @cached_property
    def enough_alone(self) -> Ids:
        return frozenset(atom for atom in self.acting if self.enough({atom}))

    def may_be(self, flavour: str) -> bool:
        """Whether a look at the single changes leaves that possible: most draws need not be run in full."""
        if flavour in {"no cause", "cancelling"}:
            return self.base == self.full and bool(self.effective_alone) == (flavour == "cancelling")
        if self.base == self.full:
            return False
        alone = len(self.enough_alone)
        return {"and": alone == 0, "or": alone != 1}.get(flavour, alone == 1)

    @cached_property
    def flavour(self) -> str:
        """The structure, with what makes it hard."""
        members: Ids = frozenset().union(*self.sets)
        if not self.sets:
            return "cancelling" if self.effective_alone else "no cause"
        if self.structure == "single" and self.effective_alone - members:
            return "pre-empted"
        return {"single": "single", "joint": "and", "over_determined": "or"}[self.structure]

    def shapley(self) -> dict[str, float]:
        """Shares of the outcome, exact."""
        count = len(self.acting)
        weights = [factorial(size) * factorial(count - size - 1) / factorial(count) for size in range(count)]
        shares = dict.fromkeys(self.acting, 0.0)
        worth = {applied: self.enough(applied) for applied in subsets(tuple(self.acting))}
        for applied, value in worth.items():
            for atom in self.acting:
                if atom not in applied and (gain := worth[applied | {atom}] - value):
                    shares[atom] += weights[len(applied)] * gain
        return shares


def subsets(names: Sequence[str]) -> Iterable[Ids]:
    return (frozenset(chosen) for size in range(len(names) + 1) for chosen in combinations(names, size))


def find(pipeline: Pipeline, injections: Sequence[Injection]) -> Truth:
    acting = {each.id: each for each in injections if any(_acts(pipeline, *hunk) for hunk in each.hunks)}
    return Truth(pipeline=pipeline, acting=acting)


def _acts(pipeline: Pipeline, path: str, value: JSONValue) -> bool:
    """Whether it can matter at all: a sentence in other words is the same rule, and nobody reads a temperature."""
    before = pipeline.settings.get(path, "")
    if path.startswith("prompt."):
        return bool(rule(str(before)) != rule(str(value)))
    return not path.endswith(".temperature") and value != "m3"
