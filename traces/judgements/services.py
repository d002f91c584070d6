"""Judgements of stored runs: add, withdraw, copy to derived runs, and update each run's outcome.

The outcome is stored in the same transaction as a judgement, under the run's lock.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from operator import attrgetter
from typing import Final
from uuid import UUID

import structlog
from django.db import transaction
from django.db.models import Q

from traces import notify
from traces.core.ids import new_id
from traces.core.vocabulary import (
    JudgementKind,
    JudgementSource,
    Label,
    Outcome,
    Reason,
    RunStatus,
    StepStatus,
    StepType,
)
from traces.errors import NotSealed, NotYours
from traces.ingest.judgement_rows import STATEMENT_COLUMNS, JudgementRow, validator_row
from traces.ingest.outcome_rules import (
    DEFAULT_CRITERIA,
    Conclusion,
    OutcomeCriteria,
    Verdict,
    conclude,
    validator_kind,
)
from traces.judgements.queries import criteria_of, verdict_of, verdicts_of
from traces.models import Judgement, Run, RunOutcome, RunTag, Step
from traces.payloads.replay_labels import origin_reason
from traces.storage import artifacts, bulk

logger = structlog.get_logger("traces")
_statement_values: Final = attrgetter(*STATEMENT_COLUMNS)
_COLUMNS: Final = ("id", "run", "key", "created_at", *STATEMENT_COLUMNS)
_STORED_COLUMNS: Final = ("run_id", "outcome", "basis", "reason")
_OUTCOME: Final = ("run", "outcome", "basis", "reason")


@dataclass(frozen=True, kw_only=True, slots=True)
class NewRunJudgements:
    """A run that is being recorded, with its judgements."""

    run_id: UUID
    app: str
    status: RunStatus
    tags: Sequence[str]
    judgements: Sequence[JudgementRow]


def begin(run_ids: Iterable[UUID]) -> None:
    """Give new runs the outcome *unknown* until their judgements are stored."""
    bulk.insert(RunOutcome, _OUTCOME, ((run_id, Outcome.UNKNOWN, "", "") for run_id in run_ids))


def insert_judgements(runs: Sequence[NewRunJudgements]) -> None:
    """Store the judgements and outcomes of runs that are not committed yet; call it inside a transaction."""
    now = datetime.now(UTC)
    _insert({(run.run_id, row.key): row for run in runs for row in run.judgements}, now)
    rules = criteria_of({run.app for run in runs})
    outcomes = (_outcome_values(run, rules.get(run.app, DEFAULT_CRITERIA), now) for run in runs)
    bulk.insert(RunOutcome, _OUTCOME, outcomes)


def _outcome_values(run: NewRunJudgements, criteria: OutcomeCriteria, now: datetime) -> tuple[object, ...]:
    verdicts = [verdict for row in run.judgements if (verdict := verdict_of(row, now))]
    conclusion = _conclusion(run.status, verdicts, run.tags, criteria)
    basis = conclusion.basis or ""
    return run.run_id, conclusion.outcome, basis, conclusion.reason


def add(judgements: Mapping[UUID, Sequence[JudgementRow]], *, new_runs: Collection[UUID] = ()) -> None:
    """Store judgements by run, without those stored already; call it inside a transaction.

    Update the outcomes of the runs that got one, and of `new_runs`.
    """
    affected_runs = sorted({*new_runs, *(run_id for run_id, rows in judgements.items() if rows)})
    for run_ids in bulk.chunks(affected_runs):
        lock(run_ids)
        existing = set(Judgement.objects.filter(run_id__in=run_ids).values_list("run_id", "key"))
        added = {
            (run_id, row.key): row
            for run_id in run_ids
            for row in judgements.get(run_id, ())
            if (run_id, row.key) not in existing
        }
        _insert(added, datetime.now(UTC))
        changed = {*({run_id for run_id, _ in added}), *(set(run_ids) & set(new_runs))}
        refresh(sorted(changed))


def retract(run_id: UUID, rows: Sequence[JudgementRow]) -> None:
    """Withdraw judgements that their source corrected or deleted; call it inside a transaction."""
    lock([run_id])
    rows_to_withdraw = Judgement.objects.filter(
        run_id=run_id, key__in=[row.key for row in rows], withdrawn_at__isnull=True
    )
    if rows_to_withdraw.update(withdrawn_at=datetime.now(UTC)):
        refresh([run_id])


def judge(run: Run, row: JudgementRow) -> Judgement:
    """Store a person's judgement. It replaces their previous judgement with the same name, except for notes.

    Raise `NotSealed`.
    """
    if run.sealed_at is None:
        raise NotSealed(f"run {run.id} is still being written: it can be judged once it has ended")
    own = Judgement.objects.filter(
        run=run, source=JudgementSource.PERSON, by=row.by, name=row.name, step_no=row.step_no, withdrawn_at__isnull=True
    )
    with transaction.atomic():
        lock([run.id])
        if row.kind is not JudgementKind.NOTE:
            own.exclude(kind=JudgementKind.NOTE).update(withdrawn_at=datetime.now(UTC))
        add({run.id: [row]})
        notify_views([run.id])
        judgement = Judgement.objects.get(run=run, key=row.key)
    logger.info("judged", run=str(run.id), step=row.step_no, name=row.name, kind=str(row.kind), by=row.by)
    return judgement


def withdraw(judgement: Judgement, *, by: str) -> None:
    """Withdraw one's own judgement: it stays stored, but is neither counted nor shown. Raise `NotYours`."""
    if judgement.source != JudgementSource.PERSON or judgement.by != by:
        author = judgement.by if judgement.source == JudgementSource.PERSON else f"the {judgement.source}"
        raise NotYours(f"this judgement was made by {author or 'another user'}: only its author can withdraw it")
    with transaction.atomic():
        lock([judgement.run_id])
        now = datetime.now(UTC)
        if Judgement.objects.filter(id=judgement.id, withdrawn_at__isnull=True).update(withdrawn_at=now):
            refresh([judgement.run_id])
            notify_views([judgement.run_id])
    logger.info("judgement_withdrawn", run=str(judgement.run_id), name=judgement.name, by=by)


