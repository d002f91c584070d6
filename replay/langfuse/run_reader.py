"""Read a stored run for its export, page by page."""

from collections.abc import Iterator
from typing import Any, Final
from uuid import UUID

from replay.langfuse.core.events import Event, RunFacts, StepFacts, step_event, trace_event
from traces.core.json_access import as_string
from traces.core.json_types import JSONObject
from traces.core.step_header import header_of
from traces.core.vocabulary import StepType
from traces.models import Run, Step
from traces.payloads.missing_parts import Readable
from traces.runs import queries
from traces.storage import artifacts

_PAGE: Final = 50  # small, since steps of a long conversation are large
_PLAIN: Final = (
    "id",
    "label",
    "reason",
    "started_at",
    "duration_ms",
    "error",
    "retries",
    "detail",
)


def events(run: Run, *, after: int = 0) -> Iterator[Event]:
    """Yield the events of a run in order, starting after the first `after`: the trace, then its steps."""
    facts = _run_facts(run)
    if after == 0:
        yield trace_event(facts)
    last_no = max(0, after - 1)
    while page := queries.steps(run.id, after=last_no, limit=_PAGE):
        for step in _step_facts(run.id, page):
            yield step_event(step, facts)
        last_no = page[-1].sequence_no


def count(run: Run) -> int:
    return run.step_count + 1


def _run_facts(run: Run) -> RunFacts:
    ends = Step.objects.filter(run_id=run.id).order_by("sequence_no")
    first = ends.filter(parent_no=None).first()
    last = ends.exclude(output_ref="").last()
    root = first if first is not None and first.type == StepType.AGENT else None
    refs = {"input": first.input_ref if first else "", "output": _answer_ref(root, last)}
    payloads = artifacts.readable(refs.values()).values
    session = run.metadata.get("session_id")
    return RunFacts(
        id=run.id,
        name=run.name,
        app=run.app,
        status=run.status,
        sealed_at=run.sealed_at or run.created_at,
        source=run.source,
        environment=run.environment,
        started_at=run.started_at,
        tags=list(run.tags),
        input=payloads.get(refs["input"]),
        output=payloads.get(refs["output"]),
        metadata=_metadata(run),
        session=str(run.session_id or as_string(session)),
        replay=_replay(run),
    )


def _answer_ref(root: Step | None, last: Step | None) -> str:
    """Return the reference of the run's result: the agent's output, or else the last output."""
    if root is not None and root.output_ref:
        return root.output_ref
    return last.output_ref if last is not None else ""


def _metadata(run: Run) -> JSONObject:
    return {name: value for name, value in run.metadata.items() if name != "forkpoint"}


def _replay(run: Run) -> JSONObject:
    if run.source_run_id is None:
        return {}
    return {
        "source_run": str(run.source_run_id),
        "fork_sequence_no": run.fork_sequence_no,
        "labels": {"exact": run.exact_count, "cached": run.cached_count, "simulated": run.simulated_count},
    }


def _step_facts(run_id: UUID, page: list[Step]) -> Iterator[StepFacts]:
    refs = {ref for step in page for ref in (step.input_ref, step.output_ref) if ref}
    payloads = artifacts.readable(refs)
    parents = {step.parent_no for step in page if step.parent_no is not None}
    parent_rows = Step.objects.filter(run_id=run_id, sequence_no__in=parents).values_list("sequence_no", "id")
    ids: dict[int, UUID] = dict(parent_rows)
    for step in page:
        yield _facts(step, payloads, None if step.parent_no is None else ids[step.parent_no])


def _facts(step: Step, payloads: Readable, parent: UUID | None) -> StepFacts:
    plain: dict[str, Any] = {name: getattr(step, name) for name in _PLAIN}
    refs = {"input": step.input_ref, "output": step.output_ref}
    return StepFacts(
        **header_of(step),
        **plain,
        no=step.sequence_no,
        parent=parent,
        cost_usd=None if step.cost_usd is None else float(step.cost_usd),
        input=payloads.values.get(step.input_ref),
        output=payloads.values.get(step.output_ref),
        unavailable=tuple(f"{name} ({ref})" for name, ref in refs.items() if payloads.lacks(ref)),
    )
