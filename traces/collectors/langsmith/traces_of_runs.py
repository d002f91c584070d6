"""To which trace a LangSmith record belongs. Current clients state it; older ones name only the run."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from traces.core.json_access import as_text, first_member
from traces.core.json_types import JSONObject
from traces.importers.formats.tracing import langsmith
from traces.models import Step
from traces.recordings import addresses
from traces.storage import bulk

RUN: Final = "langsmith-run"


def find_traces(runs: Sequence[JSONObject], feedback: Sequence[JSONObject]) -> dict[str, str]:
    """Return the trace of each run that these records are about.

    A run that nothing is known about counts as the root of a trace. For a patch that is true, or its post comes later
    and moves it (`arrivals.move`).
    """
    traces = {as_text(run["id"]): trace for run in runs if (trace := own_trace(run))}
    parents = {as_text(run["id"]): as_text(run.get("parent_run_id")) for run in runs}
    subjects = {*parents, *(subject_of(record) for record in feedback)} - traces.keys()
    traces |= _stored_traces(subjects | {parents[id] for id in subjects & parents.keys()})
    return traces | {id: _resolve(id, traces, parents) for id in sorted(subjects)}


def own_trace(record: JSONObject) -> str:
    """Return the trace that a run or feedback states, or an empty text."""
    dotted_order = as_text(record.get("dotted_order")).partition(".")[0]
    return as_text(record.get("trace_id")) or dotted_order.partition("Z")[2]


def subject_of(feedback: JSONObject) -> str:
    """Return the id of the run that feedback is about."""
    return as_text(first_member(feedback, "run_id", "trace_id"))


def _resolve(id: str, traces: Mapping[str, str], parents: Mapping[str, str]) -> str:
    """Follow the parents to a run whose trace is known, or to the topmost run."""
    visited_ids: set[str] = set()
    while id not in traces and parents.get(id) and id not in visited_ids:
        visited_ids.add(id)
        id = parents[id]
    return traces.get(id, id)


def _stored_traces(run_ids: Iterable[str]) -> dict[str, str]:
    """Return the traces of runs that arrived before."""
    ids = {id for id in run_ids if id}
    traces: dict[str, str] = {}
    for chunk in bulk.chunks(ids):
        recorded_steps = Step.objects.filter(source_step__isnull=True, run__format=langsmith.FORMAT)
        steps = recorded_steps.filter(external_id__in=chunk)
        traces |= dict(steps.values_list("external_id", "run__external_id"))
    return traces | {id: address.external_id for id, address in addresses.find(RUN, ids).items()}
