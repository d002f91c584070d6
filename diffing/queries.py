"""Reading what is compared and what was reported."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any, Final
from uuid import UUID

import zstandard
from django.conf import settings
from django.db.models import Q

from diffing.compare.run_side import Link, RunFacts, Side, SideStep
from diffing.models import Audience, DiffReport, Evidence, Lane, ShareLink
from diffing.report.brief import brief
from diffing.report.evidence import decides, strength, with_evidence
from diffing.schemas.evidence import Evidence as EvidenceView
from diffing.schemas.report import (
    DiffPending,
    DiffStatus,
    DiffSummary,
    RunRef,
    RunVerdict,
    RunVerdicts,
    ShareList,
    ShareView,
    UnchangedLane,
)
from diffing.schemas.report import DiffReport as Report
from traces.call_index import ignore_lists
from traces.core.step_header import STORED_FIELDS, typed_columns
from traces.errors import NotFound
from traces.models import Edge, IgnoreList, Run, Step
from traces.runs.originals import original_of

_ANCESTORS: Final = 50  # forks of forks followed back to find the step that both runs replay
_COLUMNS: Final = (
    *STORED_FIELDS,
    "sequence_no",
    "parent_no",
    "label",
    "reason",
    "summary",
    "error",
    "cost_usd",
    "source_step",
)
_FIELDS: Final = (*_COLUMNS[:-1], "origin")
_MOST_CONTENT: Final = 1 << 30


def side(run: Run, *, links: bool, under: IgnoreList | None = None) -> Side:
    """A run as the aligner wants it, without payloads; provenance only when somebody will follow it.

    Signatures are those under an ignore list, where one is given.
    """
    rows = Step.objects.filter(run=run).order_by("sequence_no").values_list(*_COLUMNS)
    origins = _origins(run)
    steps = [_step(row, origins) for row in rows.iterator(chunk_size=5_000)]
    if under is not None:
        reduced = ignore_lists.reduced_signatures(under, (step.signature for step in steps))
        steps = [replace(step, signature=reduced.get(step.signature, step.signature)) for step in steps]
    return Side(
        run=_facts(run), steps=steps, links=_links(run.id) if links else (), ignoring=ignore_lists.to_rules(under)
    )


def list_for(base: Run, candidate: Run) -> IgnoreList | None:
    """The ignore list that holds for two runs of one app, with their calls signed under it."""
    found = ignore_lists.active(base.app) if base.app == candidate.app else None
    if found is not None:
        ignore_lists.sign(found)
    return found


def find(ref: UUID) -> DiffReport:
    """A report's row without its body; raises `NotFound`."""
    found = DiffReport.objects.filter(id=ref).select_related("base", "candidate").defer("body").first()
    if found is None:
        raise NotFound(f"there is no diff {ref}")
    return found


def body(diff_id: UUID) -> bytes:
    """The report as JSON with its evidence, its third lane and the outcomes of its sides."""
    stored, judged = _stored(diff_id), _verdicts(diff_id)
    found, beside = evidence(diff_id), unchanged(diff_id)
    if not found and beside is None:
        # The stored report is not parsed only to add one field: it may have megabytes.
        return stored[:-1] + b',"outcomes":' + judged.model_dump_json().encode() + b"}"
    report = with_evidence(Report.model_validate_json(stored), found)
    report = report.model_copy(update={"unchanged": beside, "outcomes": judged})
    return report.model_copy(update={"brief": brief(report)}).model_dump_json().encode()


def _verdicts(diff_id: UUID) -> RunVerdicts:
    names = [f"{side}__verdict__{name}" for side in ("base", "candidate") for name in ("outcome", "reason")]
    base, why_base, candidate, why_candidate = DiffReport.objects.values_list(*names).get(id=diff_id)
    return RunVerdicts(
        base=RunVerdict(outcome=base, reason=why_base), candidate=RunVerdict(outcome=candidate, reason=why_candidate)
    )


def unchanged(diff_id: UUID) -> UnchangedLane | None:
    """The base replayed without the changes, once it was."""
    lanes = Lane.objects.filter(diff=diff_id).order_by("-created_at", "-id").values_list("body", flat=True)
    packed = lanes.first()
    return None if packed is None else UnchangedLane.model_validate_json(_unpacked(packed))


def evidence(diff_id: UUID) -> list[EvidenceView]:
    """What experiments found out about a report, the newest last."""
    rows = Evidence.objects.filter(diff=diff_id).order_by("created_at", "id")
    return [
        EvidenceView.model_validate({**row.body, "id": row.id, "diff": row.diff_id, "created_at": row.created_at})
        for row in rows
    ]


def _stored(diff_id: UUID) -> bytes:
    stored = DiffReport.objects.filter(id=diff_id, status=DiffStatus.READY).values_list("body", flat=True).first()
    if stored is None:
        raise NotFound(f"there is no diff {diff_id}")
    return _unpacked(stored)


def _unpacked(stored: bytes | memoryview) -> bytes:
    return zstandard.ZstdDecompressor().decompress(bytes(stored), max_output_size=_MOST_CONTENT)


def report(diff_id: UUID) -> Report:
    """The report itself."""
    return Report.model_validate_json(body(diff_id))


def pending(row: DiffReport) -> DiffPending:
    failed = row.status == DiffStatus.FAILED
    return DiffPending(id=row.id, status=DiffStatus.FAILED if failed else DiffStatus.PENDING, error=row.error)


def latest(*, run: UUID | None = None, limit: int = 100) -> list[DiffSummary]:
    """The newest ready reports, of one run or of all."""
    rows = DiffReport.objects.filter(status=DiffStatus.READY).select_related("base", "candidate").defer("body")
    if run is not None:
        rows = rows.filter(Q(base=run) | Q(candidate=run))
    found = list(rows.order_by("-created_at", "-id")[:limit])
    proved = _proved([row.id for row in found])
    return [_summary(row, *proved.get(row.id, (row.sentence, row.confidence))) for row in found]


