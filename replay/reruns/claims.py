"""Take recorded calls for an agent that runs again, where nothing changes them."""

from datetime import UTC, datetime
from typing import Any, Final
from uuid import UUID

from django.db import connection, models, transaction

from replay.models import Rerun, RerunCall
from traces.core.vocabulary import Label, Reason

# The row of the rerun is locked as for any other call. Values that were renamed would have to be renamed in the answer,
# and a fork that is started again may have answered the call before.
_CLAIM: Final = """
INSERT INTO replay_reruncall (rerun_id, sequence_no, label, reason, detail, attempt, owner, beat, at)
SELECT id, %s, %s, %s, '{}', attempt, '', 0, %s
FROM replay_rerun
WHERE id = %s AND ended_at IS NULL AND names = '[]' AND attempt = 1 AND (profile_id IS NULL OR fork_sequence_no > %s)
"""


def claim(rerun_id: UUID, no: int) -> int | None:
    """Store that a recorded call is answered as recorded, and return its id.

    Return None, and store nothing, if it was taken before, or if the rerun needs a closer look: it has ended, forks
    before this call, was started again, or has renamed a value.
    One statement in raw SQL, because most calls of an agent are this: the ORM would take several times as long.
    """
    at = _column_value(RerunCall, "at", datetime.now(UTC))
    values = [no, Label.EXACT, Reason.SOURCE_OUTPUT_REUSED, at, _column_value(Rerun, "id", rerun_id), no]
    lock = connection.ops.for_update_sql() if connection.features.has_select_for_update else ""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"{_CLAIM}{lock} ON CONFLICT DO NOTHING RETURNING id", values)
        row = cursor.fetchone()
    return row and int(row[0])


def _column_value(model: type[models.Model], name: str, value: Any) -> Any:
    field = model._meta.get_field(name)
    assert isinstance(field, models.Field)
    return field.get_db_prep_value(value, connection)
