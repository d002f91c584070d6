"""Assembly of a run from the segments in which it arrived, each in the format of an importer."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from traces.core.recorded_run import RecordedRun
from traces.importers import registry
from traces.importers.files.errors import BadFile
from traces.importers.files.source import Source


@dataclass(frozen=True, kw_only=True, slots=True)
class SegmentContent:
    """Records of one run in the format of an importer; `file` is the name of the file, if they are a whole one."""

    format: str
    file: str
    data: bytes


@dataclass(frozen=True, kw_only=True, slots=True)
class Assembly:
    """The run of a recording, None if there is none yet, and the records that could not be read.

    `branches` are further runs in the same records: a session that was continued from an earlier message.
    """

    run: RecordedRun | None
    branches: Sequence[RecordedRun]
    problems: Sequence[BadFile]


def assemble(external_id: str, segments: Sequence[SegmentContent]) -> Assembly:
    """Build the run with this external id from its segments, in the order of their arrival.

    Segments of several formats may describe one run: the one with most steps is the run, and the others add judgements.
    """
    problems: list[BadFile] = []
    runs: list[RecordedRun] = []
    branches: list[RecordedRun] = []
    for format in dict.fromkeys(segment.format for segment in segments):
        sources = [
            Source(name=segment.file or format, data=segment.data) for segment in segments if segment.format == format
        ]
        try:
            for run in registry.get_importer(format).states(sources):
                (runs if run.external_id == external_id else branches).append(run)
        except BadFile as problem:
            problems.append(problem)
        problems += [problem for source in sources for problem in source.problems]
    return Assembly(run=_merge(runs), branches=branches, problems=problems)


def _merge(runs: Sequence[RecordedRun]) -> RecordedRun | None:
    if not runs:
        return None
    main = max(runs, key=lambda run: len(run.steps))
    judgements = tuple(judgement for run in runs if run is not main for judgement in run.judgements)
    return replace(main, judgements=(*main.judgements, *judgements)) if main.steps else None
