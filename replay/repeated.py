"""Requests that come again: the idempotency key that is kept with what they made finds it."""

from typing import TypeVar

from django.db.models import QuerySet

from replay.models import Bisection, Experiment, Proof, ReplaySession
from replay.problems import SessionConflict
from traces.once import WHERE

Made = TypeVar("Made", ReplaySession, Experiment, Bisection, Proof)


def made_by(rows: QuerySet[Made], key: str | None, asked: str) -> Made | None:
    """What a request with this key made before; raises `SessionConflict` where that asked for something else."""
    found = rows.filter(idempotency_key=key).first() if key else None
    if found is not None and found.request_digest != asked:
        raise SessionConflict(f"the idempotency key {key!r} was used for another request", where=WHERE)
    return found
