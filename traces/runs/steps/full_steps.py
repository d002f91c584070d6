"""REST endpoint for programs: pages of a run's steps with their payloads."""

from collections.abc import Sequence
from typing import Final

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from traces.core.json_access import as_object
from traces.http.paging import page_of
from traces.http.responses import PROBLEMS, path, query
from traces.http.search_words import words_of
from traces.models import Run, Step
from traces.payloads.missing_parts import Readable
from traces.runs import queries
from traces.runs.presenters import StepDict, end_of, step_summary, tags_in
from traces.schemas import FullStepList
from traces.storage import artifacts, integrity

# Steps per response: payloads of a long conversation grow with every step.
_MAX_LIMIT: Final = 500
_DEFAULT_LIMIT: Final = 100
_COLUMNS: Final = ("external_id", "started_at", "error", "signature", "call_id", "tokens_cached", "detail")
_PAYLOADS: Final = {"input": "input_ref", "output": "output_ref", "attributes": "attributes_ref"}


class FullStepsView(APIView):
    @extend_schema(
        operation_id="list_full_steps",
        parameters=[
            path("id", "The run's id, a unique prefix of it, its external id, or `last`."),
            query("q", "Words; a step matches if it contains all of them."),
            query("after", "Only steps after this sequence number."),
            query("limit", f"Steps per page; at most {_MAX_LIMIT}."),
        ],
        responses={200: FullStepList, **PROBLEMS},
    )
    def get(self, request: Request, id: str) -> Response:
        """List steps with their payloads, in sequence order."""
        after, limit = page_of(request.query_params, maximum=_MAX_LIMIT, default=_DEFAULT_LIMIT)
        words = words_of(request.query_params.get("q", ""))
        steps, rest = full_steps(queries.find_run(id), after=after, limit=limit, words=words)
        return Response({"steps": steps, "next": rest})


def full_steps(run: Run, *, after: int, limit: int, words: Sequence[str] = ()) -> tuple[list[StepDict], int | None]:
    """Return a page of steps in the shape of `FullStep`, and the `after` of the next page."""
    rows = queries.steps(run.id, after=after, limit=limit + 1, words=words)
    page = rows[:limit]
    refs = {getattr(step, column) for step in page for column in _PAYLOADS.values()}
    payloads = artifacts.readable(refs)
    steps = [_full_step(step, run, payloads) for step in page]
    return steps, page[-1].sequence_no if len(rows) > limit else None


def _full_step(step: Step, run: Run, payloads: Readable) -> StepDict:
    refs = {field: getattr(step, column) for field, column in _PAYLOADS.items()}
    values = {field: payloads.values.get(ref) for field, ref in refs.items()}
    losses = integrity.find_lost({field: ref for field, ref in refs.items() if payloads.lacks(ref)})
    attributes = as_object(values["attributes"])
    return {
        **step_summary(step, run.started_at),
        **{name: getattr(step, name) for name in _COLUMNS},
        **values,
        "attributes": attributes,
        "tags": tags_in(attributes),
        "ended_at": end_of(step.started_at, step.duration_ms),
        "unavailable": [payload.field for payload in losses],
        "lost": [payload.document for payload in losses],
    }
