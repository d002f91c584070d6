"""Read the tree of a run: its source, the source's forks, and theirs, with a fixed number of queries per level."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from django.db.models import Count, Exists, F, OuterRef, Q, Sum

from diffing.models import DiffReport
from replay.checks.schemas import CheckResult
from replay.core.vocabulary import Engine
from replay.experiments.core import matrix
from replay.experiments.core.schemas import ExperimentRequest
from replay.fork_tree.core.schemas import Origin, RunTree, TreeRun
from replay.models import Attempt, BisectionProbe, ExperimentRow, ProofProbe, ReplaySession, Rerun, UnchangedReplay
from replay.sessions.queries import change_of
from traces.captions.queries import Captions, captions_of
from traces.core.schema import LabelCounts
from traces.models import Run, Step
from traces.payloads.replay_labels import REPLAY_LABELS

MAX_RUNS: Final = 1_000
_MAX_DEPTH: Final = 50


@dataclass(frozen=True, kw_only=True)
class _Purpose:
    """Purpose of a fork."""

    origin: Origin = "fork"
    id: UUID | None = None
    name: str = ""
    checks: list[CheckResult] | None = None


@dataclass(frozen=True, kw_only=True)
class _TreeData:
    """Data on the runs of a tree that is not in their rows."""

    # By derived run; a run of a session or of a rerun has a diff with its source.
    sessions: Mapping[UUID, ReplaySession]
    diffs: Mapping[UUID | None, UUID]
    purposes: Mapping[UUID, _Purpose]
    # By diff.
    scores: Mapping[UUID, tuple[float | None, ...]]
    latencies: Mapping[UUID, float | None]
    captions: Captions
    # Steps before the fork that are not exact, by run and label.
    inexact_counts: Mapping[UUID, Mapping[str, int]]


def tree(requested_run: Run) -> RunTree:
    """The whole tree that contains a run."""
    root = find_root(requested_run)
    levels, left_out = _levels(root)
    children: dict[UUID | None, list[Run]] = defaultdict(list)
    for run in levels:
        children[run.source_run_id].append(run)
    data = _load_data([root, *levels])
    runs_by_depth = _in_order(root, children, 0)
    runs = [_view(run, depth, data, root) for run, depth in runs_by_depth]
    return RunTree(root=root.id, asked=requested_run.id, runs=runs, left_out=left_out)


def find_root(run: Run) -> Run:
    """The recorded run that a fork derives from."""
    for _ in range(_MAX_DEPTH):
        if run.source_run is None:
            break
        run = run.source_run
    return run


def _levels(root: Run) -> tuple[list[Run], int]:
    """Forks level by level up to the page limit, and the number of others on the levels read.

    A deleted fork is shown only if it has forks itself.
    """
    runs: list[Run] = []
    level = [root.id]
    forks = Run.objects.filter(source_run=OuterRef("id"))
    for _ in range(_MAX_DEPTH):
        children = (
            Run.objects.filter(Q(deletion__isnull=True) | Q(Exists(forks)), source_run__in=level)
            .order_by("id")
            .select_related("verdict")
            .defer("search", "metadata")
        )
        rows = list(children[: MAX_RUNS - len(runs)])
        if len(rows) + len(runs) >= MAX_RUNS:
            return [*runs, *rows], children.count() - len(rows)
        if not rows:
            break
        runs += rows
        level = [run.id for run in rows]
    return runs, 0


def _in_order(run: Run, children: Mapping[UUID | None, Sequence[Run]], depth: int) -> Iterator[tuple[Run, int]]:
    yield run, depth
    for child in children.get(run.id, ()):
        yield from _in_order(child, children, depth + 1)


def _load_data(runs: Collection[Run]) -> _TreeData:
    rows = ReplaySession.objects.filter(run__in=runs).select_related("profile").defer("plan", "planned")
    sessions = {row.run_id: row for row in rows if row.run_id is not None}
    ids = [row.id for row in sessions.values()]
    diffs = {row.run_id: row.diff_id for row in sessions.values() if row.diff_id is not None} | _rerun_diffs(runs)
    columns = ("id", "ars", "output_similarity", "tool_accuracy")
    reports = DiffReport.objects.filter(id__in=diffs.values())
    latencies = Attempt.objects.filter(session__in=ids).values_list("session").annotate(Sum("duration_ms"))
    return _TreeData(
        sessions=sessions,
        diffs=diffs,
        purposes=_purposes(ids),
        latencies=dict(latencies),
        captions=captions_of(runs),
        inexact_counts=_inexact_counts(runs),
        scores={id: tuple(scores) for id, *scores in reports.values_list(*columns)},
    )


def _inexact_counts(runs: Collection[Run]) -> dict[UUID, dict[str, int]]:
    """Count the steps before the fork that are not exact: agents that go on after it, and steps of a forked replay."""
    forks = [run.id for run in runs if run.source_run_id and (run.cached_count or run.simulated_count)]
    counts: dict[UUID, dict[str, int]] = {}
    if forks:
        steps = Step.objects.filter(run__in=forks, sequence_no__lt=F("run__fork_sequence_no"))
        rows = steps.filter(label__in=REPLAY_LABELS).values_list("run_id", "label").annotate(Count("id"))
        for run_id, label, count in rows:
            counts.setdefault(run_id, {})[label] = count
    return counts


def _labels_before(run: Run, inexact_counts: Mapping[str, int]) -> LabelCounts:
    count = (run.fork_sequence_no or 1) - 1 if run.source_run_id else 0
    cached, simulated = (inexact_counts.get(label, 0) for label in REPLAY_LABELS)
    return LabelCounts(live=0, exact=count - cached - simulated, cached=cached, simulated=simulated)


def _rerun_diffs(runs: Collection[Run]) -> dict[UUID | None, UUID]:
    """Diff with its source of each run that an agent made."""
    reruns = Rerun.objects.filter(run__in=runs).values_list("run_id", "diff_id")
    return {run_id: diff_id for run_id, diff_id in reruns if diff_id is not None}


def _purposes(sessions: Collection[UUID]) -> dict[UUID, _Purpose]:
    """Purpose of each session, if it has one."""
    return {
        **_experiment_purposes(sessions),
        **_bisection_purposes(sessions),
        **_proof_purposes(sessions),
        **_control_purposes(sessions),
    }


def _experiment_purposes(sessions: Collection[UUID]) -> dict[UUID, _Purpose]:
    purposes: dict[UUID, _Purpose] = {}
    names: dict[UUID, dict[int, str]] = {}
    for row in ExperimentRow.objects.filter(session__in=sessions).select_related("experiment__source_run"):
        experiment = row.experiment
        if experiment.id not in names:
            cells = matrix.cells(ExperimentRequest.model_validate(experiment.request))
            names[experiment.id] = {
                cell.number: ", ".join(setting.value for setting in cell.settings) for cell in cells
            }
        # Without a name of its own, an experiment has that of its run, which the tree shows above.
        title = "" if experiment.name == experiment.source_run.name else f"{experiment.name}: "
        name = f"{title}{names[experiment.id][row.cell]}, sample {row.sample}"
        checks = (row.result or {}).get("checks")
        purposes[row.session_id] = _Purpose(origin="experiment", id=experiment.id, name=name, checks=_checks(checks))
    return purposes


def _bisection_purposes(sessions: Collection[UUID]) -> dict[UUID, _Purpose]:
    return {
        probe.session_id: _Purpose(
            origin="bisection",
            id=probe.bisection_id,
            name=f"probe {probe.number}",
            checks=_checks(probe.detail.get("checks")),
        )
        for probe in BisectionProbe.objects.filter(session__in=sessions)
    }


def _proof_purposes(sessions: Collection[UUID]) -> dict[UUID, _Purpose]:
    rows = ProofProbe.objects.filter(session__in=sessions).values_list("session_id", "proof__diff_id", "number")
    return {session: _Purpose(origin="proof", id=diff, name=f"probe {number}") for session, diff, number in rows}


def _control_purposes(sessions: Collection[UUID]) -> dict[UUID, _Purpose]:
    rows = UnchangedReplay.objects.filter(session__in=sessions).values_list("session_id", "diff_id")
    return {session: _Purpose(origin="unchanged", id=diff, name="without the changes") for session, diff in rows}


def _checks(results: Any) -> list[CheckResult] | None:
    return None if results is None else [CheckResult.model_validate(result) for result in results]


def _view(run: Run, depth: int, data: _TreeData, root: Run) -> TreeRun:
    session = data.sessions.get(run.id)
    purpose = (
        data.purposes.get(session.id, _Purpose())
        if session
        else _Purpose(origin="recorded" if run.id == root.id else "fork")
    )
    diff = data.diffs.get(run.id)
    ars, output, tools = data.scores.get(diff, (None,) * 3) if diff else (None,) * 3
    counts = {"exact": run.exact_count, "cached": run.cached_count, "simulated": run.simulated_count}
    caption = data.captions[run.id].caption
    if session and caption.change is None:
        # A probe, or a fork from before changes were stored.
        caption = caption.model_copy(update={"change": change_of(session)})
    return TreeRun(
        **dict(caption),
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
        labels=LabelCounts(live=run.step_count - sum(counts.values()), **counts),
        labels_before_fork=_labels_before(run, data.inexact_counts.get(run.id, {})),
        fork_sequence_no=run.fork_sequence_no,
        origin=purpose.origin,
        origin_id=purpose.id,
        origin_name=purpose.name,
        session=session.id if session else run.session_id,
        session_status=session.status if session else None,
        diff=diff,
        ars=ars,
        output_similarity=output,
        tool_accuracy=tools,
        tokens_in=run.tokens_in,
        tokens_out=run.tokens_out,
        cost_usd=float(run.cost_usd) if run.cost_usd is not None else None,
        latency_ms=data.latencies.get(session.id) if session and session.engine == Engine.FOLLOW else run.duration_ms,
        checks=purpose.checks,
        started_at=run.started_at,
        created_at=run.created_at,
    )
