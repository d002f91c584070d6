"""List of all formats that can be imported."""

from typing import Final

from traces.importers import detection
from traces.importers.catalogue.agents import AGENTS
from traces.importers.catalogue.conversations import CONVERSATIONS
from traces.importers.catalogue.frameworks import FRAMEWORKS
from traces.importers.catalogue.tracing import TRACING
from traces.importers.files.errors import BadFile
from traces.importers.files.sample import Sample
from traces.importers.importer import Importer

# Bundles are read by `traces.imports.portable_runs`, which needs the store.
BUNDLE: Final = "bundle"
# Of formats with the same confidence, the first is chosen.
IMPORTERS: Final = (*TRACING, *FRAMEWORKS, *AGENTS, *CONVERSATIONS)


def detect(sample: Sample) -> Importer:
    """Return the importer with the highest confidence. Raises `BadFile` if there is none."""
    scores = [(importer.sniff(sample), importer) for importer in IMPORTERS]
    confidence, best = max(scores, key=lambda pair: pair[0])
    if confidence <= 0:
        raise detection.explain_rejection(sample)
    return best


def is_accepted(sample: Sample, format: str | None) -> bool:
    """True if the importer of a format, or any importer, has some confidence in a file."""
    importers = IMPORTERS if format is None else (get_importer(format),)
    return any(importer.sniff(sample) > 0 for importer in importers)


def get_importer(name: str) -> Importer:
    importer = next((importer for importer in IMPORTERS if importer.name == name), None)
    if importer is None:
        raise BadFile(
            f"“{name}” is not a format: choose from {', '.join([*(importer.name for importer in IMPORTERS), BUNDLE])}",
            "/format",
        )
    return importer
