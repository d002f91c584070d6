"""Reading runs, steps and provenance."""

from collections.abc import Sequence
from uuid import UUID

from django.db.models import Q

from traces.models import Edge, Run, Step
from traces.problems import Ambiguous, NotFound

_SHOWN = 5


def find_run(ref: str) -> Run:
    """The run of an id, a unique beginning of one, an external id, or `last`; raises `NotFound`, `Ambiguous`."""
    if ref == "last":
        run = Run.objects.order_by("-id").first()
        if run is None:
            raise NotFound("there is no run yet")
        return run
    if (key := as_uuid(ref)) is not None and (run := Run.objects.filter(id=key).first()):
        return run
    matches = list(Run.objects.filter(external_id=ref).order_by("-id")[:_SHOWN]) or _by_beginning(ref)
    if not matches:
        raise NotFound(f"there is no run {ref!r}")
    if len(matches) > 1:
        raise Ambiguous(ref, [f"{run.id} ({run.app})" for run in matches])
    return matches[0]


def find_step(run: Run, ref: str | int) -> Step:
    """A step by sequence number, id, or the recording's own id; raises `NotFound`."""
    steps = Step.objects.filter(run=run)
    if isinstance(ref, int) or ref.isdecimal():
        found = steps.filter(sequence_no=int(ref)).first() if int(ref) < 2**31 else None
    elif (key := as_uuid(ref)) is not None:
        found = steps.filter(id=key).first()
    else:
        found = None
    found = found or steps.filter(external_id=str(ref)).order_by("sequence_no").first()
    if found is None:
        raise NotFound(f"run {run.id} has no step {ref!r}")
    return found


def steps(run_id: UUID, after: int = 0, limit: int | None = None) -> list[Step]:
    """The steps of a run in sequence order, after a sequence number."""
    found = Step.objects.filter(run_id=run_id, sequence_no__gt=after).order_by("sequence_no")
    return list(found if limit is None else found[:limit])


def edges(run_id: UUID) -> list[Edge]:
    """The provenance of a run, by consumer."""
    return list(Edge.objects.filter(run_id=run_id).order_by("consumer_no", "producer_no", "kind", "consumer_path"))


def edges_at(run_id: UUID, sequence_no: int) -> Sequence[Edge]:
    """The edges into and out of one step."""
    ends = Q(consumer_no=sequence_no) | Q(producer_no=sequence_no)
    return list(Edge.objects.filter(ends, run_id=run_id).order_by("consumer_no", "producer_no"))


def as_uuid(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None


def _by_beginning(ref: str) -> list[Run]:
    """Runs whose id begins with `ref`: a range of the primary key, on both databases."""
    digits = ref.replace("-", "").lower()
    if not 4 <= len(digits) < 32 or any(digit not in "0123456789abcdef" for digit in digits):
        return []
    low, high = UUID(digits.ljust(32, "0")), UUID(digits.ljust(32, "f"))
    return list(Run.objects.filter(id__gte=low, id__lte=high).order_by("-id")[:_SHOWN])
