"""The contents of share links: the subject as the cockpit shows it, without what it says about other objects."""

from collections.abc import Collection
from uuid import UUID

from replay.experiments import queries as experiments
from replay.experiments.core.schemas import ExperimentRowView, ExperimentView
from replay.fork_tree import queries as trees
from replay.fork_tree.core.schemas import RunTree, TreeRun
from replay.sessions import queries as replays
from replay.sessions.schemas import SessionView
from traces.models import Deletion, Run
from traces.retention.removal import DELETED_NAME
from traces.runs import queries as runs
from traces.schemas import RunDetail

_NO_CAPTION = {"title": "", "note": "", "change": None, "answer": ""}


def run_content(run: Run) -> RunDetail:
    """A run, without its forks, its revisions and its replay. Of its source, it names only the title."""
    detail = runs.run_detail(run)
    is_source_deleted = detail.source_deleted_at is not None
    return detail.model_copy(
        update={
            "derived": [],
            "revisions": [],
            "latest": None,
            "original": None,
            "original_name": None,
            "session_id": None,
            "is_pinned": False,
            "is_held": False,
            "source_outcome": None,
            "source_answer": None,
            # A change may quote the source.
            **({"source_run_name": None, "change": None} if is_source_deleted else {}),
        }
    )


def replay_content(session: UUID) -> SessionView:
    """A replay with the answers before and after, without links to its report, and without questions to operators."""
    return replays.session_view(session).model_copy(update={"diff": None, "question": None})


def tree_content(root: Run) -> RunTree:
    """The forks of a run, without links to their replays and reports. Deleted ones have no words."""
    tree = trees.tree(root)
    deleted_ids = _deleted_among([run.id for run in tree.runs])
    return tree.model_copy(update={"runs": [_tree_run(run, deleted_ids) for run in tree.runs]})


def _tree_run(run: TreeRun, deleted_ids: Collection[UUID]) -> TreeRun:
    changes: dict[str, object] = {"session": None, "diff": None, "origin_id": None}
    if run.id in deleted_ids:
        changes |= {**_NO_CAPTION, "name": DELETED_NAME, "outcome_reason": "", "origin_name": "", "checks": None}
    return run.model_copy(update=changes)


def experiment_content(id: UUID) -> ExperimentView:
    """The figures and answers of an experiment, without links to its runs and reports. Deleted ones have no words."""
    view = experiments.view(experiments.find(id))
    deleted_ids = _deleted_among([row.run for row in view.results if row.run is not None])
    return view.model_copy(update={"results": [_experiment_row(row, deleted_ids) for row in view.results]})


def _experiment_row(row: ExperimentRowView, deleted_ids: Collection[UUID]) -> ExperimentRowView:
    changes: dict[str, object] = {"run": None, "diff": None}
    if row.run in deleted_ids:
        changes |= {"answer": "", "error": "", "checks": None}
    return row.model_copy(update=changes)


def _deleted_among(ids: Collection[UUID]) -> set[UUID]:
    return set(Deletion.objects.filter(run__in=ids).values_list("run_id", flat=True))
