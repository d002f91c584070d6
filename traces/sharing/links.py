"""Share links: create, list, open and revoke them, and check a token, its terms and the ticket of a view."""

from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Final, NamedTuple
from uuid import UUID

from django.conf import settings
from django.core.signing import BadSignature, TimestampSigner
from django.db import transaction
from django.db.models import F, Q

from traces.audit import audit_log
from traces.core.ids import new_id
from traces.core.json_types import JSONValue
from traces.core.vocabulary import AuditAction, ShareAudience, ShareKind
from traces.errors import NotFound, ProblemError
from traces.http.idempotency import Key, derive_secret, make_once
from traces.models import ShareLink
from traces.runs import deleted_runs
from traces.sharing.schemas import ShareList, ShareRequest, ShareView

# How long a page that was opened can read its subject.
TICKET_LIFETIME: Final = timedelta(days=1)
_IDEMPOTENCY_KIND: Final = "share"
_SALT: Final = "forkpoint.share"
# Kinds whose subject is a run.
_RUNS: Final = frozenset({ShareKind.RUN, ShareKind.TREE})


class SharingOff(ProblemError):
    """Sharing is disabled on this server."""

    code = "conflict"
    status = 409


class Subject(NamedTuple):
    """What a link opens; `run` names it in logs.

    `id` is that of a run, the root of a tree, a session, a report or an experiment.
    """

    kind: ShareKind
    id: UUID
    run: UUID


def create_link(
    subject: Subject, share_request: ShareRequest, *, creator: str = "", key: Key | None = None
) -> tuple[ShareLink, str]:
    """Create a share link; its token is returned again only for the same idempotency key."""
    if not settings.SHARING:
        raise SharingOff("sharing is disabled: the operator set FORKPOINT_SHARING to off")
    terms = share_request.model_dump(mode="json", exclude_unset=True)
    request_key: JSONValue = [subject.kind, str(subject.id), terms]
    token = f"fps_{derive_secret(_IDEMPOTENCY_KIND, key, request_key)}"
    lifetime = share_request.expires_in_s and timedelta(seconds=share_request.expires_in_s)

    def make() -> str:
        if subject.kind in _RUNS:
            deleted_runs.hold([subject.id])
        link = ShareLink.objects.create(
            kind=subject.kind,
            subject=subject.id,
            token_hash=_token_hash(token),
            created_by=creator,
            audience=share_request.audience,
            people=share_request.people,
            max_views=share_request.max_views,
            allows_comments=share_request.allows_comments,
            expires_at=datetime.now(UTC) + lifetime if lifetime else None,
        )
        _append(AuditAction.SHARE_CREATED, link, by=creator, audience=link.audience, run=str(subject.run))
        return str(link.id)

    return ShareLink.objects.get(id=make_once(_IDEMPOTENCY_KIND, key, request_key, make)), token


def list_links(subject: Subject) -> ShareList:
    """The links to a subject, newest first."""
    links = ShareLink.objects.filter(kind=subject.kind, subject=subject.id).order_by("-id")
    return ShareList(enabled=settings.SHARING, shares=[link_view(link, None) for link in links])


def link_view(link: ShareLink, url: str | None) -> ShareView:
    """A link as the API shows it; `url`: its address, known only when it is created."""
    return ShareView(
        id=link.id,
        kind=ShareKind(link.kind),
        subject=link.subject,
        diff=link.subject if link.kind == ShareKind.DIFF else None,
        url=url,
        created_at=link.created_at,
        created_by=link.created_by,
        audience=ShareAudience(link.audience),
        people=link.people,
        expires_at=link.expires_at,
        revoked_at=link.revoked_at,
        max_views=link.max_views,
        views=link.views,
        allows_comments=link.allows_comments,
        opens=settings.SHARING and _is_in_force(link) and _has_views_left(link),
    )


