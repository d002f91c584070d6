"""Set the outcome rule of an app, and apply it to the app's stored runs.

A rule applies at once to every run that is written or judged after it. The other runs of the app follow in batches,
each in a transaction of its own, so that ingestion does not wait for them.
"""

from collections.abc import Iterator
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Final
from uuid import UUID

import structlog
from django.db import transaction

from traces import enqueue
from traces.audit import audit_log
from traces.core.json_types import JSONObject
from traces.core.vocabulary import AuditAction
from traces.ingest.judgement_rows import NAME_LENGTH
from traces.ingest.outcome_rules import DEFAULT_DECIDERS, OutcomeCriteria
from traces.judgements import services
from traces.models import Judgement, OutcomeRule, RunTag
from traces.storage import bulk

logger = structlog.get_logger("traces")
APPLY_RULE: Final = "replay.tasks.apply_outcome_rule"
# The runs of a larger app are updated by a worker.
_AT_ONCE: Final = 2_000


def set_rule(app: str, criteria: OutcomeCriteria, *, by: str) -> OutcomeRule:
    """Store the outcome rule of an app and update the outcomes of its runs, in a worker if they are many."""
    deciders: list[JSONObject] = []
    if tuple(criteria.deciders) != DEFAULT_DECIDERS:
        deciders = [dict(asdict(decider)) for decider in criteria.deciders]
    thresholds = {
        name: {side: value for side, value in asdict(threshold).items() if value is not None}
        for name, threshold in criteria.thresholds.items()
    }
    with transaction.atomic():
        rule = OutcomeRule.objects.create(
            app=app, thresholds=thresholds, tags=dict(criteria.tags), deciders=deciders, by=by[:NAME_LENGTH]
        )
        audit_log.append(AuditAction.OUTCOME_RULE_SET, app, by=by, rule=rule.pk)
    logger.info("outcome_rule_set", app=app, thresholds=thresholds, tags=rule.tags, deciders=deciders, by=by)
    if len(_affected_runs(app)) <= _AT_ONCE:
        apply(rule.pk)
    else:
        enqueue.send(APPLY_RULE, str(rule.pk))
    rule.refresh_from_db()
    return rule


def apply(rule_id: int) -> None:
    """Update the outcomes of the runs of a rule's app. Repeating it is harmless."""
    rule = OutcomeRule.objects.get(id=rule_id)
    for run_ids in bulk.chunks(_affected_runs(rule.app)):
        with transaction.atomic():
            services.lock(run_ids)
            services.refresh(run_ids)
    OutcomeRule.objects.filter(app=rule.app, id__lte=rule.pk, applied_at__isnull=True).update(
        applied_at=datetime.now(UTC)
    )
    services.notify_views([])


def requeue_unfinished() -> int:
    """Queue the rules that are not applied yet, and return how many."""
    rule_ids = list(OutcomeRule.objects.filter(applied_at__isnull=True).values_list("id", flat=True))
    for rule_id in rule_ids:
        enqueue.send(APPLY_RULE, str(rule_id))
    return len(rule_ids)


def _affected_runs(app: str) -> list[UUID]:
    """Return the runs of an app whose outcome may depend on its rule: those with a judgement or a tag of a rule."""
    judgements = Judgement.objects.filter(run__app=app, withdrawn_at__isnull=True)
    tags = RunTag.objects.filter(run__app=app, tag__in=set(_rule_tags(app)))
    run_ids = {*judgements.values_list("run_id", flat=True), *tags.values_list("run_id", flat=True)}
    return sorted(run_ids)


def _rule_tags(app: str) -> Iterator[str]:
    """Yield the tags of all rules that the app has had."""
    for tags in OutcomeRule.objects.filter(app=app).values_list("tags", flat=True):
        yield from tags
