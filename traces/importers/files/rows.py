"""Rows of exports: single, in lists, and in the objects that an API or an export puts around such lists."""

from collections.abc import Callable, Iterable, Iterator, Sequence

from traces.core.json_access import has_list
from traces.core.json_types import JSONObject, JSONValue
from traces.importers.files.errors import BadFile
from traces.importers.files.json_reader import item_by_item, require_object


@item_by_item
def read_rows(
    value: JSONValue, location: str, *, holders: Sequence[str], is_row: Callable[[JSONObject], bool], refusal: str
) -> Iterator[tuple[JSONObject, str]]:
    """Yield the rows in a value with their locations.

    What is no row has a list of them under one of the names in `holders`; raise `BadFile` with the `refusal` otherwise.
    """
    body = require_object(value, location)
    if is_row(body):
        yield body, location
        return
    name = next((name for name in holders if has_list(body, name)), None)
    if name is None:
        raise BadFile(refusal, location)
    yield from read_rows(body[name], f"{location}/{name}", holders=holders, is_row=is_row, refusal=refusal)


def group_rows(
    rows: Iterable[JSONObject], *, run_of: Callable[[JSONObject], str], id_of: Callable[[JSONObject], str]
) -> dict[str, dict[str, JSONObject]]:
    """Return rows by their run and their id; one without a run is its own. Of rows with one id, the last one counts."""
    groups: dict[str, dict[str, JSONObject]] = {}
    for row in rows:
        groups.setdefault(run_of(row) or id_of(row), {})[id_of(row)] = row
    return groups
