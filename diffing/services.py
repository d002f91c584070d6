"""Making reports and sharing them."""

from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Final
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import F, Q

from diffing import compute, queries
from diffing.content import embeddings
from diffing.errors import SharingOff
from diffing.models import DiffReport, Evidence, Lane, ShareLink
from diffing.report.control_lane import lane
from diffing.report.evidence import question_key
from diffing.schemas.evidence import Findings
from diffing.schemas.report import DiffOptions, DiffStatus, ShareRequest
from traces import enqueue, notify
from traces.core.canonical import digest
from traces.core.ids import new_id
from traces.core.json_types import JSONValue
from traces.errors import NotFound, NotSealed
from traces.http.idempotency import Key, derive_secret, make_once
from traces.models import Run
from traces.transitions import move

_KIND: Final = "share"
_COMPUTE: Final = "diffing.tasks.compute"
_PATIENCE: Final = timedelta(minutes=2)  # far more than a report takes
_VERSION: Final = 3  # of what a report says: a new one is made when this changes


def diff(*, base_id: UUID, candidate_id: UUID, options: DiffOptions | None = None) -> DiffReport:
    """The report of two sealed runs, made now unless it is there; the same question gives the same report."""
    row = _row(base_id, candidate_id, options or DiffOptions())
    if row.status != DiffStatus.READY:
        compute.compute(row.id)
        row.refresh_from_db(fields=["status", "sentence", "ars", "confidence", "error"])
    return row


def request(*, base_id: UUID, candidate_id: UUID, options: DiffOptions) -> DiffReport:
    """Like `diff`, but leaves a report that needs the embedding model to a worker and answers at once."""
    if not uses_embeddings(options):
        return diff(base_id=base_id, candidate_id=candidate_id, options=options)
    row = _row(base_id, candidate_id, options)
    if row.status != DiffStatus.READY:  # also when somebody asked before: a second computation does no harm
        move(DiffReport.objects.filter(id=row.id), DiffStatus.FAILED, DiffStatus.PENDING, error="")
        _enqueue(row.id)
        row.refresh_from_db(fields=["status", "error"])
    return row


def requeue_unfinished(*, waiting_for: timedelta = _PATIENCE) -> int:
    """Hand reports whose worker is gone to another one; how many. A report that is made twice is stored once."""
    now = datetime.now(UTC)
    late = DiffReport.objects.filter(status=DiffStatus.PENDING, created_at__lte=now - waiting_for)
    taken = [key for key in late.values_list("id", flat=True) if late.filter(id=key).update(created_at=now)]
    for key in taken:
        _enqueue(key)
    return len(taken)


def uses_embeddings(options: DiffOptions) -> bool:
    return options.similarity == "auto" and embeddings.is_installed()


def attach(diff_id: UUID, findings: Findings) -> Evidence:
    """Keep what an experiment found out with the report that it is about; wakes those who look at it."""
    with transaction.atomic():
        row = Evidence.objects.create(
            diff_id=diff_id,
            question=question_key(findings.question),
            verdict=findings.verdict,
            confidence=findings.confidence,
            conclusion=findings.conclusion,
            created_at=datetime.now(UTC),
            body=findings.model_dump(mode="json"),
        )
        notify.touch(f"diff.{diff_id}")
    return row


def attach_lane(diff_id: UUID, *, unchanged_id: UUID, session: UUID | None, method: str) -> Lane:
    """Keep what a replay without the changes altered beside the report; wakes those who look at it."""
    made = lane(
        id=new_id(),
        created_at=datetime.now(UTC),
        report=queries.report(diff_id),
        unchanged=queries.report(unchanged_id),
        session=session,
        method=method,
    )
    with transaction.atomic():
        row = Lane.objects.create(
            id=made.id,
            diff_id=diff_id,
            unchanged_id=unchanged_id,
            created_at=made.created_at,
            body=compute.packed(made.model_dump_json().encode()),
        )
        notify.touch(f"diff.{diff_id}")
    return row


def share(
    *, diff_id: UUID, asked: ShareRequest | None = None, by: str = "", key: Key | None = None
) -> tuple[ShareLink, str]:
    """A new link to a report, and its token, which is never to be had again but for the key that it was made with."""
    if not DiffReport.objects.filter(id=diff_id, status=DiffStatus.READY).exists():
        raise NotFound(f"there is no diff {diff_id}")
    if not settings.SHARING:
        raise SharingOff("sharing is switched off on this server: its operator set FORKPOINT_SHARING to off")
    given = asked or ShareRequest()
    wanted: JSONValue = [str(diff_id), given.model_dump(mode="json", exclude_unset=True)]
    token = f"fps_{derive_secret(_KIND, key, wanted)}"
    lasts = given.expires_in_s and timedelta(seconds=given.expires_in_s)

    def make() -> str:
        link = ShareLink.objects.create(
            diff_id=diff_id,
            token_hash=queries.token_hash(token),
            created_by=by,
            audience=given.audience,
            people=given.people,
            max_views=given.max_views,
            expires_at=datetime.now(UTC) + lasts if lasts else None,
        )
        return str(link.id)

    return ShareLink.objects.get(id=make_once(_KIND, key, wanted, make)), token


def revoke(share_id: UUID) -> ShareLink:
    """Close a link for good; closing it again changes nothing."""
    ShareLink.objects.filter(id=share_id, revoked_at=None).update(revoked_at=datetime.now(UTC))
    link = ShareLink.objects.filter(id=share_id).first()
    if link is None:
        raise NotFound(f"there is no share link {share_id}")
    return link


def open_share(token: str, viewer: str = "") -> UUID:
    """The report that a token opens for a viewer, counting the view.

    A token that never was, has expired, was revoked, was seen often enough, is for others, or is switched off
    with all the others: one answer, found by the same two statements.
    """
    link = queries.share_for(token, viewer)
    left = Q(max_views=None) | Q(views__lt=F("max_views"))  # two viewers may come for the last view at once
    counted = ShareLink.objects.filter(left, id=link.id if link else new_id(), revoked_at=None)
    if not counted.update(views=F("views") + 1) or link is None:
        raise NotFound("this share link is not valid, not valid any more, or not meant for you")
    return link.diff_id


def _enqueue(diff_id: UUID) -> None:
    transaction.on_commit(partial(enqueue.send, _COMPUTE, diff_id))


def _row(base_id: UUID, candidate_id: UUID, options: DiffOptions) -> DiffReport:
    """The row of a question, made on first asking."""
    runs = Run.objects.in_bulk([base_id, candidate_id])
    for where, run_id in (("/base", base_id), ("/candidate", candidate_id)):
        if run_id not in runs:
            raise NotFound(f"there is no run {run_id}", where=where)
        if runs[run_id].sealed_at is None:
            raise NotSealed(f"run {run_id} is still being recorded; compare it when it has ended", where=where)
    under = queries.list_for(runs[base_id], runs[candidate_id])
    given = options.model_dump(mode="json")
    method = "embeddings" if uses_embeddings(options) else "lexical"
    key = digest(
        {
            "v": _VERSION,
            "base": str(base_id),
            "candidate": str(candidate_id),
            "options": given,
            "method": method,
            **({"ignored": under.digest} if under else {}),
        }
    )
    with transaction.atomic():
        row, _ = DiffReport.objects.defer("body").get_or_create(
            key=key, defaults={"base_id": base_id, "candidate_id": candidate_id, "options": given}
        )
    return row