def source_judgements(run: Run) -> list[JudgementRow]:
    """Return the judgements of the source's steps that apply to exact copies of them in a derived run.

    Judgements of the source itself concern its result and are not copied; validators are read again.
    """
    if run.source_run_id is None:
        return []
    judgements = Judgement.objects.filter(run_id=run.source_run_id, step_no__isnull=False, withdrawn_at__isnull=True)
    judgements = judgements.exclude(source=JudgementSource.VALIDATOR).order_by("created_at", "id")
    rows = list(judgements.values_list(*STATEMENT_COLUMNS))
    if not rows:
        return []
    step_numbers = {row[STATEMENT_COLUMNS.index("step_no")] for row in rows}
    source_steps = Step.objects.filter(run_id=run.source_run_id, sequence_no__in=step_numbers)
    originals = dict(source_steps.values_list("id", "sequence_no"))
    is_copy = Q(label=Label.EXACT) | Q(reason=Reason.SOURCE_OUTPUT_REUSED)
    copies = Step.objects.filter(is_copy, run_id=run.id, source_step__in=list(originals))
    numbers = {
        originals[source]: number
        for source, number in copies.values_list("source_step", "sequence_no")
        if source is not None
    }
    step_judgements = [JudgementRow(**dict(zip(STATEMENT_COLUMNS, row, strict=True))) for row in rows]
    return [replace(row, step_no=numbers[row.step_no]) for row in step_judgements if row.step_no in numbers]


def validator_judgements(run_id: UUID, *, before: int | None = None) -> list[JudgementRow]:
    """Return the verdicts of a run's validators, or of those before a step."""
    steps = Step.objects.filter(run_id=run_id, type=StepType.VALIDATOR).order_by("sequence_no")
    validators = list(steps if before is None else steps.filter(sequence_no__lt=before))
    outputs = artifacts.available(step.output_ref for step in validators if step.output_ref) if validators else {}
    rows = []
    for step in validators:
        reason = Reason(origin_reason(step.reason, step.detail)) if step.reason else None
        kind = validator_kind(StepStatus(step.status), Label(step.label), outputs.get(step.output_ref), reason)
        if kind is not None:
            rows.append(validator_row(step, kind))
    return rows


def refresh(run_ids: Sequence[UUID]) -> None:
    """Compute the outcomes of locked runs, and store those that changed."""
    runs = list(Run.objects.filter(id__in=run_ids).values_list("id", "app", "status"))
    rules = criteria_of({app for _, app, _ in runs})
    verdicts, tags = verdicts_of(run_ids), _tags(run_ids, rules.values())
    outcomes = [
        _outcome_row(
            run_id,
            _conclusion(RunStatus(status), verdicts[run_id], tags[run_id], rules.get(app, DEFAULT_CRITERIA)),
        )
        for run_id, app, status in runs
    ]
    stored_outcomes = {
        row[0]: row[1:] for row in RunOutcome.objects.filter(run_id__in=run_ids).values_list(*_STORED_COLUMNS)
    }
    new_outcomes = [row for row in outcomes if stored_outcomes.get(row.run_id) != (row.outcome, row.basis, row.reason)]
    RunOutcome.objects.bulk_create(
        new_outcomes, update_conflicts=True, unique_fields=["run"], update_fields=["outcome", "basis", "reason"]
    )


def notify_views(run_ids: Iterable[UUID]) -> None:
    """Wake the views of runs whose judgements changed."""
    notify.touch("runs")
    for run_id in run_ids:
        notify.touch(f"run.{run_id}")


def _conclusion(
    status: RunStatus, verdicts: Sequence[Verdict], tags: Sequence[str], criteria: OutcomeCriteria
) -> Conclusion:
    return conclude(status, [*verdicts, *criteria.tag_verdicts(tags)], criteria)


def _tags(run_ids: Sequence[UUID], rules: Iterable[OutcomeCriteria]) -> Mapping[UUID, list[str]]:
    """Return the tags of runs that an outcome rule names. A fork does not have its source's tags."""
    tags: dict[UUID, list[str]] = defaultdict(list)
    rule_tags = {tag for criteria in rules for tag in criteria.tags}
    rows = RunTag.objects.filter(run_id__in=run_ids, tag__in=rule_tags) if rule_tags else ()
    for row in rows:
        tags[row.run_id].append(row.tag)
    return tags


def _outcome_row(run_id: UUID, conclusion: Conclusion) -> RunOutcome:
    return RunOutcome(
        run_id=run_id,
        outcome=conclusion.outcome,
        basis=conclusion.basis or "",
        reason=conclusion.reason,
    )


def _insert(added: Mapping[tuple[UUID, str], JudgementRow], now: datetime) -> None:
    rows = [(new_id(), run_id, key, now, *_statement_values(row)) for (run_id, key), row in added.items()]
    bulk.insert(Judgement, _COLUMNS, rows, ignore_conflicts=True)


def lock(run_ids: Sequence[UUID]) -> None:
    """Lock the runs in one order for all writers, so that no outcome misses a judgement."""
    list(Run.objects.select_for_update(no_key=True).filter(id__in=run_ids).order_by("id").values_list("id"))
