"""Share links: create, list, open and revoke them, and check a token and its terms."""

from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Final
from uuid import UUID

from django.conf import settings
from django.db.models import F, Q

from diffing.errors import SharingOff
from diffing.models import Audience, DiffReport, ShareLink
from diffing.schemas.report import DiffStatus
from diffing.schemas.share_links import ShareList, ShareRequest, ShareView
from traces.core.ids import new_id
from traces.core.json_types import JSONValue
from traces.errors import NotFound
from traces.http.idempotency import Key, derive_secret, make_once

_KIND: Final = "share"


def create_link(
    *, diff_id: UUID, share_request: ShareRequest | None = None, creator: str = "", key: Key | None = None
) -> tuple[ShareLink, str]:
    """Create a share link; its token is returned again only for the same idempotency key."""
    if not DiffReport.objects.filter(id=diff_id, status=DiffStatus.READY).exists():
        raise NotFound(f"there is no diff {diff_id}")
    if not settings.SHARING:
        raise SharingOff("sharing is disabled: the operator set FORKPOINT_SHARING to off")
    terms = share_request or ShareRequest()
    request_key: JSONValue = [str(diff_id), terms.model_dump(mode="json", exclude_unset=True)]
    token = f"fps_{derive_secret(_KIND, key, request_key)}"
    lifetime = terms.expires_in_s and timedelta(seconds=terms.expires_in_s)

    def make() -> str:
        link = ShareLink.objects.create(
            diff_id=diff_id,
            token_hash=_token_hash(token),
            created_by=creator,
            audience=terms.audience,
            people=terms.people,
            max_views=terms.max_views,
            expires_at=datetime.now(UTC) + lifetime if lifetime else None,
        )
        return str(link.id)

    return ShareLink.objects.get(id=make_once(_KIND, key, request_key, make)), token


def list_links(diff_id: UUID) -> ShareList:
    """The links to a report, newest first."""
    links = ShareLink.objects.filter(diff=diff_id).order_by("-id")
    return ShareList(enabled=settings.SHARING, shares=[link_view(link, None) for link in links])


def link_view(link: ShareLink, url: str | None) -> ShareView:
    """A link as the API shows it; `url`: its address, known only when it is created."""
    return ShareView(
        id=link.id,
        diff=link.diff_id,
        url=url,
        created_at=link.created_at,
        created_by=link.created_by,
        audience=link.audience,
        people=link.people,
        expires_at=link.expires_at,
        revoked_at=link.revoked_at,
        max_views=link.max_views,
        views=link.views,
        opens=settings.SHARING and _is_open(link, datetime.now(UTC)),
    )


def open_link(token: str, viewer: str = "") -> UUID:
    """Count a view, and return the report that a token opens for a viewer.

    Every other token gets the same error by the same two statements, so that the response does not reveal whether the
    token is unknown, expired, revoked, used up, for another audience, or disabled with all links.
    """
    link = link_for(token, viewer)
    # Checked in the update itself, because two viewers may use the last view at the same time.
    has_views_left = Q(max_views=None) | Q(views__lt=F("max_views"))
    viewable = ShareLink.objects.filter(has_views_left, id=link.id if link else new_id(), revoked_at=None)
    if not viewable.update(views=F("views") + 1) or link is None:
        raise NotFound("this share link is invalid, expired, or not meant for you; ask its owner for a new one")
    return link.diff_id


def revoke_link(share_id: UUID) -> ShareLink:
    """Revoke a link permanently; revoking it again changes nothing."""
    ShareLink.objects.filter(id=share_id, revoked_at=None).update(revoked_at=datetime.now(UTC))
    link = ShareLink.objects.filter(id=share_id).first()
    if link is None:
        raise NotFound(f"there is no share link {share_id}")
    return link


def link_for(token: str, viewer: str) -> ShareLink | None:
    """The link of a token if it opens for this viewer; an empty viewer is not signed in."""
    link = ShareLink.objects.filter(token_hash=_token_hash(token)).first()
    if link is None or not settings.SHARING or not _is_open(link, datetime.now(UTC)):
        return None
    return link if link.audience == Audience.ANYONE or _is_in_audience(link, viewer) else None


def _is_open(link: ShareLink, now: datetime) -> bool:
    """True if a link is neither expired, nor revoked, nor used up."""
    is_expired = link.expires_at is not None and link.expires_at <= now
    is_used_up = link.max_views is not None and link.views >= link.max_views
    return link.revoked_at is None and not is_expired and not is_used_up


def _is_in_audience(link: ShareLink, viewer: str) -> bool:
    return bool(viewer) and (link.audience == Audience.SIGNED_IN or viewer in link.people)


def _token_hash(token: str) -> str:
    return sha256(token.encode(errors="replace")).hexdigest()
