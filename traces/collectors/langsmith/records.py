"""Records of LangSmith clients: each one is checked, and those of a trace become one segment."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

import orjson

from traces.collectors.json_bodies import JsonBody
from traces.collectors.langsmith import traces_of_runs
from traces.collectors.langsmith.traces_of_runs import subject_of
from traces.core.json_access import as_list, as_text
from traces.core.json_types import JSONObject
from traces.importers.files.errors import BadFile
from traces.importers.files.json_reader import require_object
from traces.importers.formats.tracing import langsmith, langsmith_feedback
from traces.recordings.arrivals import NewSegment

_VERBS: Final = ("post", "patch")
_FEEDBACK: Final = "feedback"
_LONGEST_ID: Final = 200


@dataclass(kw_only=True, slots=True)
class Split:
    """The records of a request as segments.

    `run_addresses` and `feedback_addresses` map ids to the traces that later requests may not state; `children` maps
    new runs below a root to their traces.
    """

    segments: list[NewSegment] = field(default_factory=list)
    problems: list[BadFile] = field(default_factory=list)
    run_addresses: dict[str, str] = field(default_factory=dict)
    feedback_addresses: dict[str, str] = field(default_factory=dict)
    children: dict[str, str] = field(default_factory=dict)


@dataclass(kw_only=True, slots=True)
class _Trace:
    lines: list[bytes] = field(default_factory=list)
    has_ended: bool = False


def split_batch(batch: JSONObject, body: JsonBody | None = None) -> Split:
    """Group the records of a batch by trace; name those that cannot be stored."""
    split = Split()
    runs = [(verb, run) for verb in _VERBS for run in _checked_records(batch, verb, body, split)]
    feedback = list(_checked_records(batch, _FEEDBACK, body, split))
    trace_ids = traces_of_runs.find_traces([run for _, run in runs], feedback)
    traces: dict[str, _Trace] = {}
    for verb, run in runs:
        _add_run(verb, run, trace_ids, traces, split)
    for record in feedback:
        trace_id = traces_of_runs.own_trace(record) or trace_ids[subject_of(record)]
        _add_line(traces, trace_id, _FEEDBACK, record)
        split.feedback_addresses[as_text(record.get("id"))] = trace_id
    split.segments = [_segment(trace_id, trace) for trace_id, trace in traces.items()]
    return split


def feedback_change(id: str, trace_id: str, change: JSONObject | None) -> NewSegment:
    """Return the segment that changes feedback, or deletes it if `change` is None."""
    traces: dict[str, _Trace] = {}
    _add_line(traces, trace_id, _FEEDBACK, {"id": id, langsmith_feedback.CHANGE: change})
    return _segment(trace_id, traces[trace_id])


def _checked_records(batch: JSONObject, name: str, body: JsonBody | None, split: Split) -> Iterator[JSONObject]:
    for index, item in enumerate(as_list(batch.get(name))):
        try:
            record = require_object(item, "")
            if body is not None:
                body.check(record)
            _check(record, name)
        except BadFile as problem:
            split.problems.append(problem.prefix_location(f"/{name}/{index}"))
        else:
            yield record


def _check(record: JSONObject, name: str) -> None:
    if name == _FEEDBACK and not (langsmith_feedback.is_feedback(record) and as_text(record.get("id"))):
        raise BadFile("only feedback on runs is stored, with a key and an id")
    if name != _FEEDBACK:
        langsmith.check_run(record)
    for field_name in ("id", "trace_id", "run_id", "parent_run_id"):
        id = as_text(record.get(field_name))
        if len(id) > _LONGEST_ID or "\0" in id:
            raise BadFile(f"an id has at most {_LONGEST_ID} characters, none of them NUL", f"/{field_name}")


def _add_run(verb: str, run: JSONObject, trace_ids: Mapping[str, str], traces: dict[str, _Trace], split: Split) -> None:
    id = as_text(run["id"])
    trace_id = trace_ids[id]
    _add_line(traces, trace_id, verb, run)
    if id == trace_id:
        traces[trace_id].has_ended |= bool(run.get("end_time"))
    elif verb == "post":
        split.children[id] = trace_id
        if not traces_of_runs.own_trace(run):
            split.run_addresses[id] = trace_id


def _add_line(traces: dict[str, _Trace], trace_id: str, name: str, record: JSONObject) -> None:
    # A patch may be moved to the trace of its post, so that the id of the run is not stated as its trace.
    is_own = trace_id in (record.get("id"), record.get("run_id"))
    # One record per line: one that cannot be read later does not affect the others.
    line = orjson.dumps({name: [record if is_own else {**record, "trace_id": trace_id}]})
    traces.setdefault(trace_id, _Trace()).lines.append(line)


def _segment(trace_id: str, trace: _Trace) -> NewSegment:
    return NewSegment(
        external_id=trace_id,
        format=langsmith.FORMAT,
        data=b"\n".join(trace.lines) + b"\n",
        has_ended=trace.has_ended,
    )
