"""Assembly of a run from the segments in which it arrived, each in the format of an importer."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from traces.core.recorded_run import RecordedRun
from traces.importers import registry
from traces.importers.common.run_builder import fit_judgements
from traces.importers.files.errors import BadFile
from traces.importers.files.source import SegmentSource
from traces.importers.formats.tracing import langfuse, langfuse_media


@dataclass(frozen=True, kw_only=True, slots=True)
class SegmentContent:
    """Records of one run in the format of an importer; `file` is the name of the file, if they are a whole one.

    They are read whenever they are looked at: those of a long run would take much memory together.
    """

    format: str
    file: str
    read: Callable[[], bytes]


@dataclass(frozen=True, kw_only=True, slots=True)
class Assembly:
    """What has arrived of a run, None if nothing has, and the records that could not be read.

    A run without steps has judgements of a run that arrives later or elsewhere. `has_ended` is None if the format marks
    the end of a run, so that it is known already. `branches` are further runs in the same records: a session that was
    continued from an earlier message.
    """

    run: RecordedRun | None
    branches: Sequence[RecordedRun]
    problems: Sequence[BadFile]
    has_ended: bool | None = None


def assemble(external_id: str, segments: Sequence[SegmentContent]) -> Assembly:
    """Build the run with this external id from its segments, in the order of their arrival.

    Segments of several formats may describe one run: the one with most steps is the run, and the others add judgements.
    Their steps are not shown, which is a problem.
    """
    problems: list[BadFile] = []
    runs: dict[str, RecordedRun] = {}
    branches: list[RecordedRun] = []
    for format in dict.fromkeys(segment.format for segment in segments):
        sources = [
            SegmentSource(segment.file or format, segment.read) for segment in segments if segment.format == format
        ]
        try:
            for run in registry.get_importer(format).states(sources):
                if run.external_id == external_id:
                    runs[format] = run
                else:
                    branches.append(run)
        except BadFile as problem:
            problems.append(problem)
        problems += [problem for source in sources for problem in source.problems]
    if not runs:
        return Assembly(run=None, branches=branches, problems=problems)
    # Of two of a size, one of them whichever arrived first.
    main = max(runs, key=lambda format: (len(runs[format].steps), format))
    problems += [
        BadFile(f"{len(run.steps)} steps came in the format {format}, and are not shown beside those in {main}")
        for format, run in sorted(runs.items())
        if format != main and run.steps
    ]
    test = registry.get_importer(main).has_ended
    media = langfuse_media.read_media(segment.read() for segment in segments if segment.format == langfuse.FORMAT)
    run = _merge(runs[main], [run for format, run in runs.items() if format != main])
    return Assembly(
        run=langfuse_media.restore(run, media),
        branches=branches,
        problems=problems,
        has_ended=None if test is None else test(runs[main]),
    )


def _merge(main: RecordedRun, parts: Sequence[RecordedRun]) -> RecordedRun:
    """Add the judgements of other parts to the run."""
    if not parts:
        return main
    judgements = [judgement for run in parts for judgement in run.judgements]
    retractions = [judgement for run in parts for judgement in run.retractions]
    keys = [step.key for step in main.steps]
    return replace(
        main,
        judgements=(*main.judgements, *fit_judgements(judgements, keys)),
        retractions=(*main.retractions, *fit_judgements(retractions, keys)),
    )
