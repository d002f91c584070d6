"""Cases with known causes: changes drawn from a pipeline's menu until their truth has the required shape."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Final, Literal

from tests.bench.attribution import truth
from tests.bench.attribution.mechanisms.agent_teams import CREW, GUARDED_OFFER, MAP_REDUCE
from tests.bench.attribution.mechanisms.pipelines import Category, Choice, Pipeline
from tests.bench.attribution.mechanisms.single_agents import DESK, RAG, RETRY
from tests.bench.attribution.truth import Injection, Truth

Split = Literal["balanced", "prior-friendly", "adversarial"]
# Cases are drawn by index, so the order is part of the seed.
PIPELINES: Final = (RAG, DESK, CREW, MAP_REDUCE, RETRY, GUARDED_OFFER)
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
    """A pipeline, the changes made to it, and their true effects."""

    number: int
    split: Split
    pipeline: Pipeline
    injections: tuple[Injection, ...]
    truth: Truth

    @property
    def by_id(self) -> dict[str, Injection]:
        return {injection.id: injection for injection in self.injections}

    def cause_category(self) -> Category | None:
        """Return the category of the first member of the first minimal set."""
        first = next(self.truth.find_sets(), None)
        return self.by_id[min(first)].category if first else None


def draw_case(split: Split, number: int, seed: int, accept: Callable[[BenchCase], bool]) -> BenchCase:
    """Draw case `number` of a split. Sizes and shapes alternate; a case does not depend on other cases."""
    rng = random.Random(f"{seed} {split} {number}")
    # Two causes leave no room for a decoy.
    sizes = SIZES[2:] if split == "adversarial" else SIZES
    size = sizes[number % len(sizes)]
    shapes = _FLAVOURS[split if split == "adversarial" else "alone" if size == 1 else "several"]
    flavour = shapes[(number // len(sizes)) % len(shapes)]
    category = _wanted_category(split, rng)
    for round in count():
        for _ in range(_TRIES):
            case = _draw(split, number, size, category, rng)
            if _is(case, flavour, category) and accept(case):
                return case
        # Changes of this category rarely have that shape.
        category = rng.choice(_CATEGORIES)
        # So few changes hardly ever have that shape.
        flavour = flavour if round < _ROUNDS else "single"
    raise AssertionError("counting never ends")


def _is(case: BenchCase, flavour: str, category: Category) -> bool:
    """Return whether a case has this shape. What takes the fewest runs is looked at first."""
    truth = case.truth
    return truth.may_be(flavour) and case.cause_category() in {category, None} and truth.flavour == flavour


def _wanted_category(split: Split, rng: random.Random) -> Category:
    """Draw a category. In the prior-friendly split, 60 % of the causes have the prior's first category."""
    if split == "prior-friendly":
        return "prompt" if rng.random() < 0.6 else rng.choice(_CATEGORIES[1:])
    return rng.choice(_CATEGORIES)


def _draw(split: Split, number: int, size: int, category: Category, rng: random.Random) -> BenchCase:
    pipelines = [
        pipeline for pipeline in PIPELINES if any(c.category == category and not c.idle for c in pipeline.menu)
    ]
    pipeline = rng.choice(pipelines)
    injections = _injections(pipeline, size, category, rng)
    return BenchCase(
        number=number, split=split, pipeline=pipeline, injections=injections, truth=truth.find(pipeline, injections)
    )


def _injections(pipeline: Pipeline, size: int, category: Category, rng: random.Random) -> tuple[Injection, ...]:
    """Draw one change of this category and further ones, half of them idle. Their ids reveal nothing."""
    acting = [choice for choice in pipeline.menu if not choice.idle]
    choices = [rng.choice([choice for choice in acting if choice.category == category])]
    while len(choices) < size:
        idle = rng.random() < 0.5
        candidates = [choice for choice in pipeline.menu if choice.idle == idle and choice not in choices]
        candidates = candidates or [choice for choice in pipeline.menu if choice not in choices]
        choices.append(rng.choice(candidates))
    rng.shuffle(choices)
    used_paths = {choice.path for choice in choices}
    return tuple(_injection(f"a{number}", choice, pipeline, used_paths, rng) for number, choice in enumerate(choices))


def _injection(id: str, choice: Choice, pipeline: Pipeline, used_paths: set[str], rng: random.Random) -> Injection:
    """Build a change, sometimes with idle hunks next to it (a neighbouring sentence or field)."""
    main = (choice.path, rng.choice(choice.values))
    hunks = [main]
    siblings = [
        sibling
        for sibling in pipeline.menu
        if sibling.idle and sibling.path not in used_paths and _siblings_key(sibling.path) == _siblings_key(choice.path)
    ]
    for sibling in rng.sample(siblings, min(len(siblings), rng.choice((0, 0, 1, 2)))):
        used_paths.add(sibling.path)
        hunks.append((sibling.path, rng.choice(sibling.values)))
    rng.shuffle(hunks)
    return Injection(id=id, category=choice.category, hunks=tuple(hunks), main=hunks.index(main))


def _siblings_key(path: str) -> Sequence[str]:
    """Return the key shared by hunks of the same prompt, row or document."""
    return path.split(".")[:-1]
