"""Identity of recordings that name none: their content."""

from traces.core.canonical import NotCanonical, digest
from traces.core.json_types import JSONValue
from traces.importers.files.errors import BadFile


def content_id(value: JSONValue, where: str) -> str:
    """A short digest: the same recording has it in every file."""
    try:
        return digest(value)[:16]
    except NotCanonical as error:
        raise BadFile(error.problem, f"{where}{error.where}") from error
