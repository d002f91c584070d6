"""Caches: real answers to equal or similar calls in any sealed run of the app."""

from collections.abc import Collection, Iterable
from typing import Final
from uuid import UUID

from django.db import connection
from django.db.models import Q

from replay.core.calls import LIVE_REASONS, CachedAnswer
from replay.resolution import tool_matching
from traces.call_index import tool_calls
from traces.core.json_types import JSONObject, JSONValue
from traces.core.vocabulary import Label, StepStatus, StepType
from traces.models import ReducedSignature, Run, Step
from traces.payloads.parts import MissingPart
from traces.signatures.call_shapes import shape_of
from traces.signatures.ignore_rules import NOTHING, Ignoring, is_reduced
from traces.storage import artifacts, bulk

# Recorded, or given by a live call. What a replay took over is a copy, found where it came from: a copy of a
# placeholder, of a what-if or of the answer to a call much like this one must not pass for this call's answer.
_REAL: Final = Q(label=Label.LIVE) | Q(reason__in=LIVE_REASONS)
_TRIED: Final = 5


def _same_call(app: str, signature: str) -> Q:
    """Steps with this signature, or with one that is this under the app's ignore list."""
    if not is_reduced(signature):
        return Q(signature=signature)
    same = ReducedSignature.objects.filter(ignore_list__app=app, reduced=signature)
    return Q(signature__in=same.values("signature"))


def lookup(app: str, signature: str, *, exclude: Collection[UUID] = ()) -> CachedAnswer | None:
    """The newest answer that can be read."""
    if not is_reduced(signature) and not _is_known(signature):
        return None
    found = (
        Step.objects.filter(_REAL, _same_call(app, signature), run__app=app, run__sealed_at__isnull=False)
        .filter(status=StepStatus.OK)
        .exclude(output_ref="")
        .exclude(id__in=exclude)
        .order_by("-id")
        .values_list("id", "run_id", "sequence_no", "output_ref", "status")[:_TRIED]
    )
    for step_id, run_id, number, output_ref, status in found:
        try:
            output = artifacts.payload(output_ref)
        except MissingPart:
            continue
        where: JSONObject = {"run": str(run_id), "step": number, "id": str(step_id), "similarity": 1.0}
        return CachedAnswer(output_ref=output_ref, output=output, status=StepStatus(status), where=where)
    return None


def _is_known(signature: str) -> bool:
    """Whether any step has this signature. A plan asks for thousands that none has: to build a query takes longer."""
    with connection.cursor() as cursor:
        table = connection.ops.quote_name(Step._meta.db_table)
        cursor.execute(f"SELECT 1 FROM {table} WHERE signature = %s LIMIT 1", [signature])
        return cursor.fetchone() is not None


def is_any_recorded(signatures: Iterable[str]) -> bool:
    """Whether any step, of whatever run and however it was answered, has one of these signatures."""
    return any(Step.objects.filter(signature__in=some).exists() for some in bulk.chunks(signatures))


def similar(
    run: Run, tool: str, arguments: JSONValue, threshold: float, ignoring: Ignoring = NOTHING
) -> CachedAnswer | None:
    """The answer to the most similar tool call of a sealed run: of this run, else of the app; of equals the newest.

    What the app's ignore list leaves out is not compared.
    """
    shape = shape_of(tool, ignoring.reduced(StepType.TOOL, tool, arguments))
    under = ignoring.digest if ignoring.touches(StepType.TOOL, tool) else ""
    asked = tool_calls.Asked(app=run.app, shape=shape, under=under)
    long = _long(asked, tool, threshold, ignoring)
    for within in (run.id, None):
        found = [*_kept(asked, threshold, within), *(one for one in long if within in {None, one[1][0]})]
        hits = (_hit(*place, score) for score, place in sorted(found, key=_score, reverse=True))
        if (hit := next(filter(None, hits), None)) is not None:
            return hit
    return None


_Place = tuple[float, tuple[UUID, int]]


def _kept(asked: tool_calls.Asked, threshold: float, run: UUID | None) -> list[_Place]:
    """The most similar of the calls whose texts are kept, wherever it was made."""
    candidates = tool_calls.alike(asked, threshold, run=run)
    best = tool_matching.most_alike(tool_calls.joined(asked.shape), candidates, threshold)
    return [] if best is None else [(best[1], place) for place in tool_calls.places(asked, best[0], run=run)]


def _long(asked: tool_calls.Asked, tool: str, threshold: float, ignoring: Ignoring) -> list[_Place]:
    """Of the calls with long texts those that have most in common with this one, compared as they were made."""
    marks = tool_calls.marks_alike(asked, threshold)
    near = tool_matching.nearest_marks(tool_calls.mark(asked), marks) if marks else []
    found: list[_Place] = []
    for one in near:
        for place in tool_calls.places_of_mark(asked, one):
            score = _alike(asked, tool, threshold, ignoring, place)
            found += [] if score is None else [(score, place)]
    return found


def _alike(
    asked: tool_calls.Asked, tool: str, threshold: float, ignoring: Ignoring, place: tuple[UUID, int]
) -> float | None:
    """How similar the call of a recorded step is; None where that cannot be read, or is not enough."""
    ref = Step.objects.values_list("input_ref", flat=True).get(run_id=place[0], sequence_no=place[1])
    try:
        recorded = artifacts.payload(ref) if ref else None
    except MissingPart:
        return None
    shape = shape_of(tool, ignoring.reduced(StepType.TOOL, tool, recorded))
    same = shape.rigid == asked.shape.rigid
    best = same and tool_matching.most_alike(tool_calls.joined(asked.shape), [tool_calls.joined(shape)], threshold)
    return best[1] if best else None


def _score(found: _Place) -> float:
    return found[0]


def _hit(run_id: UUID, number: int, similarity: float) -> CachedAnswer | None:
    """What a recorded tool call answered, if that can be read."""
    columns = ("id", "output_ref", "status")
    step_id, output_ref, status = Step.objects.values_list(*columns).get(run_id=run_id, sequence_no=number)
    try:
        output = artifacts.payload(output_ref)
    except MissingPart:
        return None
    where: JSONObject = {
        "run": str(run_id),
        "step": number,
        "id": str(step_id),
        "similarity": round(similarity, 4),
    }
    return CachedAnswer(output_ref=output_ref, output=output, status=StepStatus(status), where=where)
