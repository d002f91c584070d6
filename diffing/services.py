"""Create reports, and attach evidence and control lanes."""

from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Final
from uuid import UUID

from django.db import transaction

from diffing import compute, queries
from diffing.content import embeddings
from diffing.models import DiffReport, Evidence, Lane
from diffing.report.control_lane import lane
from diffing.report.evidence import question_key
from diffing.schemas.evidence import Findings
from diffing.schemas.report import DiffOptions, DiffStatus
from traces import enqueue, notify
from traces.audit import audit_log
from traces.core.canonical import digest
from traces.core.ids import new_id
from traces.core.vocabulary import AuditAction
from traces.errors import NotFound, NotSealed
from traces.models import Run
from traces.runs import deleted_runs
from traces.storage.compression import FAST, compress
from traces.transitions import move

_COMPUTE: Final = "diffing.tasks.compute"
# Far more than a report takes.
_GRACE: Final = timedelta(minutes=2)
# The version of a report's content. A new version makes a new report for the same question.
_VERSION: Final = 5


def diff(*, base_id: UUID, candidate_id: UUID, options: DiffOptions | None = None, by: str = "") -> DiffReport:
    """The report of two sealed runs, computed now if there is none; `by`: who asks for it."""
    row = _row(base_id, candidate_id, options or DiffOptions(), by)
    if row.status != DiffStatus.READY:
        compute.compute(row.id)
        row.refresh_from_db(fields=["status", "sentence", "ars", "confidence", "error"])
    return row


def request(*, base_id: UUID, candidate_id: UUID, options: DiffOptions, by: str = "") -> DiffReport:
    """Like `diff`, but leave a report that needs the embedding model to a worker and return at once."""
    if not uses_embeddings(options):
        return diff(base_id=base_id, candidate_id=candidate_id, options=options, by=by)
    row = _row(base_id, candidate_id, options, by)
    # A report may be computed twice after two requests; it is stored once.
    if row.status != DiffStatus.READY:
        move(DiffReport.objects.filter(id=row.id), DiffStatus.FAILED, DiffStatus.PENDING, error="")
        _enqueue(row.id)
        row.refresh_from_db(fields=["status", "error"])
    return row


def requeue_unfinished(*, waiting_for: timedelta = _GRACE) -> int:
    """Queue overdue reports again, whose workers are gone; return how many. A report is stored only once."""
    now = datetime.now(UTC)
    overdue = DiffReport.objects.filter(status=DiffStatus.PENDING, created_at__lte=now - waiting_for)
    report_ids = [key for key in overdue.values_list("id", flat=True) if overdue.filter(id=key).update(created_at=now)]
    for key in report_ids:
        _enqueue(key)
    return len(report_ids)


def uses_embeddings(options: DiffOptions) -> bool:
    return options.similarity == "auto" and embeddings.is_installed()


def attach(diff_id: UUID, findings: Findings) -> Evidence:
    """Attach the findings of a proof to a report, and notify its subscribers."""
    headline = queries.headline_after(diff_id, findings)
    with transaction.atomic():
        row = Evidence.objects.create(
            diff_id=diff_id,
            question=question_key(findings.question),
            verdict=findings.verdict,
            confidence=findings.confidence,
            conclusion=findings.conclusion,
            headline=headline.model_dump(mode="json") if headline else None,
            created_at=datetime.now(UTC),
            body=findings.model_dump(mode="json"),
        )
        notify.touch(f"diff.{diff_id}")
    return row


def attach_lane(diff_id: UUID, *, unchanged_id: UUID, session: UUID | None, method: str) -> Lane:
    """Attach a control lane to a report and notify its subscribers; `method`: which calls ran again."""
    new_lane = lane(
        id=new_id(),
        created_at=datetime.now(UTC),
        report=queries.report(diff_id),
        unchanged=queries.report(unchanged_id),
        session=session,
        method=method,
    )
    with transaction.atomic():
        row = Lane.objects.create(
            id=new_lane.id,
            diff_id=diff_id,
            unchanged_id=unchanged_id,
            created_at=new_lane.created_at,
            body=compress(new_lane.model_dump_json().encode(), level=FAST),
        )
        notify.touch(f"diff.{diff_id}")
    return row


def _enqueue(diff_id: UUID) -> None:
    transaction.on_commit(partial(enqueue.send, _COMPUTE, diff_id))


def _row(base_id: UUID, candidate_id: UUID, options: DiffOptions, by: str) -> DiffReport:
    """The row of a question, created with the first request."""
    runs = Run.objects.in_bulk([base_id, candidate_id])
    for location, run_id in (("/base", base_id), ("/candidate", candidate_id)):
        if run_id not in runs:
            raise NotFound(f"there is no run {run_id}", where=location)
        if runs[run_id].sealed_at is None:
            raise NotSealed(f"run {run_id} is still being recorded; compare it once it has ended", where=location)
    ignore_list = queries.list_for(runs[base_id], runs[candidate_id])
    options_json = options.model_dump(mode="json")
    method = "embeddings" if uses_embeddings(options) else "lexical"
    key = digest(
        {
            "v": _VERSION,
            "base": str(base_id),
            "candidate": str(candidate_id),
            "options": options_json,
            "method": method,
            **({"ignored": ignore_list.digest} if ignore_list else {}),
        }
    )
    with transaction.atomic():
        deleted_runs.hold({base_id, candidate_id})
        row, is_new = DiffReport.objects.defer("body").get_or_create(
            key=key, defaults={"base_id": base_id, "candidate_id": candidate_id, "options": options_json, "by": by}
        )
        # Comparisons of replays have no author: what started the replay has an entry, and a proof makes dozens.
        if is_new and by:
            audit_log.append(AuditAction.DIFF_CREATED, row.id, by=by, base=str(base_id), candidate=str(candidate_id))
    return row
