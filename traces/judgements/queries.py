"""Read the outcome rules of apps, and the judgements that their runs have."""

from collections.abc import Collection
from typing import Final

from django.db.models import Count, Max, Min

from traces.core.vocabulary import JudgementKind, JudgementSource
from traces.ingest.outcome_rules import DEFAULT_DECIDERS, Decider, OutcomeCriteria, Threshold
from traces.judgements.schemas import JudgementName
from traces.models import Judgement, OutcomeRule

_MAX_NAMES: Final = 200


def criteria_of(apps: Collection[str]) -> dict[str, OutcomeCriteria]:
    """Return the outcome rules of the apps that have one."""
    newest = OutcomeRule.objects.filter(app__in=apps).values("app").annotate(newest=Max("id")).values("newest")
    return {rule.app: criteria_in(rule) for rule in OutcomeRule.objects.filter(id__in=newest)}


def criteria_in(rule: OutcomeRule) -> OutcomeCriteria:
    return OutcomeCriteria(
        thresholds={name: Threshold(**threshold) for name, threshold in rule.thresholds.items()},
        tags=rule.tags,
        deciders=tuple(Decider(**decider) for decider in rule.deciders) or DEFAULT_DECIDERS,
    )


def judgement_names(app: str) -> list[JudgementName]:
    """Return the names under which runs are judged, the most frequent first; `app`: of its runs only."""
    rows = Judgement.objects.filter(withdrawn_at__isnull=True).exclude(kind=JudgementKind.NOTE)
    if app:
        rows = rows.filter(run__app=app)
    groups = rows.values_list("name", "source", "kind").annotate(Count("id"), Min("value"), Max("value"))
    names: dict[tuple[str, str], JudgementName] = {}
    for name, source, kind, count, lowest, highest in groups.order_by("name", "source", "kind"):
        entry = names.setdefault(
            (name, source),
            JudgementName(name=name, source=JudgementSource(source), kinds=[], count=0, lowest=lowest, highest=highest),
        )
        bounds = {} if lowest is None else {"lowest": lowest, "highest": highest}
        kinds, total = [*entry.kinds, JudgementKind(kind)], entry.count + count
        names[name, source] = entry.model_copy(update={"kinds": kinds, "count": total, **bounds})
    return sorted(names.values(), key=lambda entry: -entry.count)[:_MAX_NAMES]
