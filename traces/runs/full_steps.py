"""Whole steps of a run, payloads and all, page by page: what programs read a run by."""

from collections.abc import Sequence
from typing import Final

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from traces.http.paging import page_of
from traces.http.responses import PROBLEMS, path, query
from traces.models import Run, Step
from traces.payloads.missing_parts import Readable
from traces.runs import queries, search
from traces.runs.presenters import STEP_COLUMNS, StepDict, end_of, step_dicts, tags_in
from traces.schemas import FullStepList
from traces.storage import artifacts, integrity

_MOST: Final = 500  # of one answer: payloads of a long conversation grow with every step
_DEFAULT: Final = 100
_COLUMNS: Final = ("external_id", "started_at", "error", "signature", "call_id", "tokens_cached", "detail")
_PAYLOADS: Final = {"input": "input_ref", "output": "output_ref", "attributes": "attributes_ref"}


class FullStepsView(APIView):
    @extend_schema(
        operation_id="list_full_steps",
        parameters=[
            path("id", "The run's id, a unique beginning of it, its external id, or `last`."),
            query("q", "Words that all occur in the step, anywhere in it."),
            query("after", "Only steps after this sequence number."),
            query("limit", f"How many; at most {_MOST}."),
        ],
        responses={200: FullStepList, **PROBLEMS},
    )
    def get(self, request: Request, id: str) -> Response:
        """Steps with their payloads, in sequence order."""
        after, limit = page_of(request.query_params, maximum=_MOST, default=_DEFAULT)
        words = search.words_of(request.query_params.get("q", ""))
        steps, rest = full_steps(queries.find_run(id), after=after, limit=limit, words=words)
        return Response({"steps": steps, "next": rest})


def full_steps(run: Run, *, after: int, limit: int, words: Sequence[str] = ()) -> tuple[list[StepDict], int | None]:
    """Steps in the shape of `FullStep`, and what to pass as `after` for the rest."""
    found = queries.steps(run.id, after=after, limit=limit + 1, words=words)
    shown = found[:limit]
    wanted = {getattr(step, column) for step in shown for column in _PAYLOADS.values()}
    payloads = artifacts.readable(wanted)
    steps = [_full(step, run, payloads) for step in shown]
    return steps, shown[-1].sequence_no if len(found) > limit else None


def _full(step: Step, run: Run, payloads: Readable) -> StepDict:
    row = [getattr(step, name) for name in STEP_COLUMNS]
    refs = {field: getattr(step, column) for field, column in _PAYLOADS.items()}
    found = {field: payloads.values.get(ref) for field, ref in refs.items()}
    lost = integrity.find_lost({field: ref for field, ref in refs.items() if payloads.lacks(ref)})
    attributes = found["attributes"] if isinstance(found["attributes"], dict) else {}
    return {
        **step_dicts([row], run.started_at)[0],
        **{name: getattr(step, name) for name in _COLUMNS},
        **found,
        "attributes": attributes,
        "tags": tags_in(attributes),
        "ended_at": end_of(step.started_at, step.duration_ms),
        "unavailable": [payload.field for payload in lost],
        "lost": [payload.document for payload in lost],
    }
