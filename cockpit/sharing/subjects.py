"""The subjects of share links: which may be shared, and which are shown now."""

from collections.abc import Iterable
from uuid import UUID

from diffing import queries as diffs
from diffing.models import DiffReport
from diffing.schemas.report import DiffStatus
from replay.core.vocabulary import FINAL_STATUSES
from replay.experiments import queries as experiments
from replay.fork_tree import queries as trees
from replay.models import Experiment, ReplaySession
from replay.sessions import queries as replays
from traces.core.vocabulary import ShareKind
from traces.errors import NotFound, ProblemError
from traces.models import Deletion, ShareLink
from traces.runs.queries import find_run
from traces.sharing.links import Subject


class NotEnded(ProblemError):
    """A replay or an experiment that has no result yet."""

    code = "conflict"
    status = 409


def find_subject(kind: ShareKind, id: UUID) -> Subject:
    """Return what a link to an object opens; raise `NotFound` if there is no such object, or it is deleted."""
    match kind:
        case ShareKind.RUN:
            run_id = find_run(str(id)).id
            return Subject(kind, run_id, run_id)
        case ShareKind.TREE:
            root_id = find_run(str(trees.find_root(find_run(str(id))).id)).id
            return Subject(kind, root_id, root_id)
        case ShareKind.REPLAY:
            session = replays.find_session(id)
            return Subject(kind, session.id, session.run_id or session.source_run_id)
        case ShareKind.DIFF:
            report = diffs.find(id)
            return Subject(kind, report.id, report.candidate_id)
        case ShareKind.EXPERIMENT:
            experiment = experiments.find(id)
            return Subject(kind, experiment.id, experiment.source_run_id)


def check_complete(subject: Subject) -> None:
    """Raise an error for a replay, an experiment or a report without a result."""
    if subject.kind == ShareKind.REPLAY and replays.find_session(subject.id).status not in FINAL_STATUSES:
        raise NotEnded("the replay has not ended; share it once it has")
    if subject.kind == ShareKind.DIFF:
        reports = DiffReport.objects.filter(id=subject.id, status=DiffStatus.READY)
        if not reports.exists():
            raise NotFound(f"there is no diff {subject.id}")
    if subject.kind == ShareKind.EXPERIMENT and not experiments.has_ended(subject.id):
        raise NotEnded("the experiment has not ended; share it once it has")


def is_visible(link: ShareLink) -> bool:
    """True if the subject of a link exists, and no run that it shows is deleted."""
    run_ids = _shown_runs(link)
    return bool(run_ids) and not Deletion.objects.filter(run__in=run_ids).exists()


def _shown_runs(link: ShareLink) -> set[UUID]:
    """Return the runs without which the subject is not shown; none if it does not exist."""
    match ShareKind(link.kind):
        case ShareKind.RUN | ShareKind.TREE:
            return {link.subject}
        case ShareKind.REPLAY:
            sessions = ReplaySession.objects.filter(id=link.subject)
            return _ids(sessions.values_list("source_run_id", "run_id"))
        case ShareKind.DIFF:
            reports = DiffReport.objects.filter(id=link.subject, status=DiffStatus.READY)
            return _ids(reports.values_list("base_id", "candidate_id"))
        case ShareKind.EXPERIMENT:
            return _ids(Experiment.objects.filter(id=link.subject).values_list("source_run_id"))


def _ids(rows: Iterable[Iterable[UUID | None]]) -> set[UUID]:
    return {id for ids in rows for id in ids if id is not None}


def covered_run(link: ShareLink) -> UUID | None:
    """Return the run whose steps a link shows: its subject, or what the replay wrote."""
    match ShareKind(link.kind):
        case ShareKind.RUN:
            return link.subject
        case ShareKind.REPLAY:
            return replays.find_session(link.subject).run_id
        case ShareKind.TREE | ShareKind.DIFF | ShareKind.EXPERIMENT:
            return None
