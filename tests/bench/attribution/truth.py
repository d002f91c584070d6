"""Ground truth: the outcome of every combination of the changes, by running them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations, islice
from math import factorial
from typing import Literal

import orjson

from tests.bench.attribution.mechanisms.pipelines import Category, Pipeline
from tests.bench.attribution.mechanisms.rules import rule
from tests.bench.attribution.mechanisms.running import AnswerRuntime
from traces.core.json_types import JSONValue

Structure = Literal["none", "single", "joint", "over_determined"]
Ids = frozenset[str]


@dataclass(frozen=True, kw_only=True)
class Injection:
    """One change. Each settings entry is a hunk of it; only the `main` hunk can matter."""

    id: str
    category: Category
    hunks: tuple[tuple[str, JSONValue], ...]
    main: int

    @property
    def path(self) -> str:
        return self.hunks[self.main][0]


@dataclass
class Truth:
    """Outcomes of all combinations of the changes, run on demand and only once each.

    `acting` are the changes that are more than a rewording.
    """

    pipeline: Pipeline
    acting: Mapping[str, Injection]
    answers: dict[Ids, str] = field(default_factory=dict)

    @cached_property
    def base(self) -> str:
        return self.outcome(())

    @cached_property
    def full(self) -> str:
        return self.outcome(self.acting)

    def settings(self, change_ids: Iterable[str]) -> dict[str, JSONValue]:
        settings = dict(self.pipeline.settings)
        for name in change_ids:
            settings |= dict(self.acting[name].hunks)
        return settings

    def outcome(self, change_ids: Iterable[str]) -> str:
        acting_ids = frozenset(name for name in change_ids if name in self.acting)
        if acting_ids not in self.answers:
            self.answers[acting_ids] = self._answer(acting_ids)
        return self.answers[acting_ids]

    def _answer(self, acting_ids: Ids) -> str:
        """Return the answer under these changes, which another case of the pipeline may have had."""
        settings = self.settings(acting_ids)
        key = orjson.dumps(settings)
        known = self.pipeline.answers
        if key not in known:
            known[key] = self.pipeline.program(AnswerRuntime(settings, ask=self.pipeline.model))
        return known[key]

    def is_sufficient(self, change_ids: Iterable[str]) -> bool:
        return self.outcome(change_ids) == self.full

    @cached_property
    def sets(self) -> tuple[Ids, ...]:
        """Return the minimal sufficient sets."""
        return tuple(self.find_sets())

    def find_sets(self) -> Iterator[Ids]:
        """Yield the minimal sufficient sets. To find the first takes few runs, to know that there is no other all."""
        if self.base == self.full:
            return
        sufficient_sets: list[Ids] = []
        for change_ids in subsets(tuple(self.acting)):
            if not any(smaller <= change_ids for smaller in sufficient_sets) and self.is_sufficient(change_ids):
                sufficient_sets.append(change_ids)
                yield change_ids

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
    def sufficient_alone(self) -> Ids:
        return frozenset(atom for atom in self.acting if self.is_sufficient({atom}))

    def may_be(self, flavour: str) -> bool:
        """Return whether the single changes allow this flavour. Most draws are rejected here without a full run."""
        if flavour in {"no cause", "cancelling"}:
            return self.base == self.full and bool(self.effective_alone) == (flavour == "cancelling")
        if self.base == self.full:
            return False
        alone = len(self.sufficient_alone)
        return {"and": alone == 0, "or": alone != 1}.get(flavour, alone == 1)

    @cached_property
    def flavour(self) -> str:
        """Return the structure, refined by what makes the case hard."""
        first_sets = tuple(islice(self.find_sets(), 2))
        if not first_sets:
            return "cancelling" if self.effective_alone else "no cause"
        if len(first_sets) > 1:
            return "or"
        [members] = first_sets
        if len(members) > 1:
            return "and"
        return "pre-empted" if self.effective_alone - members else "single"

    def shapley(self) -> dict[str, float]:
        """Return the exact Shapley shares of the outcome."""
        count = len(self.acting)
        weights = [factorial(size) * factorial(count - size - 1) / factorial(count) for size in range(count)]
        shares = dict.fromkeys(self.acting, 0.0)
        worth = {change_ids: self.is_sufficient(change_ids) for change_ids in subsets(tuple(self.acting))}
        for change_ids, value in worth.items():
            for atom in self.acting:
                if atom not in change_ids and (gain := worth[change_ids | {atom}] - value):
                    shares[atom] += weights[len(change_ids)] * gain
        return shares


def subsets(names: Sequence[str]) -> Iterable[Ids]:
    return (frozenset(members) for size in range(len(names) + 1) for members in combinations(names, size))


def find(pipeline: Pipeline, injections: Sequence[Injection]) -> Truth:
    acting = {
        injection.id: injection for injection in injections if any(_acts(pipeline, *hunk) for hunk in injection.hunks)
    }
    return Truth(pipeline=pipeline, acting=acting)


def _acts(pipeline: Pipeline, path: str, value: JSONValue) -> bool:
    """Return whether a hunk can matter: rewording keeps the rule, and the model ignores its temperature."""
    before = pipeline.settings.get(path, "")
    if path.startswith("prompt."):
        return bool(rule(str(before)) != rule(str(value)))
    return not path.endswith(".temperature") and value != "m3"
