"""Read the outcome rules of apps, and the judgements that their runs have."""

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Final
from uuid import UUID

from django.db.models import Count, Max, Min

from traces.core.vocabulary import JudgementKind, JudgementSource
from traces.ingest.judgement_rows import STATEMENT_COLUMNS, JudgementRow
from traces.ingest.outcome_rules import (
    DEFAULT_CRITERIA,
    DEFAULT_DECIDERS,
    Decider,
    OutcomeCriteria,
    Threshold,
    Verdict,
)
from traces.judgements.schemas import AgreementView, JudgementName
from traces.models import Judgement, OutcomeRule
from traces.statistics.agreement import Agreement, Judge, agreements

_MAX_NAMES: Final = 200
# Runs on which judges are compared with people.
_MAX_JUDGED_RUNS: Final = 2_000


def criteria_of(apps: Collection[str]) -> dict[str, OutcomeCriteria]:
    """Return the outcome rules of the apps that have one."""
    # The last of an app is its newest. Most servers have none, and every batch of runs asks.
    newest = dict(OutcomeRule.objects.filter(app__in=apps).order_by("id").values_list("app", "id"))
    rules = OutcomeRule.objects.filter(id__in=newest.values()) if newest else ()
    return {rule.app: criteria_in(rule) for rule in rules}


def criteria_in(rule: OutcomeRule) -> OutcomeCriteria:
    return OutcomeCriteria(
        thresholds={name: Threshold(**threshold) for name, threshold in rule.thresholds.items()},
        tags=rule.tags,
        deciders=tuple(Decider(**decider) for decider in rule.deciders) or DEFAULT_DECIDERS,
    )


def criteria_at(app: str, at: datetime) -> OutcomeCriteria:
    """Return the outcome rule that an app had at a time."""
    rule = OutcomeRule.objects.filter(app=app, at__lte=at).order_by("-id").first()
    return DEFAULT_CRITERIA if rule is None else criteria_in(rule)


def verdicts_of(run_ids: Sequence[UUID]) -> dict[UUID, list[Verdict]]:
    """Return the verdicts that decide about runs: judgements of the whole run, and those of its validators."""
    columns = ("run_id", "created_at", *STATEMENT_COLUMNS)
    verdicts: dict[UUID, list[Verdict]] = defaultdict(list)
    rows = Judgement.objects.filter(run_id__in=run_ids, withdrawn_at__isnull=True).order_by("created_at", "id")
    for run_id, created_at, *values in rows.values_list(*columns):
        if verdict := verdict_of(JudgementRow(**dict(zip(STATEMENT_COLUMNS, values, strict=True))), created_at):
            verdicts[run_id].append(verdict)
    return verdicts


def verdict_of(row: JudgementRow, created_at: datetime) -> Verdict | None:
    """Return a judgement as the outcome rule reads it; None if it concerns only a step."""
    if row.step_no is not None and row.source != JudgementSource.VALIDATOR:
        return None
    return Verdict(
        name=row.name,
        kind=JudgementKind(row.kind),
        source=JudgementSource(row.source),
        value=row.value,
        text=row.text,
        by=row.by,
        at=row.at or created_at,
        step_no=row.step_no,
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
    agreement_by_judge = _agreements(app) if app else {}
    entries = (
        entry.model_copy(update={"agreement": AgreementView(**asdict(agreement))})
        if (agreement := agreement_by_judge.get((entry.source, entry.name)))
        else entry
        for entry in names.values()
    )
    return sorted(entries, key=lambda entry: -entry.count)[:_MAX_NAMES]


def _agreements(app: str) -> dict[Judge, Agreement]:
    """Measure how the judgements of an app agree with people's, on the runs that people judged last."""
    people = Judgement.objects.filter(source=JudgementSource.PERSON, withdrawn_at__isnull=True, step_no__isnull=True)
    run_ids = list(people.filter(run__app=app).order_by("-id").values_list("run_id", flat=True)[:_MAX_JUDGED_RUNS])
    return agreements(verdicts_of(run_ids).values(), criteria_of([app]).get(app, DEFAULT_CRITERIA))
