"""Queries for runs to compare, reports and evidence."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any, Final, NamedTuple, cast
from uuid import UUID

from django.db.models import Q, QuerySet

from diffing.compare.run_side import NO_LINKS, Link, RunFacts, Side, SideStep
from diffing.errors import ReportDeleted
from diffing.models import DiffReport, Evidence, Lane
from diffing.report.brief import brief
from diffing.report.evidence import decided_attribution, decides, question_key, strength, with_evidence
from diffing.schemas.evidence import Evidence as EvidenceView
from diffing.schemas.evidence import Findings
from diffing.schemas.report import (
    DiffPending,
    DiffStatus,
    DiffSummary,
    Headline,
    NewerRevision,
    NewerRevisions,
    RunCaptions,
    RunDeletions,
    RunRef,
    RunVerdict,
    RunVerdicts,
    UnchangedLane,
)
from diffing.schemas.report import DiffReport as Report
from diffing.schemas.terms import Confidence
from traces.call_index import ignore_lists
from traces.captions.queries import Captions, captions_of
from traces.core.schema import Schema
from traces.core.step_header import STEP_STATUSES, STEP_TYPES
from traces.core.vocabulary import EdgeKind, Label
from traces.errors import NotFound
from traces.models import Deletion, Edge, IgnoreList, Run, Step
from traces.origins import stored_provenance
from traces.runs.originals import original_of
from traces.runs.revisions import newest_continuation
from traces.storage import bulk
from traces.storage.compression import decompress

# Forks of forks that are followed back to find a common recorded step.
_ANCESTORS: Final = 50
_LABELS: Final = {str(label): label for label in Label}
_STRENGTHS: Final = {str(kind): place for place, kind in enumerate(EdgeKind)}
# Steps whose links are selected from those of a run.
_MOST_SELECTED: Final = 1_000
# Of evidence.
_CONCLUSION: Final = ("conclusion", "confidence", "headline")
_COLUMNS: Final = tuple(name for name in SideStep._fields if name != "origin")


class Conclusion(NamedTuple):
    """What a proof has found, and how certain that is; with a headline if it decides the verdict of its report."""

    sentence: str
    confidence: Confidence
    headline: Headline | None

    @classmethod
    def of_columns(cls, sentence: str, confidence: str, headline: dict[str, str] | None) -> "Conclusion":
        return cls(sentence, cast(Confidence, confidence), Headline.model_validate(headline) if headline else None)


def side(run: Run, *, links: bool, ignore_list: IgnoreList | None = None) -> Side:
    """One side of a comparison, without payloads; `links`: with provenance.

    With an ignore list, signatures leave out its fields.
    """
    # Only a replay has source steps, and converting an id takes long.
    columns = _COLUMNS if run.source_run_id is None else (*_COLUMNS, "source_step")
    rows = bulk.select(
        Step, columns, "WHERE run_id = %s ORDER BY sequence_no", bulk.database_values(Step, ["run"], [run.id])
    )
    steps = _steps(dict(zip(columns, zip(*rows, strict=True), strict=True)), _origins(run)) if rows else []
    if ignore_list is not None:
        reduced_signatures = ignore_lists.reduced_signatures(ignore_list, (step.signature for step in steps))
        steps = [step._replace(signature=reduced_signatures.get(step.signature, step.signature)) for step in steps]
    return Side(
        run=_facts(run),
        steps=steps,
        links=partial(_links, run.id) if links else NO_LINKS,
        ignoring=ignore_lists.to_rules(ignore_list),
    )


def list_for(base: Run, candidate: Run) -> IgnoreList | None:
    """The ignore list of two runs of one app, with their calls signed under it; None for different apps."""
    ignore_list = ignore_lists.active(base.app) if base.app == candidate.app else None
    if ignore_list is not None:
        ignore_lists.sign(ignore_list)
    return ignore_list


def find(ref: UUID) -> DiffReport:
    """The row of a report, without its body; raises `NotFound` or `ReportDeleted`."""
    row = DiffReport.objects.filter(id=ref).select_related("base", "candidate").defer("body").first()
    if row is None:
        raise NotFound(f"there is no diff {ref}")
    check_content(row)
    return row


def check_content(row: DiffReport) -> None:
    """Raise `ReportDeleted` if the content of a report was deleted with one of its runs."""
    if row.status == DiffStatus.SOURCE_DELETED:
        deletions = Deletion.objects.filter(run__in=(row.base_id, row.candidate_id)).order_by("at")
        time = deletions.values_list("at", flat=True).first()
        date = f" on {time:%Y-%m-%d}" if time else ""
        raise ReportDeleted(f"the content of this report was deleted{date}: {row.error}")


def body(diff_id: UUID) -> bytes:
    """The report as JSON, with its evidence, its control lane, and the current state of its runs."""
    stored_body, current = _load_body(diff_id), _current_facts(diff_id)
    proofs, lane = evidence(diff_id), unchanged(diff_id)
    if not proofs and lane is None:
        # The stored report may have megabytes, so it is not parsed just to add these fields.
        fields = (b',"%s":%s' % (name.encode(), value.model_dump_json().encode()) for name, value in current.items())
        return stored_body[:-1] + b"".join(fields) + b"}"
    report = with_evidence(Report.model_validate_json(stored_body), proofs)
    report = report.model_copy(update={"unchanged": lane, **current})
    return report.model_copy(update={"brief": brief(report)}).model_dump_json().encode()


def _current_facts(diff_id: UUID) -> dict[str, Schema]:
    """Return the fields of a report that follow the current state of its runs."""
    relations = [f"{side}__{name}" for side in ("base", "candidate") for name in ("verdict", "deletion")]
    row = DiffReport.objects.select_related(*relations).defer("body").get(id=diff_id)
    sides = {"base": row.base, "candidate": row.candidate}
    return {
        "outcomes": _verdicts(row),
        "captions": _captions(row, captions_of(sides.values())),
        "deletions": RunDeletions(**{side: _deletion_time(run) for side, run in sides.items()}),
        "newer_revisions": NewerRevisions(**{side: _newer_revision(run) for side, run in sides.items()}),
    }


def _verdicts(row: DiffReport) -> RunVerdicts:
    return RunVerdicts(
        **{
            side: RunVerdict(outcome=run.verdict.outcome, basis=run.verdict.basis or None, reason=run.verdict.reason)
            for side, run in (("base", row.base), ("candidate", row.candidate))
        }
    )


def _captions(row: DiffReport, captions: Captions) -> RunCaptions:
    return RunCaptions(base=captions[row.base_id].caption, candidate=captions[row.candidate_id].caption)


def _deletion_time(run: Run) -> datetime | None:
    deletion: Deletion | None = getattr(run, "deletion", None)
    return deletion.at if deletion else None


def _newer_revision(run: Run) -> NewerRevision | None:
    newest = newest_continuation(run)
    if newest is None:
        return None
    return NewerRevision(id=newest.id, revision=newest.revision, added_steps=newest.step_count - run.step_count)


def unchanged(diff_id: UUID) -> UnchangedLane | None:
    """The control lane of a report: the base replayed without the changes; None before that replay."""
    lanes = Lane.objects.filter(diff=diff_id).order_by("-created_at", "-id").values_list("body", flat=True)
    lane_body = lanes.first()
    return None if lane_body is None else UnchangedLane.model_validate_json(decompress(lane_body))


def evidence(diff_id: UUID) -> list[EvidenceView]:
    """The evidence of proofs about a report, the newest last."""
    rows = Evidence.objects.filter(diff=diff_id).order_by("created_at", "id")
    return [
        EvidenceView.model_validate({**row.body, "id": row.id, "diff": row.diff_id, "created_at": row.created_at})
        for row in rows
    ]


def _load_body(diff_id: UUID) -> bytes:
    stored_body = DiffReport.objects.filter(id=diff_id, status=DiffStatus.READY).values_list("body", flat=True).first()
    if stored_body is None:
        find(diff_id)
        raise NotFound(f"there is no diff {diff_id}")
    return decompress(stored_body)


def report(diff_id: UUID) -> Report:
    """The report of a diff; raises `NotFound`."""
    return Report.model_validate_json(body(diff_id))


def pending(row: DiffReport) -> DiffPending:
    failed = row.status == DiffStatus.FAILED
    return DiffPending(id=row.id, status=DiffStatus.FAILED if failed else DiffStatus.PENDING, error=row.error)


def latest(*, run: UUID | None = None, limit: int = 100) -> list[DiffSummary]:
    """The newest listed reports, of one run or of all runs."""
    rows = listed_rows()
    if run is not None:
        rows = rows.filter(Q(base=run) | Q(candidate=run))
    return summaries(rows.order_by("-id")[:limit])


def listed_rows() -> QuerySet[DiffReport]:
    """The ready reports of runs that are not deleted, without their bodies."""
    rows = DiffReport.objects.filter(
        status=DiffStatus.READY, base__deletion__isnull=True, candidate__deletion__isnull=True
    )
    return rows.select_related("base__verdict", "candidate__verdict").defer("body")


def summary(diff_id: UUID) -> DiffSummary | None:
    """The summary of a ready report; None: there is none."""
    rows = DiffReport.objects.filter(id=diff_id, status=DiffStatus.READY)
    return next(iter(summaries(rows.select_related("base__verdict", "candidate__verdict").defer("body"))), None)


def summaries(rows: Iterable[DiffReport]) -> list[DiffSummary]:
    """The summaries of reports, with the same number of queries for any number of them."""
    reports = list(rows)
    evidence_summaries = _evidence_summaries([row.id for row in reports])
    captions = captions_of(run for row in reports for run in (row.base, row.candidate))
    return [_summary(row, captions, evidence_summaries.get(row.id)) for row in reports]


def conclusions(evidence_ids: Sequence[UUID]) -> dict[UUID, Conclusion]:
    """The conclusions of proofs by the id of their evidence."""
    rows = Evidence.objects.filter(id__in=evidence_ids).values_list("id", *_CONCLUSION)
    return {id: Conclusion.of_columns(*columns) for id, *columns in rows}


def headline_after(diff_id: UUID, findings: Findings) -> Headline | None:
    """The headline of a report with these findings alone; None if they do not decide its verdict."""
    if not decides(question_key(findings.question), findings.confidence):
        return None
    attribution = Report.model_validate_json(_load_body(diff_id)).attribution
    return decided_attribution(findings, attribution).headline


def _evidence_summaries(diffs: Sequence[UUID]) -> dict[UUID, Conclusion]:
    """The conclusions about the reports that evidence decides; the newest for each question counts."""
    rows = Evidence.objects.filter(diff__in=diffs).order_by("created_at", "id")
    newest = {(row[0], row[1]): row[2:] for row in rows.values_list("diff_id", "question", *_CONCLUSION)}
    by_diff: dict[UUID, Conclusion] = {}
    for (diff, question), columns in newest.items():
        conclusion = Conclusion.of_columns(*columns)
        if decides(question, conclusion.confidence) and (
            diff not in by_diff or strength(conclusion.confidence) > strength(by_diff[diff].confidence)
        ):
            by_diff[diff] = conclusion
    return by_diff


def _summary(row: DiffReport, captions: Captions, conclusion: Conclusion | None) -> DiffSummary:
    own_headline = Headline(cause=row.cause, effect=row.effect) if row.effect else None
    return DiffSummary(
        id=row.id,
        created_at=row.created_at,
        base=_ref(row.base),
        candidate=_ref(row.candidate),
        outcomes=_verdicts(row),
        captions=_captions(row, captions),
        headline=conclusion.headline if conclusion else own_headline,
        sentence=conclusion.sentence if conclusion else row.sentence,
        ars=row.ars or 0.0,
        confidence=conclusion.confidence if conclusion else _confidence(row),
    )


def _confidence(row: DiffReport) -> Confidence | None:
    return cast(Confidence, row.confidence) if row.confidence else None


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
    counts = {"exact": run.exact_count, "cached": run.cached_count, "simulated": run.simulated_count}
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
        labels={"live": run.step_count - sum(counts.values()), **counts},
        tags=tuple(run.tags),
        metadata=run.metadata,
    )


def _steps(columns: dict[str, Sequence[Any]], origins: Mapping[UUID, UUID]) -> list[SideStep]:
    """The steps of a run from their database columns: converting a column takes a tenth of the time of its values."""
    ids = origin_ids = bulk.uuids_of(columns["id"])
    if "source_step" in columns:
        pairs = zip(ids, bulk.uuids_of(columns["source_step"]), strict=True)
        origin_ids = [own if source is None else origins.get(source, source) for own, source in pairs]
    columns |= {
        "id": ids,
        "origin": origin_ids,
        "type": [STEP_TYPES[text] for text in columns["type"]],
        "status": [STEP_STATUSES[text] for text in columns["status"]],
        "label": [_LABELS[text] for text in columns["label"]],
        "cost_usd": [None if cost is None else float(cost) for cost in columns["cost_usd"]],
    }
    return list(map(SideStep._make, zip(*map(columns.__getitem__, SideStep._fields), strict=True)))


def _links(run_id: UUID, numbers: Collection[int]) -> list[Link]:
    if not numbers:
        return []
    stored_provenance.ensure(run_id)
    condition = ""
    # Above that, reading all links takes less time than looking for some.
    if len(numbers) <= _MOST_SELECTED:
        places = ", ".join(f"{number:d}" for number in numbers)
        condition = f"AND (consumer_no IN ({places}) OR producer_no IN ({places}))"
    columns = ("producer_no", "consumer_no", "kind", "consumer_path", "evidence")
    rows = bulk.select(Edge, columns, f"WHERE run_id = %s {condition}", bulk.database_values(Edge, ["run"], [run_id]))
    return sorted(map(Link._make, rows), key=_place_and_strength)


def _place_and_strength(link: Link) -> tuple[int, int, int, str]:
    """Sort links in the order of their steps, and those between the same two with the strongest first."""
    return link.consumer, link.producer, _STRENGTHS[link.kind], link.path


def origins(run: Run) -> dict[UUID, UUID]:
    """The recorded step of each step of a run that is a replay."""
    source_origins = _origins(run)
    rows = Step.objects.filter(run=run, source_step__isnull=False).values_list("id", "source_step")
    return {id: source_origins.get(source, source) for id, source in rows if source is not None}


def _ancestors(run: Run) -> tuple[UUID, ...]:
    """The runs that a run derives from, nearest first."""
    ancestors: list[UUID] = []
    source = run.source_run
    while source is not None and len(ancestors) < _ANCESTORS:
        ancestors.append(source.id)
        source = source.source_run
    return tuple(ancestors)


def _origins(run: Run) -> dict[UUID, UUID]:
    """The recorded step of each step of the source run that is a replay itself."""
    result: dict[UUID, UUID] = {}
    source = run.source_run
    for _ in range(_ANCESTORS):
        if source is None or source.source_run_id is None:
            break
        rows = Step.objects.filter(run=source).values_list("id", "source_step")
        source_origins = {step: origin for step, origin in rows if origin is not None}
        result = {step: source_origins.get(origin, origin) for step, origin in result.items()} or source_origins
        source = source.source_run
    return result