def shares(diff_id: UUID) -> ShareList:
    """The links to a report, newest first."""
    links = ShareLink.objects.filter(diff=diff_id).order_by("-id")
    return ShareList(enabled=settings.SHARING, shares=[share_view(link, None) for link in links])


def share_view(link: ShareLink, url: str | None) -> ShareView:
    return ShareView(
        id=link.id,
        diff=link.diff_id,
        url=url,
        created_at=link.created_at,
        created_by=link.created_by,
        audience=link.audience,
        people=link.people,
        expires_at=link.expires_at,
        revoked_at=link.revoked_at,
        max_views=link.max_views,
        views=link.views,
        opens=settings.SHARING and _lasts(link, datetime.now(UTC)),
    )


def share_for(token: str, viewer: str) -> ShareLink | None:
    """The link of a token, when it opens for this viewer; an empty viewer is not signed in."""
    link = ShareLink.objects.filter(token_hash=token_hash(token)).first()
    if link is None or not settings.SHARING or not _lasts(link, datetime.now(UTC)):
        return None
    return link if link.audience == Audience.ANYONE or _is_meant(link, viewer) else None


def _lasts(link: ShareLink, now: datetime) -> bool:
    expired = link.expires_at is not None and link.expires_at <= now
    used_up = link.max_views is not None and link.views >= link.max_views
    return link.revoked_at is None and not expired and not used_up


def _is_meant(link: ShareLink, viewer: str) -> bool:
    return bool(viewer) and (link.audience == Audience.SIGNED_IN or viewer in link.people)


def token_hash(token: str) -> str:
    return sha256(token.encode(errors="replace")).hexdigest()


def _proved(diffs: Sequence[UUID]) -> dict[UUID, tuple[str, str]]:
    """Sentence and confidence of the reports that evidence decides about; the newest for each question counts."""
    rows = Evidence.objects.filter(diff__in=diffs).order_by("created_at", "id")
    newest = {(row[0], row[1]): row for row in rows.values_list("diff_id", "question", "confidence", "conclusion")}
    found: dict[UUID, tuple[str, str]] = {}
    for diff, question, confidence, conclusion in newest.values():
        if decides(question, confidence) and (diff not in found or strength(confidence) > strength(found[diff][1])):
            found[diff] = (conclusion, confidence)
    return found


def _summary(row: DiffReport, sentence: str, confidence: str) -> DiffSummary:
    return DiffSummary(
        id=row.id,
        created_at=row.created_at,
        base=_ref(row.base),
        candidate=_ref(row.candidate),
        sentence=sentence,
        ars=row.ars or 0.0,
        confidence=confidence or None,
    )


def _ref(run: Run) -> RunRef:
    return RunRef(
        id=run.id,
        name=run.name,
        app=run.app,
        status=run.status,
        source=run.source,
        fork_sequence_no=run.fork_sequence_no,
        source_run=run.source_run_id,
    )


def _facts(run: Run) -> RunFacts:
    counted = {"exact": run.exact_count, "cached": run.cached_count, "simulated": run.simulated_count}
    return RunFacts(
        id=run.id,
        name=run.name,
        app=run.app,
        status=run.status,
        source=run.source,
        started_at=run.started_at,
        fork_sequence_no=run.fork_sequence_no,
        source_run=run.source_run_id,
        ancestors=_ancestors(run),
        original=original.id if (original := original_of(run)) else None,
        tokens_in=run.tokens_in,
        tokens_out=run.tokens_out,
        cost_usd=float(run.cost_usd) if run.cost_usd is not None else None,
        duration_ms=run.duration_ms,
        error_count=run.error_count,
        labels={"live": run.step_count - sum(counted.values()), **counted},
        tags=tuple(run.tags),
        metadata=run.metadata,
    )


def _step(row: Sequence[Any], origins: Mapping[UUID, UUID]) -> SideStep:
    columns = typed_columns(_FIELDS, row)
    source, cost = columns["origin"], columns["cost_usd"]
    columns["origin"] = origins.get(source, source) if source else columns["id"]
    columns["cost_usd"] = None if cost is None else float(cost)
    return SideStep(**columns)


def _links(run_id: UUID) -> list[Link]:
    rows = Edge.objects.filter(run_id=run_id).values_list(
        "producer_no", "consumer_no", "kind", "consumer_path", "evidence"
    )
    return [Link(*row) for row in rows.order_by("consumer_no", "producer_no").iterator(chunk_size=5_000)]


def origins(run: Run) -> dict[UUID, UUID]:
    """For steps of a run that replay others: the step first recorded."""
    above = _origins(run)
    rows = Step.objects.filter(run=run, source_step__isnull=False).values_list("id", "source_step")
    return {id: above.get(source, source) for id, source in rows if source is not None}


def _ancestors(run: Run) -> tuple[UUID, ...]:
    """The runs that a run derives from, the nearest first."""
    found: list[UUID] = []
    source = run.source_run
    while source is not None and len(found) < _ANCESTORS:
        found.append(source.id)
        source = source.source_run
    return tuple(found)


def _origins(run: Run) -> dict[UUID, UUID]:
    """For steps of the source run that are replays themselves: the step first recorded."""
    found: dict[UUID, UUID] = {}
    source = run.source_run
    for _ in range(_ANCESTORS):
        if source is None or source.source_run_id is None:
            break
        rows = Step.objects.filter(run=source).values_list("id", "source_step")
        above = {step: origin for step, origin in rows if origin is not None}
        found = {step: above.get(origin, origin) for step, origin in found.items()} or above
        source = source.source_run
    return found