def open_link(token: str, viewer: str, is_visible: Callable[[ShareLink], bool]) -> ShareLink:
    """Count a view, and return the link that a token opens for a viewer.

    Every other token gets the same error by the same two statements, so that the response does not reveal whether the
    token is unknown, expired, revoked, used up, for another audience, or disabled with all links. A link whose subject
    is not visible, because it was deleted, keeps its views for when it is restored.
    """
    link = link_for(token, viewer)
    if link is not None and not is_visible(link):
        link = None
    # Checked in the update itself, because two viewers may use the last view at the same time.
    has_views_left = Q(max_views=None) | Q(views__lt=F("max_views"))
    viewable = ShareLink.objects.filter(has_views_left, id=link.id if link else new_id(), revoked_at=None)
    if not viewable.update(views=F("views") + 1) or link is None:
        raise closed()
    return link


def closed() -> NotFound:
    """The error of every link that does not open, whatever the reason."""
    return NotFound("this share link is invalid, expired, or not meant for you; ask its owner for a new one")


def link_for(token: str, viewer: str) -> ShareLink | None:
    """The link of a token if it opens for this viewer; an empty viewer is not signed in."""
    link = _readable_link(token, viewer)
    return link if link and _has_views_left(link) else None


def issue_ticket(link: ShareLink) -> str:
    """A ticket for the view that was just counted: requests with it are no further views."""
    return _signer().sign(str(link.id))


def link_of_ticket(token: str, ticket: str, viewer: str) -> ShareLink | None:
    """The link of a token that a viewer opened with this ticket; views may be used up since."""
    try:
        # First, because a guess should cost no query.
        link_id = _signer().unsign(ticket, max_age=TICKET_LIFETIME)
    except BadSignature:
        return None
    link = _readable_link(token, viewer)
    return link if link and str(link.id) == link_id else None


def revoke_link(share_id: UUID, *, by: str) -> ShareLink:
    """Revoke a link permanently; revoking it again changes nothing."""
    with transaction.atomic():
        is_revoked = ShareLink.objects.filter(id=share_id, revoked_at=None).update(revoked_at=datetime.now(UTC))
        link = ShareLink.objects.filter(id=share_id).first()
        if link is None:
            raise NotFound(f"there is no share link {share_id}")
        if is_revoked:
            _append(AuditAction.SHARE_REVOKED, link, by=by)
    return link


def end_links(subjects: Iterable[UUID]) -> None:
    """Delete the links to deleted subjects."""
    ShareLink.objects.filter(subject__in=[*subjects]).delete()


def shared_subjects(kind: ShareKind, ids: Iterable[UUID]) -> set[UUID]:
    """Those of these subjects that have a link that was not revoked."""
    links = ShareLink.objects.filter(kind=kind, subject__in=[*ids], revoked_at=None)
    return set(links.values_list("subject", flat=True))


def _readable_link(token: str, viewer: str) -> ShareLink | None:
    """The link of a token that is in force and meant for this viewer; its views may be used up."""
    link = ShareLink.objects.filter(token_hash=_token_hash(token)).first()
    if link is None or not settings.SHARING or not _is_in_force(link):
        return None
    return link if link.audience == ShareAudience.ANYONE or _is_in_audience(link, viewer) else None


def _is_in_force(link: ShareLink) -> bool:
    """True if a link is neither expired nor revoked."""
    is_expired = link.expires_at is not None and link.expires_at <= datetime.now(UTC)
    return link.revoked_at is None and not is_expired


def _has_views_left(link: ShareLink) -> bool:
    return link.max_views is None or link.views < link.max_views


def _is_in_audience(link: ShareLink, viewer: str) -> bool:
    return bool(viewer) and (link.audience == ShareAudience.SIGNED_IN or viewer in link.people)


def _signer() -> TimestampSigner:
    return TimestampSigner(salt=_SALT)


def _token_hash(token: str) -> str:
    return sha256(token.encode(errors="replace")).hexdigest()


def _append(action: AuditAction, link: ShareLink, *, by: str, **detail: JSONValue) -> None:
    """Append to the audit log, under the subject."""
    audit_log.append(action, link.subject, by=by, kind=link.kind, link=str(link.id), **detail)
