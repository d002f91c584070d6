"""Sessions of the gateway: the right to record into one run or be answered by one, as a signed part of the address.

An agent cannot send a token of this server with its calls, because it sends the provider's key. The SDK in it sends the
same text as its token, which is accepted for nothing else. Nothing is stored: every web process can check the
signature.
"""

import time
from dataclasses import dataclass
from datetime import timedelta
from functools import lru_cache
from typing import Final

import structlog
from django.core import signing
from django.core.cache import cache

log = structlog.get_logger("cockpit.gateway")
# Longer than agents work.
LIFETIME: Final = timedelta(days=7)
_SALT: Final = "forkpoint.gateway"
_CALLS: Final = "forkpoint.gateway.calls."
# The usual colon would have to be escaped in some clients' addresses.
_SEPARATOR: Final = "."


class UnknownSession(Exception):
    """A session that this server did not open, or that has expired."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Session:
    """The run that calls are recorded into or the rerun that answers them, and its start, in seconds since 1970.

    `has_pauses`: recorded streams are given with the pauses between their pieces. `attempt` is the start of the agent
    in a rerun, from 1.
    """

    run_id: str
    start: float
    is_rerun: bool = False
    has_pauses: bool = False
    attempt: int = 1


def sign(session: Session) -> str:
    """Return the session as a part of an address."""
    return _signer().sign_object([session.run_id, session.start, session.is_rerun, session.has_pauses, session.attempt])


def read(text: str) -> Session:
    """Return the session of an address; raise `UnknownSession`."""
    session = _verify(text)
    if time.time() - session.start > LIFETIME.total_seconds():
        raise UnknownSession
    return session


def find(token: str) -> Session | None:
    """Return the session that a token of a request is; None if it is none, or has expired."""
    try:
        return read(token)
    except UnknownSession:
        return None


# Once in each process, whether or not it succeeds: calls are also recorded while Redis is away.
@lru_cache(maxsize=1_000)
def note_calls(run_id: str) -> None:
    """Note that calls are recorded into a run, which is stored some time after them."""
    try:
        cache.set(_CALLS + run_id, True, LIFETIME.total_seconds())
    except Exception as error:  # noqa: BLE001  # Redis raises its own, and is not imported without need
        log.warning("gateway_calls_not_noted", error=f"{type(error).__name__}: {error}")


def has_calls(run_id: str) -> bool:
    """Return whether any process noted calls of a run; True if nobody knows."""
    try:
        return bool(cache.get(_CALLS + run_id))
    except Exception:  # noqa: BLE001  # as above
        return True


# Every call of an agent has the same one.
@lru_cache(maxsize=1_000)
def _verify(text: str) -> Session:
    """Return the session of an address whatever its age; raise `UnknownSession`."""
    try:
        run_id, start, is_rerun, has_pauses, attempt = _signer().unsign_object(text)
    except signing.BadSignature as error:
        raise UnknownSession from error
    return Session(run_id=run_id, start=start, is_rerun=is_rerun, has_pauses=has_pauses, attempt=attempt)


def _signer() -> signing.Signer:
    return signing.Signer(salt=_SALT, sep=_SEPARATOR)
