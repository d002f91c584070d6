"""Content digests as identifiers of recordings that have none."""

from traces.core.canonical import NotCanonical, digest
from traces.core.json_types import JSONValue
from traces.importers.files.errors import BadFile


def content_id(value: JSONValue, location: str) -> str:
    """Return a short digest, equal for the same recording in any file."""
    try:
        return digest(value)[:16]
    except NotCanonical as error:
        raise BadFile(error.problem, f"{location}{error.pointer}") from error
