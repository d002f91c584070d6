"""Kurral's replay type: what a determinism score and the critical changes make of a replay."""

from collections.abc import Iterable
from typing import Final, Literal

from diffing.content.determinism import ModelConfig, factors, score
from replay.core.plan import Determinism
from traces.core.canonical import digest

DEFAULT_THRESHOLD: Final = 0.8
# A change of one of these is a B replay whatever the score.
_CRITICAL: Final = ("model", "provider", "tools", "prompt")
_SCORED: Final = ("temperature", "seed")


def assess(
    pairs: Iterable[tuple[ModelConfig, ModelConfig]],
    *,
    changed: Iterable[str] = (),
    threshold: float = DEFAULT_THRESHOLD,
) -> Determinism:
    """The least alike pair decides; `changed` names what else differs (`tools` and `prompt` are critical).

    Without any pair there is nothing to compare, and the score is unknown rather than 1.
    """
    compared = [(factors(recorded, current), recorded, current) for recorded, current in pairs]
    differing = dict.fromkeys(changed)
    for _, recorded, current in compared:
        differing.update(dict.fromkeys(_differences(recorded, current)))
    least = min((found for found, _, _ in compared), key=score, default=None)
    return Determinism(
        score=None if least is None else round(score(least), 6),
        factors=least or {},
        threshold=threshold,
        critical_changes=[name for name in _CRITICAL if name in differing],
        other_changes=[name for name in differing if name not in _CRITICAL],
    )


def replay_type(determinism: Determinism) -> Literal["A", "B"]:
    """B on a critical change or a score under the threshold, else A."""
    under = determinism.score is not None and determinism.score < determinism.threshold
    return "B" if determinism.critical_changes or under else "A"


def _differences(recorded: ModelConfig, current: ModelConfig) -> list[str]:
    found = []
    if recorded.model != current.model:
        found.append("model")
    if recorded.provider != current.provider:
        found.append("provider")
    names = dict.fromkeys([*_SCORED, *recorded.parameters, *current.parameters])
    for name in names:
        if digest(recorded.parameters.get(name)) != digest(current.parameters.get(name)):
            found.append(name)
    return found
