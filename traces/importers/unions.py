"""Union of two parts of one trace: spans that are stored, and others that came without them. Pure.

    stored: a (root), b     new: c, whose parent a is missing     union: a, b, c with parent a

A span keeps the id of a missing parent among its attributes, so that the tree becomes whole again.
"""

from collections.abc import Mapping
from dataclasses import replace

from traces.core.json_access import as_text
from traces.core.recorded_run import RecordedRun, RecordedStep
from traces.core.vocabulary import RunStatus, StepStatus
from traces.importers.common.run_builder import (
    MISSING_PARENT,
    fit_judgements,
    match_calls,
    merge_records,
    sort_causally,
)
from traces.importers.files.errors import BadFile
from traces.importers.otlp import assembly
from traces.importers.otlp.calls.agent_calls import add_agent_calls, without_agent_calls
from traces.importers.otlp.calls.client_spans import join_client_spans


def unite(base: RecordedRun, new: RecordedRun) -> RecordedRun | None:
    """Return the run that contains the steps of both parts; None if their parents form a cycle.

    Of a step in both, the one with more payloads counts. The part with the root decides how the run is described.
    """
    new_has_root = any(map(_is_root, new.steps))
    main, other = (new, base) if new_has_root else (base, new)
    try:
        steps = _joined_steps(base, new)
    except BadFile:
        return None
    keys = [step.key for step in steps]
    starts = [start for part in (base, new) if (start := part.started_at)]
    ends = [end for part in (base, new) if (end := part.ended_at)]
    return replace(
        main,
        steps=steps,
        environment=main.environment or other.environment,
        source=new.source,
        status=_status(main, steps),
        started_at=min(starts, default=None),
        ended_at=max(ends, default=None),
        tags=tuple(dict.fromkeys((*main.tags, *other.tags))),
        metadata=merge_records(other.metadata, main.metadata),
        judgements=fit_judgements((*base.judgements, *new.judgements), keys),
        retractions=fit_judgements(new.retractions, keys),
    )


def _is_root(step: RecordedStep) -> bool:
    return step.parent is None and MISSING_PARENT not in step.attributes


def _joined_steps(base: RecordedRun, new: RecordedRun) -> tuple[RecordedStep, ...]:
    by_key = {step.key: step for step in base.steps}
    for step in new.steps:
        earlier = by_key.get(step.key)
        by_key[step.key] = step if earlier is None else _fuller(earlier, step)
    steps = [_with_parent(step, by_key) for step in by_key.values()]
    if new.format != assembly.FORMAT:
        return tuple(match_calls(sort_causally(steps)))
    steps = join_client_spans(without_agent_calls(steps))
    return tuple(add_agent_calls(match_calls(sort_causally(steps))))


def _fuller(earlier: RecordedStep, later: RecordedStep) -> RecordedStep:
    has_less = (later.input is None and earlier.input is not None) or (
        later.output is None and earlier.output is not None
    )
    return earlier if has_less else later


def _with_parent(step: RecordedStep, by_key: Mapping[str, RecordedStep]) -> RecordedStep:
    parent = as_text(step.attributes.get(MISSING_PARENT))
    if step.parent is not None or parent not in by_key:
        return step
    attributes = {name: value for name, value in step.attributes.items() if name != MISSING_PARENT}
    return replace(step, parent=parent, attributes=attributes)


def _status(main: RecordedRun, steps: tuple[RecordedStep, ...]) -> RunStatus:
    has_failed = any(step.status is StepStatus.ERROR for step in steps if step.parent is None)
    return RunStatus.FAILED if has_failed else main.status
