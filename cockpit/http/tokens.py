"""Create, find and revoke API tokens."""

import hashlib
from contextlib import suppress
from datetime import timedelta
from typing import cast
from uuid import UUID

from django.db import DatabaseError, IntegrityError, transaction
from django.db.models import Q
from django.utils import timezone

from cockpit.http.schemas import Role, TokenList, TokenRequest, TokenView
from cockpit.models import ApiToken
from traces import notify
from traces.audit import audit_log
from traces.core.vocabulary import AuditAction
from traces.errors import ProblemError
from traces.http.bodies import parse_body
from traces.http.idempotency import Key, derive_secret, make_once

PREFIX = "fp_"
_KIND = "token"
# The time of last use is only informative; updating it on each request would turn every read into a write.
USE_NOTED_EVERY = timedelta(minutes=1)


class NameTaken(ProblemError):
    """Token names must be unique, because lists and audit records identify tokens by name."""

    code = "conflict"
    status = 409


def _digest(secret: str) -> str:
    # A plain hash is sufficient, because the secret has 256 random bits.
    return hashlib.sha256(secret.encode()).hexdigest()


def create(*, name: str, role: Role) -> str:
    """Create a token and return its secret, which cannot be retrieved later; raise `InvalidBody` or `NameTaken`."""
    secret = issue(parse_body(TokenRequest, {"name": name, "role": role}), by="local").secret
    assert secret is not None
    return secret


def issue(request: TokenRequest, key: Key | None = None, *, by: str = "") -> TokenView:
    """Create a token with its secret. Only repeating the request with the same key returns the secret again."""
    content = request.model_dump(mode="json")
    secret = PREFIX + derive_secret(_KIND, key, content)

    def make() -> str:
        name = request.name.strip()
        try:
            with transaction.atomic():
                token = ApiToken.objects.create(name=name, role=request.role, digest=_digest(secret))
                audit_log.append(AuditAction.TOKEN_CREATED, token.id, by=by, name=name, role=request.role)
                return str(token.id)
        except IntegrityError as error:
            detail = f"A token named “{name}” is in use: choose another name, or revoke that token first."
            raise NameTaken(detail, where="/name") from error

    return _view(ApiToken.objects.get(id=make_once(_KIND, key, content, make)), secret)


def in_force() -> TokenList:
    """Return all valid tokens, newest first."""
    return TokenList(tokens=[_view(token) for token in ApiToken.objects.filter(revoked_at=None).order_by("-id")])


def _view(token: ApiToken, secret: str | None = None) -> TokenView:
    return TokenView(
        id=token.id,
        name=token.name,
        role=cast(Role, token.role),
        created_at=token.created_at,
        last_used_at=token.last_used_at,
        secret=secret,
    )


def find(secret: str) -> ApiToken | None:
    return _note_use(ApiToken.objects.filter(digest=_digest(secret), revoked_at=None).first())


def find_by_id(token_id: str | UUID) -> ApiToken | None:
    return _note_use(ApiToken.objects.filter(id=token_id, revoked_at=None).first())


def revoke(token_id: UUID, *, by: str = "") -> bool:
    """Revoke a token; return False if it was not valid."""
    with transaction.atomic():
        is_revoked = ApiToken.objects.filter(id=token_id, revoked_at=None).update(revoked_at=timezone.now())
        if is_revoked:
            audit_log.append(AuditAction.TOKEN_REVOKED, token_id, by=by)
            notify.touch(notify.ACCESS)
    return bool(is_revoked)


def any_in_force() -> bool:
    return ApiToken.objects.filter(revoked_at=None).exists()


def _note_use(token: ApiToken | None) -> ApiToken | None:
    if token is not None:
        now = timezone.now()
        stale = Q(last_used_at=None) | Q(last_used_at__lt=now - USE_NOTED_EVERY)
        if token.last_used_at is None or token.last_used_at < now - USE_NOTED_EVERY:
            # On a full disk or a read-only database, one can still read.
            with suppress(DatabaseError), transaction.atomic():
                ApiToken.objects.filter(stale, id=token.id).update(last_used_at=now)
    return token
