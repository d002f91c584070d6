"""Cases with known causes: changes drawn from a pipeline's menu until their truth has the wanted shape."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Final, Literal

from tests.bench.attribution import truth
from tests.bench.attribution.mechanisms.pipelines import PIPELINES, Category, Choice, Pipeline
from tests.bench.attribution.truth import Injection, Truth

Split = Literal["balanced", "prior-friendly", "adversarial"]
SIZES: Final = (1, 2, 3, 5, 8, 12)
_FLAVOURS: Final = {
    "alone": ("single", "single", "single", "no cause"),
    "several": ("single", "and", "or", "pre-empted", "single", "cancelling", "and", "no cause"),
    "adversarial": ("single", "and", "single", "pre-empted", "single", "or"),
}
_CATEGORIES: Final[tuple[Category, ...]] = ("prompt", "retrieval", "tool", "model", "upstream")
_TRIES: Final = 60
_ROUNDS: Final = 12


@dataclass(frozen=True, kw_only=True)
class BenchCase:
    """A pipeline, what was changed in it, and what that really did."""

    number: int
    split: Split
    pipeline: Pipeline
    injections: tuple[Injection, ...]
    truth: Truth

    @property
    def by_id(self) -> dict[str, Injection]:
        return {injection.id: injection for injection in self.injections}

    def cause_category(self) -> Category | None:
        """Of the first smallest set's first member."""
        return self.by_id[min(self.truth.sets[0])].category if self.truth.sets else None


def one(split: Split, number: int, seed: int, accept: Callable[[BenchCase], bool]) -> BenchCase:
    """Case `number` of a split; sizes and shapes take turns, and each is the same whatever other cases are made."""
    rng = random.Random(f"{seed} {split} {number}")
    sizes = SIZES[2:] if split == "adversarial" else SIZES  # a pair of causes leaves no room for a decoy
    size = sizes[number % len(sizes)]
    shapes = _FLAVOURS[split if split == "adversarial" else "alone" if size == 1 else "several"]
    wanted = shapes[(number // len(sizes)) % len(shapes)]
    category = _wanted_category(split, rng)
    for round in count():
        for _ in range(_TRIES):
            case = _drawn(split, number, size, category, rng)
            if _is(case, wanted, category) and accept(case):
                return case
        category = rng.choice(_CATEGORIES)  # this kind of change seldom has that shape
        wanted = wanted if round < _ROUNDS else "single"  # so few changes hardly ever do
    raise AssertionError("counting never ends")


def _is(case: BenchCase, wanted: str, category: Category) -> bool:
    truth = case.truth
    return truth.may_be(wanted) and truth.flavour == wanted and case.cause_category() in {category, None}


def _wanted_category(split: Split, rng: random.Random) -> Category:
    """The prior is right about 60 % of the causes of the prior-friendly split."""
    if split == "prior-friendly":
        return "prompt" if rng.random() < 0.6 else rng.choice(_CATEGORIES[1:])
    return rng.choice(_CATEGORIES)


def _drawn(split: Split, number: int, size: int, category: Category, rng: random.Random) -> BenchCase:
    able = [each for each in PIPELINES if any(c.category == category and not c.idle for c in each.menu)]
    pipeline = rng.choice(able)
    injections = _injections(pipeline, size, category, rng)
    return BenchCase(
        number=number, split=split, pipeline=pipeline, injections=injections, truth=truth.find(pipeline, injections)
    )


def _injections(pipeline: Pipeline, size: int, category: Category, rng: random.Random) -> tuple[Injection, ...]:
    """One change of the wanted category, and more: of those half are idle. Their ids say nothing about them."""
    acting = [choice for choice in pipeline.menu if not choice.idle]
    chosen = [rng.choice([choice for choice in acting if choice.category == category])]
    while len(chosen) < size:
        idle = rng.random() < 0.5
        fresh = [each for each in pipeline.menu if each.idle == idle and each not in chosen]
        fresh = fresh or [each for each in pipeline.menu if each not in chosen]
        chosen.append(rng.choice(fresh))
    rng.shuffle(chosen)
    taken = {choice.path for choice in chosen}
    return tuple(_injection(f"a{at}", choice, pipeline, taken, rng) for at, choice in enumerate(chosen))


def _injection(id: str, choice: Choice, pipeline: Pipeline, taken: set[str], rng: random.Random) -> Injection:
    """The change, sometimes with idle hunks at its side: the sentence beside it, the field beside it."""
    main = (choice.path, rng.choice(choice.values))
    hunks = [main]
    beside = [
        each
        for each in pipeline.menu
        if each.idle and each.path not in taken and _beside(each.path) == _beside(choice.path)
    ]
    for other in rng.sample(beside, min(len(beside), rng.choice((0, 0, 1, 2)))):
        taken.add(other.path)
        hunks.append((other.path, rng.choice(other.values)))
    rng.shuffle(hunks)
    return Injection(id=id, category=choice.category, hunks=tuple(hunks), main=hunks.index(main))


def _beside(path: str) -> Sequence[str]:
    """Hunks of one node's prompt, of one row, of one document stand beside each other."""
    return path.split(".")[:-1]
