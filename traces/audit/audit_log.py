"""Append to the audit log, in the transaction of the action; an import appends right after each batch of runs.

Entries contain ids and names, and no payloads.
"""

from collections.abc import Mapping
from typing import Final

from traces.core.json_types import JSONObject, JSONValue
from traces.core.vocabulary import AuditAction
from traces.models import AuditEntry

# Names of tools may be longer.
_LONGEST_SUBJECT: Final = 200
_LONGEST_NAME: Final = 120


def append(action: AuditAction, subject: object, *, by: str, **detail: JSONValue) -> None:
    """Append an entry; `by` is empty for the server itself."""
    append_many(action, {subject: detail}, by=by)


def append_many(action: AuditAction, details: Mapping[object, JSONObject], *, by: str) -> None:
    """Append an entry for each subject, in one statement; `by` is empty for the server itself."""
    AuditEntry.objects.bulk_create(
        AuditEntry(action=action, subject=str(subject)[:_LONGEST_SUBJECT], by=by[:_LONGEST_NAME], detail=detail)
        for subject, detail in details.items()
    )
