"""Reports cite the runs that they compare: what remains of a report when one of them is deleted."""

from collections.abc import Collection, Iterable
from uuid import UUID

from django.db.models import Q, QuerySet

from diffing.models import DiffReport, Evidence, Lane
from diffing.schemas.report import DiffStatus
from traces import notify
from traces.comments.services import remove_comments
from traces.core.vocabulary import ShareKind
from traces.retention.citations import Citation, Citer
from traces.sharing import links


class ReportCiter(Citer):
    """Reports with their share links, evidence and control lanes."""

    def citations(self, run_ids: Collection[UUID]) -> Iterable[Citation]:
        reports = list(_reports(run_ids).exclude(status=DiffStatus.SOURCE_DELETED).defer("body"))
        shared_ids = links.shared_subjects(ShareKind.DIFF, [report.id for report in reports])
        for report in reports:
            for run_id in {report.base_id, report.candidate_id} & set(run_ids):
                kind = "shared diff report" if report.id in shared_ids else "diff report"
                yield Citation(run_id=run_id, kind=kind, id=report.id)

    def release(self, run_ids: Collection[UUID]) -> None:
        """Empty the reports and end their links; they keep their scores, and say which of their runs was deleted."""
        reports = _reports(run_ids)
        ids = list(reports.values_list("id", flat=True))
        Evidence.objects.filter(diff__in=ids).delete()
        Lane.objects.filter(Q(diff__in=ids) | Q(unchanged__in=ids)).delete()
        links.end_links(ids)
        remove_comments(ids)
        reports.update(
            status=DiffStatus.SOURCE_DELETED,
            body=None,
            sentence="",
            cause="",
            effect="",
            error=f"run {', '.join(map(str, run_ids))}, which it compares, was deleted",
        )
        for id in ids:
            notify.touch(f"diff.{id}")

    def references(self, run_ids: Collection[UUID]) -> set[UUID]:
        rows = _reports(run_ids).values_list("base_id", "candidate_id")
        return {id for ids in rows for id in ids} & set(run_ids)


def _reports(run_ids: Collection[UUID]) -> QuerySet[DiffReport]:
    return DiffReport.objects.filter(Q(base__in=run_ids) | Q(candidate__in=run_ids))
