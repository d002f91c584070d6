"""The condition of a filter of the runs list."""

from typing import Any, Final

from django.db.models import CharField, Exists, OuterRef, Q, QuerySet
from django.db.models.lookups import In

from traces.core.vocabulary import Outcome
from traces.models import Judgement, RunTag
from traces.run_lists.run_filter import RunFilter
from traces.run_lists.sort_orders import UnindexedColumn

# Of so many runs with a tag or a judgement, each is looked up; if there are more, some of the newest runs have one.
_MAX_LOOKUPS: Final = 5_000


def condition_of(run_filter: RunFilter) -> Q:
    """Return the condition of a listing to match a filter, except its words."""
    condition = run_filter.condition
    for outcome in Outcome:
        if outcome not in run_filter.outcomes:
            # Without the others: SQLite would use an index of outcomes, and sort what it finds.
            condition &= ~Q(outcome=outcome)
    if run_filter.tags:
        tags = Q(tag__in=run_filter.tags)
        condition &= _has(RunTag.objects.all(), tags, tags)
    if run_filter.judgement or run_filter.judgement_names:
        judgements = Judgement.objects.filter(run_filter.judgement, withdrawn_at__isnull=True)
        names = run_filter.judgement_names
        # Of one run, SQLite must not look up all judgements of a name.
        is_named = Q(In(UnindexedColumn("name", output_field=CharField()), names))
        condition &= _has(judgements, Q(name__in=names), is_named) if names else _has(judgements, Q(), Q())
    return condition


def _has(rows: QuerySet[Any], condition: Q, condition_in_run: Q) -> Q:
    """Return the condition that a run has one of these rows, in the form that suits their number."""
    matches = rows.filter(condition)
    if matches.values("run")[: _MAX_LOOKUPS + 1].count() > _MAX_LOOKUPS:
        return Q(Exists(rows.filter(condition_in_run, run=OuterRef("run"))))
    return Q(run__in=matches.values("run"))
