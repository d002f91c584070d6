"""What can be shown of a recording that cannot be assembled or stored as it is. Nothing acknowledged is hidden."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Final

from traces.core.recorded_run import RecordedRun, RecordedStep
from traces.core.vocabulary import RunStatus, StepStatus, StepType
from traces.errors import ProblemError
from traces.importers.assembly import Assembly, SegmentContent, assemble
from traces.ingest.prepare import prepare
from traces.redaction.redactor import Redaction

# Each attempt reads many segments again.
_MOST_ATTEMPTS: Final = 100
# Each repair prepares the whole run again.
_MOST_REPAIRS: Final = 50
_SHORT_NAME: Final = 100


def assemble_readable(external_id: str, segments: Sequence[SegmentContent]) -> Assembly | None:
    """Assemble what can be read without the segments that prevent it; None if there is nothing.

    Segments are tried together, and by halves where that fails.
    """
    best: Assembly | None = None
    readable: list[SegmentContent] = []
    pending = [list(segments)]
    for _ in range(_MOST_ATTEMPTS):
        if not pending:
            break
        part = pending.pop()
        if (assembly := _try_assemble(external_id, [*readable, *part])) is not None:
            best, readable = assembly, [*readable, *part]
        elif len(part) > 1:
            middle = len(part) // 2
            pending += [part[middle:], part[:middle]]
    return best


def repair(run: RecordedRun, problem: ProblemError, redaction: Redaction) -> tuple[RecordedRun, list[str]]:
    """Return the run without what cannot be stored, and what was wrong with it, of which `problem` is the first.

    Raises the `ProblemError` that remains.
    """
    problems: list[str] = []
    for _ in range(_MOST_REPAIRS):
        problems.append(f"{problem.detail} {problem.where}".strip())
        run = _remove_part(run, problem)
        try:
            prepare(run, redaction)
        except ProblemError as next_problem:
            problem = next_problem
        else:
            return run, problems
    raise problem


def stand_in(external_id: str, app: str, format: str, problem: str) -> RecordedRun:
    """Return a run whose only step says why there are no others.

    That is an output, so that what arrives later continues the run.
    """
    step = RecordedStep(
        key="unreadable", type=StepType.OUTPUT, name="nothing readable", status=StepStatus.PARTIAL, error=problem
    )
    return RecordedRun(
        external_id=external_id, name=external_id, app=app, format=format, steps=(step,), status=RunStatus.PARTIAL
    )


def _try_assemble(external_id: str, segments: Sequence[SegmentContent]) -> Assembly | None:
    with suppress(Exception):
        assembly = assemble(external_id, segments)
        return None if assembly.run is None else assembly
    return None


def _remove_part(run: RecordedRun, problem: ProblemError) -> RecordedRun:
    """Return the run without what a problem is about; raise it if the run is nothing without that."""
    _, name, *path = [*problem.where.split("/"), ""]
    if name == "steps" and len(path) > 1 and path[0].isdecimal():
        steps = list(run.steps)
        index = int(path[0])
        steps[index] = _bare_step(steps[index], index, field=path[1], problem=problem)
        return replace(run, steps=tuple(steps))
    match name:
        case "metadata":
            return replace(run, metadata={})
        case "judgements":
            return replace(run, judgements=())
        case "tags":
            return replace(run, tags=())
        case "name":
            return replace(run, name=run.external_id)
        case "started_at" | "ended_at":
            return replace(run, started_at=None, ended_at=None)
    raise problem


def _bare_step(step: RecordedStep, index: int, *, field: str, problem: ProblemError) -> RecordedStep:
    """Return the step without what cannot be stored, and with a note."""
    if field == "key":
        return replace(step, key=f"{step.key[:_SHORT_NAME]}#{index}")
    if field == "parent":
        return replace(step, parent=None, attributes={**step.attributes, "problem": str(problem)})
    return RecordedStep(
        key=step.key,
        type=step.type,
        name=step.name.encode(errors="replace").decode()[:_SHORT_NAME] or step.type,
        parent=step.parent,
        status=step.status,
        attributes={"problem": str(problem)},
    )
