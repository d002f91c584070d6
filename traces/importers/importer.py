"""Description of a format that can be imported: how its files are recognised and read."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from traces.core.recorded_run import RecordedRun
from traces.importers.common.run_builder import is_empty
from traces.importers.files.errors import BadFile
from traces.importers.files.sample import Sample
from traces.importers.files.source import Source


@dataclass(frozen=True, kw_only=True, slots=True)
class Importer:
    """One format.

    `parse` reads one file. `parse_together` reads all files of an import, for formats whose runs span several files.
    `by_line` returns whether every line of a JSON Lines file is a run, so that the file is read line by line.
    Runs without steps are refused unless `allows_empty`. A format without `has_ends` records no end of a run, so that
    no run is partial.
    `keys` returns the ids that a file shares with other files of the same runs. Without it, all files of an import
    are read at once.
    `parse_arrivals` reads the parts of runs that arrive over the network: unlike a file, they may contain only the
    judgements of a run. `has_ended` decides whether such a run has ended, for formats that do not mark the end.
    """

    name: str
    title: str
    sniff: Callable[[Sample], float]
    parse: Callable[[Source], Iterable[RecordedRun]] | None = None
    parse_together: Callable[[Sequence[Source]], Iterable[RecordedRun]] | None = None
    keys: Callable[[Source], set[str]] | None = None
    parse_arrivals: Callable[[Sequence[Source]], Iterable[RecordedRun]] | None = None
    has_ended: Callable[[RecordedRun], bool] | None = None
    by_line: Callable[[Sample], bool] = lambda sample: False
    allows_empty: bool = False
    has_ends: bool = True
    # Steps have ids of their own and name their parents by them, so that parts of a run can be united.
    has_span_ids: bool = False

    def runs(self, sources: Sequence[Source]) -> Iterable[RecordedRun]:
        """Yield the runs of these files; a run without steps becomes a problem of the last file."""
        for run in self._parse(sources):
            if self.allows_empty or not is_empty(run):
                yield run
            else:
                reason = f"this recording has no steps ({self.title})"
                sources[-1].problems.append(BadFile(reason, f"run {run.external_id}"))

    def states(self, sources: Sequence[Source]) -> Iterable[RecordedRun]:
        """Yield runs as far as they have arrived, also those without steps: more of them may follow."""
        return self._parse(sources) if self.parse_arrivals is None else self.parse_arrivals(sources)

    def _parse(self, sources: Sequence[Source]) -> Iterable[RecordedRun]:
        if self.parse_together is not None:
            yield from self.parse_together(sources)
        elif self.parse is not None:
            for source in sources:
                yield from self.parse(source)


def lines_are_runs(sample: Sample) -> bool:
    """Every line of a JSON Lines file is a run, for formats of which a file is a list of runs."""
    return sample.is_lines
