"""Agreement of automatic judgements with people's, as Cohen's kappa. Pure.

A judge that passes 9 of 10 runs agrees with a person who does the same in most runs, even if both choose at random.
Kappa is the agreement beyond that: 1 if they always agree, 0 if they agree as often as by chance.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from traces.core.vocabulary import JudgementSource
from traces.ingest.outcome_rules import OutcomeCriteria, Verdict, decisive_verdicts
from traces.statistics.rate_intervals import wilson

# Source and name of judgements.
Judge = tuple[JudgementSource, str]


@dataclass(frozen=True, kw_only=True, slots=True)
class Agreement:
    """Agreement on runs that both a judge and a person passed or failed; `low` and `high` are the bounds of kappa.

    Without a kappa, chance alone explains full agreement: both gave the same verdict on every run.
    """

    runs: int
    equal_verdicts: int
    kappa: float | None = None
    low: float | None = None
    high: float | None = None


def agreements(runs: Iterable[Iterable[Verdict]], criteria: OutcomeCriteria) -> dict[Judge, Agreement]:
    """Compare each judge of an app's runs with the newest verdict of a person on the same run."""
    pairs: dict[Judge, list[tuple[bool, bool]]] = defaultdict(list)
    for verdicts in runs:
        decisions = decisive_verdicts(verdicts, criteria)
        people = [passes for verdict, passes in decisions if verdict.source is JudgementSource.PERSON]
        # Several validators or models with one name: any fail fails the run.
        judges: dict[Judge, bool] = {}
        for verdict, passes in decisions:
            judge = verdict.source, verdict.name
            judges[judge] = judges.get(judge, True) and passes
        for judge, passes in judges.items():
            if people and judge[0] is not JudgementSource.PERSON:
                pairs[judge].append((passes, people[-1]))
    return {judge: agreement(judge_pairs) for judge, judge_pairs in pairs.items()}


def agreement(pairs: list[tuple[bool, bool]]) -> Agreement:
    """Cohen's kappa of pairs of verdicts, with the bounds that the 95 % interval (Wilson) of their agreement gives."""
    count, hits = len(pairs), sum(left == right for left, right in pairs)
    rates = [sum(side) / count for side in zip(*pairs, strict=True)]
    chance = rates[0] * rates[1] + (1 - rates[0]) * (1 - rates[1])
    if chance == 1:
        return Agreement(runs=count, equal_verdicts=hits)
    # The interval of few runs reaches below -1, which kappa cannot be.
    kappa, low, high = (
        round(max((rate - chance) / (1 - chance), -1.0), 4) for rate in (hits / count, *wilson(hits, count))
    )
    return Agreement(runs=count, equal_verdicts=hits, kappa=kappa, low=low, high=high)
