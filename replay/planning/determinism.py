"""Kurral's replay type, A or B, from a determinism score and critical changes. Pure."""

from collections.abc import Iterable
from typing import Final, Literal

from diffing.content.determinism import ModelConfig, factors, score
from replay.core.plan import Determinism
from traces.core.canonical import digest

DEFAULT_THRESHOLD: Final = 0.8
# A change of one of these makes a B replay, whatever the score.
_CRITICAL: Final = ("model", "provider", "tools", "prompt")
_SCORED_PARAMETERS: Final = ("temperature", "seed")


def assess(
    pairs: Iterable[tuple[ModelConfig, ModelConfig]],
    *,
    changed: Iterable[str] = (),
    threshold: float = DEFAULT_THRESHOLD,
) -> Determinism:
    """Score the pair with the lowest similarity; `changed` names other differences (`tools` and `prompt` are critical).

    Without pairs there is nothing to compare, and the score is unknown rather than 1.
    """
    scored_pairs = [(factors(base, current), base, current) for base, current in pairs]
    differing = dict.fromkeys(changed)
    for _, base, current in scored_pairs:
        differing.update(dict.fromkeys(_differences(base, current)))
    lowest = min((pair_factors for pair_factors, _, _ in scored_pairs), key=score, default=None)
    return Determinism(
        score=None if lowest is None else round(score(lowest), 6),
        factors=lowest or {},
        threshold=threshold,
        critical_changes=[name for name in _CRITICAL if name in differing],
        other_changes=[name for name in differing if name not in _CRITICAL],
    )


def replay_type(determinism: Determinism) -> Literal["A", "B"]:
    """B for a critical change or a score below the threshold, else A."""
    is_low = determinism.score is not None and determinism.score < determinism.threshold
    return "B" if determinism.critical_changes or is_low else "A"


def _differences(base: ModelConfig, current: ModelConfig) -> list[str]:
    names = []
    if base.model != current.model:
        names.append("model")
    if base.provider != current.provider:
        names.append("provider")
    parameters = dict.fromkeys([*_SCORED_PARAMETERS, *base.parameters, *current.parameters])
    for name in parameters:
        if digest(base.parameters.get(name)) != digest(current.parameters.get(name)):
            names.append(name)
    return names
