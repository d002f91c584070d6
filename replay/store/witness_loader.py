"""Load other runs of an app as witnesses: content that is equal in all of them is configuration."""

from collections.abc import Iterable, Sequence
from typing import Final
from uuid import UUID

from replay.core.bounded_cache import BoundedCache
from replay.core.graph import Node, Witness
from replay.inputs.witnesses import WitnessStep, places, witness
from traces.core.vocabulary import RunSource
from traces.models import Run, Step
from traces.origins import stored_provenance

_RUNS: Final = 8  # latest
_MAX_STEPS: Final = 2_000  # of a witness
# Steps of sealed runs, because every replay of a proof or an experiment has the same witnesses; about 0.5 kB per step.
_STEPS: Final[BoundedCache[Sequence[WitnessStep]]] = BoundedCache(capacity=30_000, seconds=60.0)
_ORIGINAL: Final = (RunSource.LIVE, RunSource.IMPORT, RunSource.BUNDLE)


def load_witnesses(
    run_id: UUID, fork: int, nodes: Iterable[Node], *, counterpart: UUID | None = None
) -> tuple[Witness, ...]:
    """Load other recordings of the app if content of unknown origin appears after the fork.

    Replays are no witnesses: their content is copied from a recording. The run that this one is compared with is one
    even if many recordings are newer.
    """
    if not any(item.first_step > fork for node in nodes for item in node.unexplained):
        return ()
    run = Run.objects.only("app", "step_count").get(id=run_id)
    if run.step_count > _MAX_STEPS:
        return ()
    recordings = Run.objects.filter(
        app=run.app,
        source__in=_ORIGINAL,
        fork_sequence_no__isnull=True,
        sealed_at__isnull=False,
        step_count__lte=_MAX_STEPS,
    ).exclude(id=run_id)
    numbers = places(_steps(run_id))
    ids = list(recordings.order_by("-id").values_list("id", flat=True)[:_RUNS])
    if counterpart is not None and counterpart not in ids and recordings.filter(id=counterpart).exists():
        ids = [counterpart, *ids[: _RUNS - 1]]
    return tuple(witness(_steps(recording), numbers) for recording in ids)


def _steps(run_id: UUID) -> Sequence[WitnessStep]:
    if (known_steps := _STEPS.get(run_id)) is not None:
        return known_steps
    stored_provenance.ensure(run_id)
    rows = Step.objects.filter(run_id=run_id).order_by("sequence_no")
    steps = [
        WitnessStep(
            no=no, type=type, name=name, output_ref=ref, digests=tuple(str(item["digest"]) for item in items or ())
        )
        for no, type, name, ref, items in rows.values_list("sequence_no", "type", "name", "output_ref", "unexplained")
    ]
    _STEPS.store(run_id, steps, weight=1 + len(steps))
    return steps
