"""Load other runs of an app as witnesses: content that is equal in all of them is configuration."""

from collections.abc import Iterable
from typing import Final
from uuid import UUID

from replay.core.graph import Node, Witness
from traces.core.vocabulary import RunSource
from traces.models import Run, Step

_RUNS: Final = 8  # latest
_MAX_STEPS: Final = 2_000  # of a witness
_ORIGINAL: Final = (RunSource.LIVE, RunSource.IMPORT, RunSource.BUNDLE)
# Type and name of a step, and its index among the steps with both.
Place = tuple[str, str, int]


def load_witnesses(run_id: UUID, fork: int, nodes: Iterable[Node]) -> tuple[Witness, ...]:
    """Load other recordings of the app if content of unknown origin appears after the fork.

    Replays are no witnesses: their content is copied from a recording.
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
    places = {place: no for no, place in _places(run_id)}
    return tuple(
        _witness(recording, places) for recording in recordings.order_by("-id").values_list("id", flat=True)[:_RUNS]
    )


def _places(run_id: UUID) -> list[tuple[int, Place]]:
    """Number and place of each step."""
    counts: dict[tuple[str, str], int] = {}
    places: list[tuple[int, Place]] = []
    steps = Step.objects.filter(run_id=run_id).order_by("sequence_no")
    for no, type, name in steps.values_list("sequence_no", "type", "name"):
        nth = counts[type, name] = counts.get((type, name), 0) + 1
        places.append((no, (type, name, nth)))
    return places


def _witness(run_id: UUID, places: dict[Place, int]) -> Witness:
    steps = Step.objects.filter(run_id=run_id).values_list("sequence_no", "type", "name", "output_ref", "unexplained")
    by_no = {no: (type, name, ref, items or []) for no, type, name, ref, items in steps}
    return Witness(
        outputs={places[place]: by_no[no][2] for no, place in _places(run_id) if place in places},
        contents=frozenset(
            (type, name, str(item["digest"])) for type, name, _, items in by_no.values() for item in items
        ),
    )
