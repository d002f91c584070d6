"""List of all formats that can be imported."""

from typing import Final

from traces.importers import detection, rejections
from traces.importers.catalogue.agents import AGENTS
from traces.importers.catalogue.conversations import CONVERSATIONS
from traces.importers.catalogue.frameworks import FRAMEWORKS
from traces.importers.catalogue.tracing import TRACING
from traces.importers.files.errors import BadFile
from traces.importers.files.sample import Sample
from traces.importers.importer import Importer
from traces.importers.shapes import Shape, other_shapes

# Bundles are read by `traces.imports.portable_runs`, which needs the store.
BUNDLE: Final = "bundle"
# Of formats with the same confidence, the first is chosen.
IMPORTERS: Final = (*TRACING, *FRAMEWORKS, *AGENTS, *CONVERSATIONS)


def detect(sample: Sample) -> Importer:
    """Return the importer with the highest confidence. Raises `BadFile` if there is none."""
    confidence, best = _best_match(sample)
    if confidence <= 0:
        raise rejections.explain_rejection(sample)
    return best


def detect_shape(sample: Sample) -> tuple[Importer, Shape | None]:
    """Return the importer with the highest confidence, and the shape that it needs if not that of the file.

    Raises `BadFile` if no importer accepts the file in any shape.
    """
    confidence, best = _best_match(sample)
    best_shape = None
    for shape in other_shapes(sample) if confidence <= detection.LIKELY else ():
        shape_confidence, importer = _best_match(shape.sample(sample.name))
        if shape_confidence > confidence:
            confidence, best, best_shape = shape_confidence, importer, shape
    if confidence <= 0:
        raise rejections.explain_rejection(sample)
    return best, best_shape


def _best_match(sample: Sample) -> tuple[float, Importer]:
    """Return the highest confidence, and its importer."""
    return max(((importer.sniff(sample), importer) for importer in IMPORTERS), key=lambda pair: pair[0])


def is_accepted(sample: Sample, format: str | None) -> bool:
    """True if the importer of a format, or any importer, has some confidence in a file."""
    importers = IMPORTERS if format is None else (get_importer(format),)
    return any(importer.sniff(sample) > 0 for importer in importers)


def get_importer(name: str) -> Importer:
    importer = next((importer for importer in IMPORTERS if importer.name == name), None)
    if importer is None:
        names = ", ".join([*(importer.name for importer in IMPORTERS), BUNDLE])
        raise BadFile(f"“{name[:80]}” is not a format: choose from {names}", "/format")
    return importer
