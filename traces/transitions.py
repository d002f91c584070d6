"""Status changes of stored rows: compare-and-set along the allowed transitions. There is no other way."""

from typing import Any, TypeVar

from django.db.models import Model, QuerySet

from traces.core.statuses import Status
from traces.storage import statements

_Status = TypeVar("_Status", bound=Status)


def move(rows: QuerySet[Any], before: _Status, after: _Status, **columns: Any) -> int:
    """Move the rows that are still in `before` to `after`, and set other columns. Return how many moved.

    Raise `InvalidTransition`, and write nothing, if `after` may not follow.
    """
    return rows.filter(status=before).update(status=before.move_to(after), **columns)


def move_row(model: type[Model], id: object, before: _Status, after: _Status, **columns: object) -> bool:
    """Move one row like `move`, by a plain statement: for rows that change with every live call."""
    return statements.update(model, {"status": before.move_to(after), **columns}, {"id": id, "status": before})


def reach(rows: QuerySet[Any], after: _Status, **columns: Any) -> int:
    """Move the rows to `after` whose status allows it. Return how many moved."""
    before = [status for status in type(after) if after in status.successors]
    return rows.filter(status__in=before).update(status=after, **columns)
