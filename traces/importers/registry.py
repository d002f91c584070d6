"""Every format that can be imported, in one list."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from traces.importers import (
    atif,
    chat,
    claude_code,
    codex,
    events,
    krabs,
    krabs_db,
    kurral,
    langfuse,
    langsmith,
    otlp,
    prela,
    recognition,
)  # fmt: skip
from traces.importers.messages import is_message
from traces.importers.problems import BadFile
from traces.importers.sample import Sample
from traces.importers.source import Source
from traces.recording import RecordedRun

BUNDLE: Final = "bundle"  # read by `traces.bundles`, which needs the store


@dataclass(frozen=True, kw_only=True, slots=True)
class Importer:
    """One format.

    `parse` reads one file; `parse_together` reads all files of one import, where one run is spread over several.
    `by_line` says that in this JSON Lines file every line is a run, so that the file need not be held in memory.
    """

    name: str
    title: str
    sniff: Callable[[Sample], float]
    parse: Callable[[Source], Iterable[RecordedRun]] | None = None
    parse_together: Callable[[Sequence[Source]], Iterable[RecordedRun]] | None = None
    by_line: Callable[[Sample], bool] = lambda sample: False

    def runs(self, sources: Sequence[Source]) -> Iterable[RecordedRun]:
        """The runs of these files, one by one."""
        if self.parse_together is not None:
            yield from self.parse_together(sources)
        elif self.parse is not None:
            for source in sources:
                yield from self.parse(source)


def detect(sample: Sample) -> Importer:
    """The importer that is surest of the file; raises `BadFile` with what the file is when none is."""
    scored = [(importer.sniff(sample), importer) for importer in IMPORTERS]
    confidence, best = max(scored, key=lambda pair: pair[0])
    if confidence <= 0:
        raise recognition.unknown(sample)
    return best


def named(name: str) -> Importer:
    found = next((importer for importer in IMPORTERS if importer.name == name), None)
    if found is None:
        raise BadFile(
            f"{name!r} is no format: choose from {', '.join([*(each.name for each in IMPORTERS), BUNDLE])}", "/format"
        )
    return found


def _krabs(source: Source) -> Iterable[RecordedRun]:
    return krabs_db.parse(source) if source.data.startswith(krabs_db.MAGIC) else krabs.parse(source)


def _lines_are_runs(sample: Sample) -> bool:
    return sample.is_lines


def _lines_are_transcripts(sample: Sample) -> bool:
    return sample.is_lines and not any(is_message(value) for value in sample.values)


IMPORTERS: Final = (
    Importer(name="forkpoint", title="Forkpoint events", sniff=recognition.is_events, parse=events.parse),
    Importer(
        name="kurral",
        title="Kurral artifacts",
        sniff=recognition.is_kurral,
        parse=kurral.parse,
        by_line=_lines_are_runs,
    ),
    Importer(name="prela", title="Prela traces", sniff=recognition.is_prela, parse_together=prela.parse),
    Importer(name="otlp", title="OpenTelemetry (OTLP)", sniff=recognition.is_otlp, parse_together=otlp.parse),
    Importer(name="langfuse", title="Langfuse ingestion", sniff=recognition.is_langfuse, parse_together=langfuse.parse),
    Importer(name="langsmith", title="LangSmith runs", sniff=recognition.is_langsmith, parse_together=langsmith.parse),
    Importer(name="krabs", title="Krabs telemetry and sessions", sniff=recognition.is_krabs, parse=_krabs),
    Importer(
        name="claude-code", title="Claude Code sessions", sniff=recognition.is_claude_code, parse=claude_code.parse
    ),
    Importer(name="codex", title="Codex rollouts", sniff=recognition.is_codex, parse=codex.parse),
    Importer(
        name="atif",
        title="ATIF trajectories",
        sniff=recognition.is_atif,
        parse_together=atif.parse,
        by_line=_lines_are_runs,
    ),
    Importer(
        name="chat",
        title="Chat transcripts",
        sniff=recognition.is_chat,
        parse=chat.parse,
        by_line=_lines_are_transcripts,
    ),
)
