"""Recordings of spans that complete a stored run: the next revision is the union of both.

Spans of one trace may arrive in separate files, or over the network after a file. Neither part contains the other.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final
from uuid import UUID

from traces.core.json_access import as_object
from traces.core.recorded_run import RecordedJudgement, RecordedRun, RecordedStep
from traces.core.step_header import header_of
from traces.core.vocabulary import EdgeKind, JudgementKind, JudgementSource, Label, Reason, RunSource, RunStatus
from traces.importers.registry import IMPORTERS
from traces.importers.unions import unite
from traces.ingest.continuation import are_complements
from traces.ingest.step_rows import StepRow
from traces.models import Edge, Judgement, Run, Step
from traces.payloads.missing_parts import Readable
from traces.runs.revisions import states_of, stored_states
from traces.storage import artifacts

_FORMATS: Final = frozenset(importer.name for importer in IMPORTERS if importer.has_span_ids)
_REFS: Final = ("input_ref", "output_ref", "attributes_ref")


@dataclass(frozen=True, kw_only=True, slots=True)
class Union:
    """The run of two parts, and the stored part that it continues."""

    recording: RecordedRun
    supersedes: UUID
    # Of the stored part: nothing more is expected of it.
    has_ended: bool


def find(recording: RecordedRun, rows: Sequence[StepRow], candidates: Iterable[UUID]) -> Union | None:
    """Return the union of a recording with the first stored run that it completes; `rows` are those of its steps.

    None if it contradicts them all, if it contains them, or if their format has no ids by which parts fit together.
    """
    if not recording.steps or recording.format not in _FORMATS:
        return None
    states = states_of(rows)
    for run_id in candidates:
        if are_complements(stored_states(run_id), states) and (union := _union(recording, run_id)) is not None:
            return union
    return None


def _union(recording: RecordedRun, run_id: UUID) -> Union | None:
    run = Run.objects.get(id=run_id)
    if run.sealed_at is None or run.format != recording.format or (base := _recording_of(run)) is None:
        return None
    whole = unite(base, recording)
    has_ended = base.status is not RunStatus.PARTIAL
    return None if whole is None else Union(recording=whole, supersedes=run_id, has_ended=has_ended)


def _recording_of(run: Run) -> RecordedRun | None:
    """Read a stored run as it was recorded; None if any payload is lost."""
    steps = list(Step.objects.filter(run=run).order_by("sequence_no"))
    payloads = artifacts.readable(getattr(step, name) for step in steps for name in _REFS)
    if payloads.lost_digests:
        return None
    keys = {step.sequence_no: step.external_id for step in steps}
    links: defaultdict[int, list[str]] = defaultdict(list)
    for consumer, producer in Edge.objects.filter(run=run, kind=EdgeKind.LINK).values_list(
        "consumer_no", "producer_no"
    ):
        links[consumer].append(keys[producer])
    return RecordedRun(
        external_id=run.external_id,
        name=run.name,
        app=run.app,
        format=run.format,
        steps=tuple(_step(step, keys, tuple(links[step.sequence_no]), payloads) for step in steps),
        environment=run.environment,
        source=RunSource(run.source),
        status=RunStatus(run.status),
        started_at=run.started_at,
        ended_at=run.ended_at,
        tags=tuple(run.tags),
        metadata=run.metadata,
        judgements=_judgements(run, keys),
    )


def _step(step: Step, keys: dict[int, str], links: tuple[str, ...], payloads: Readable) -> RecordedStep:
    values = payloads.values
    duration = None if step.duration_ms is None else timedelta(milliseconds=step.duration_ms)
    return RecordedStep(
        **header_of(step),
        key=step.external_id,
        parent=None if step.parent_no is None else keys[step.parent_no],
        started_at=step.started_at,
        ended_at=None if step.started_at is None or duration is None else step.started_at + duration,
        input=values.get(step.input_ref),
        output=values.get(step.output_ref),
        null_output=bool(step.output_ref) and values[step.output_ref] is None,
        error=step.error,
        cost_usd=step.cost_usd,
        retries=step.retries,
        links=links,
        attributes=as_object(values.get(step.attributes_ref)),
        label=Label(step.label),
        reason=Reason(step.reason) if step.reason else None,
    )


def _judgements(run: Run, keys: dict[int, str]) -> tuple[RecordedJudgement, ...]:
    """Return the judgements that were recorded: people judge a revision, and validators are read again."""
    rows = Judgement.objects.filter(run=run, source=JudgementSource.IMPORT, withdrawn_at__isnull=True)
    return tuple(
        RecordedJudgement(
            name=row.name,
            kind=JudgementKind(row.kind),
            value=row.value,
            text=row.text,
            by=row.by,
            at=row.at,
            detail=row.detail or {},
            step=None if row.step_no is None else keys[row.step_no],
        )
        for row in rows.order_by("created_at", "id")
    )
