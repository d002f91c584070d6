"""Attach a finished control replay to its report."""

from uuid import UUID

from django.db import transaction

from diffing import services as diffs
from replay.models import UnchangedReplay


def attach(session_id: UUID) -> None:
    """Attach a compared control replay to its report, once; other sessions are ignored."""
    lane = UnchangedReplay.objects.select_related("session").filter(session_id=session_id, attached=False).first()
    if lane is None or lane.session.diff_id is None:
        return
    with transaction.atomic():
        if UnchangedReplay.objects.filter(id=lane.id, attached=False).update(attached=True):
            diffs.attach_lane(lane.diff_id, unchanged_id=lane.session.diff_id, session=session_id, method=lane.how)


def attach_missed() -> int:
    """Attach replays whose worker died after the comparison; returns their number."""
    waiting = UnchangedReplay.objects.filter(attached=False, session__diff_id__isnull=False)
    sessions = list(waiting.values_list("session_id", flat=True))
    for session in sessions:
        attach(session)
    return len(sessions)
