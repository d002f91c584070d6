"""Reading the tree of a run: its source, the source's forks, and theirs, in a fixed number of queries a level."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from django.db.models import Sum

from diffing.models import DiffReport
from replay.checks.schemas import CheckResult
from replay.experiments.core import matrix
from replay.experiments.core.schemas import ExperimentRequest
from replay.fork_tree.core.change_labels import changes
from replay.fork_tree.core.schemas import Origin, RunTree, TreeRun
from replay.models import Attempt, BisectionProbe, ExperimentRow, ProofProbe, ReplaySession, UnchangedReplay
from replay.overrides.profile import OverrideProfile
from traces.core.schema import LabelCounts
from traces.models import Run

MOST: Final = 1_000
_DEEPEST: Final = 50


@dataclass(frozen=True, kw_only=True)
class _Why:
    """What a fork was made for."""

    origin: Origin = "fork"
    id: UUID | None = None
    name: str = ""
    checks: list[CheckResult] | None = None


@dataclass(frozen=True, kw_only=True)
class _Known:
    """Everything about the runs of a tree that is not in their rows, by session."""

    # By derived run
    sessions: Mapping[UUID, ReplaySession]
    whys: Mapping[UUID, _Why]
    # By diff
    scores: Mapping[UUID, tuple[float | None, ...]]
    latencies: Mapping[UUID, float | None]


def tree(asked: Run) -> RunTree:
    """The whole tree that a run is in."""
    root = _root(asked)
    levels, left_out = _levels(root)
    children: dict[UUID | None, list[Run]] = defaultdict(list)
    for run in levels:
        children[run.source_run_id].append(run)
    known = _known(levels)
    ordered = _in_order(root, children, 0)
    runs = [_view(run, depth, known, root) for run, depth in ordered]
    return RunTree(root=root.id, asked=asked.id, runs=runs, left_out=left_out)


def _root(run: Run) -> Run:
    for _ in range(_DEEPEST):
        if run.source_run is None:
            break
        run = run.source_run
    return run


def _levels(root: Run) -> tuple[list[Run], int]:
    """The forks level by level, as many as a page shows, and how many more there are on the levels looked at."""
    found: list[Run] = []
    level = [root.id]
    for _ in range(_DEEPEST):
        below = (
            Run.objects.filter(source_run__in=level)
            .order_by("id")
            .select_related("verdict")
            .defer("search", "metadata")
        )
        rows = list(below[: MOST - len(found)])
        if len(rows) + len(found) >= MOST:
            return [*found, *rows], below.count() - len(rows)
        if not rows:
            break
        found += rows
        level = [run.id for run in rows]
    return found, 0


def _in_order(run: Run, children: Mapping[UUID | None, Sequence[Run]], depth: int) -> Iterator[tuple[Run, int]]:
    yield run, depth
    for child in children.get(run.id, ()):
        yield from _in_order(child, children, depth + 1)


def _known(runs: Collection[Run]) -> _Known:
    rows = ReplaySession.objects.filter(run__in=runs).select_related("profile").defer("plan", "planned")
    sessions = {row.run_id: row for row in rows if row.run_id is not None}
    ids = [row.id for row in sessions.values()]
    diffs = [row.diff_id for row in sessions.values() if row.diff_id is not None]
    columns = ("id", "ars", "output_similarity", "tool_accuracy")
    spent = Attempt.objects.filter(session__in=ids).values_list("session").annotate(Sum("duration_ms"))
    return _Known(
        sessions=sessions,
        whys=_whys(ids),
        latencies=dict(spent),
        scores={id: tuple(scores) for id, *scores in DiffReport.objects.filter(id__in=diffs).values_list(*columns)},
    )


def _whys(sessions: Collection[UUID]) -> dict[UUID, _Why]:
    """What each session was made for, where it was made for something."""
    return {**_of_experiments(sessions), **_of_bisections(sessions), **_of_proofs(sessions), **_of_lanes(sessions)}


def _of_experiments(sessions: Collection[UUID]) -> dict[UUID, _Why]:
    found: dict[UUID, _Why] = {}
    names: dict[UUID, dict[int, str]] = {}
    for row in ExperimentRow.objects.filter(session__in=sessions).select_related("experiment"):
        experiment = row.experiment
        if experiment.id not in names:
            cells = matrix.cells(ExperimentRequest.model_validate(experiment.request))
            names[experiment.id] = {cell.number: ", ".join(one.value for one in cell.settings) for cell in cells}
        named = f"{experiment.name}: {names[experiment.id][row.cell]}, sample {row.sample}"
        checks = (row.result or {}).get("checks")
        found[row.session_id] = _Why(origin="experiment", id=experiment.id, name=named, checks=_checks(checks))
    return found


def _of_bisections(sessions: Collection[UUID]) -> dict[UUID, _Why]:
    return {
        probe.session_id: _Why(
            origin="bisection",
            id=probe.bisection_id,
            name=f"probe {probe.number}",
            checks=_checks(probe.detail.get("checks")),
        )
        for probe in BisectionProbe.objects.filter(session__in=sessions)
    }


def _of_proofs(sessions: Collection[UUID]) -> dict[UUID, _Why]:
    rows = ProofProbe.objects.filter(session__in=sessions).values_list("session_id", "proof__diff_id", "number")
    return {session: _Why(origin="proof", id=diff, name=f"probe {number}") for session, diff, number in rows}


def _of_lanes(sessions: Collection[UUID]) -> dict[UUID, _Why]:
    rows = UnchangedReplay.objects.filter(session__in=sessions).values_list("session_id", "diff_id")
    return {session: _Why(origin="unchanged", id=diff, name="without the changes") for session, diff in rows}


def _checks(said: Any) -> list[CheckResult] | None:
    return None if said is None else [CheckResult.model_validate(each) for each in said]


def _view(run: Run, depth: int, known: _Known, root: Run) -> TreeRun:
    session = known.sessions.get(run.id)
    why = known.whys.get(session.id, _Why()) if session else _Why(origin="recorded" if run.id == root.id else "fork")
    ars, output, tools = known.scores.get(session.diff_id, (None,) * 3) if session and session.diff_id else (None,) * 3
    counted = {"exact": run.exact_count, "cached": run.cached_count, "simulated": run.simulated_count}
    return TreeRun(
        id=run.id,
        parent=run.source_run_id,
        depth=depth,
        name=run.name,
        status=run.status,
        outcome=run.verdict.outcome,
        outcome_reason=run.verdict.reason,
        sealed=run.sealed_at is not None,
        errors=run.error_count,
        steps=run.step_count,
        labels=LabelCounts(live=run.step_count - sum(counted.values()), **counted),
        fork_sequence_no=run.fork_sequence_no,
        changes=changes(OverrideProfile.model_validate(session.profile.profile)) if session else [],
        origin=why.origin,
        origin_id=why.id,
        origin_name=why.name,
        session=session.id if session else run.session_id,
        session_status=session.status if session else None,
        diff=session.diff_id if session else None,
        ars=ars,
        output_similarity=output,
        tool_accuracy=tools,
        tokens_in=run.tokens_in,
        tokens_out=run.tokens_out,
        cost_usd=float(run.cost_usd) if run.cost_usd is not None else None,
        latency_ms=known.latencies.get(session.id) if session else run.duration_ms,
        checks=why.checks,
        created_at=run.created_at,
    )
