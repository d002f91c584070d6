"""The audit log: administrative actions, appended in the transaction of the action."""

from traces.core.json_types import JSONValue
from traces.core.vocabulary import AuditAction
from traces.models import AuditEntry


def append(action: AuditAction, subject: object, *, by: str, **detail: JSONValue) -> None:
    """Append an entry; `by` is empty for the server itself."""
    AuditEntry.objects.create(action=action, subject=str(subject), by=by, detail=detail)
