"""Addresses of records: to which run a record belongs whose client later names only the record's own id."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from traces.core.canonical import digest
from traces.models import RecordAddress
from traces.storage import bulk


@dataclass(frozen=True, kw_only=True, slots=True)
class Address:
    """The recording of a record: the project and the external id of its run."""

    project: str
    external_id: str


def note(kind: str, external_ids: Mapping[str, str], *, project: str = "") -> None:
    """Note the runs of records, by record id. The first address of a record stays valid."""
    rows = [(_key(kind, id), project, external_id) for id, external_id in sorted(external_ids.items())]
    bulk.insert(RecordAddress, ("key", "project", "external_id"), rows, ignore_conflicts=True)


def find(kind: str, ids: Iterable[str]) -> dict[str, Address]:
    """Return the addresses that are known, by record id."""
    keys = {_key(kind, id): id for id in ids}
    result: dict[str, Address] = {}
    for chunk in bulk.chunks(keys):
        for row in RecordAddress.objects.filter(key__in=chunk):
            result[keys[row.key]] = Address(project=row.project, external_id=row.external_id)
    return result


def _key(kind: str, id: str) -> str:
    return digest([kind, id])
