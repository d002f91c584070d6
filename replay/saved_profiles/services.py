"""Save override profiles and policies under names. Stored documents never change; names can move."""

from django.db import transaction

from replay.models import DocumentName, OverrideProfile, ReplayPolicy
from replay.overrides.policy import Policy
from replay.overrides.profile import OverrideProfile as Profile
from replay.planning.structural import refuse_structural
from replay.saved_profiles.schemas import Kind, SaveProfile
from traces.audit import audit_log
from traces.core.json_access import member
from traces.core.json_types import JSONValue
from traces.core.vocabulary import AuditAction
from traces.errors import NotFound
from traces.http.bodies import parse_body


def parse_profile(body: JSONValue) -> SaveProfile:
    """Parse a profile to save; raises `InvalidReplay` for impossible changes, and validation errors."""
    refuse_structural(member(body, "profile"), "/profile")
    return parse_body(SaveProfile, body)


def store_profile(profile: Profile) -> OverrideProfile:
    """Return the row of a profile, which equal profiles share."""
    document = profile.model_dump(mode="json", exclude_unset=True)
    row, _ = OverrideProfile.objects.get_or_create(digest=profile.digest, defaults={"profile": document})
    return row


def store_policy(policy: Policy) -> ReplayPolicy:
    """Return the row of a policy, which equal policies share."""
    document = policy.model_dump(mode="json", exclude_unset=True)
    row, _ = ReplayPolicy.objects.get_or_create(digest=policy.digest, defaults={"policy": document})
    return row


def save_profile(name: str, profile: Profile, *, author: str) -> str:
    """Give a profile a name; returns its digest."""
    with transaction.atomic():
        return _name("profile", name, store_profile(profile).digest, author)


def save_policy(name: str, policy: Policy, *, author: str) -> str:
    """Give a policy a name; returns its digest."""
    with transaction.atomic():
        return _name("policy", name, store_policy(policy).digest, author)


def forget_name(kind: Kind, name: str, *, author: str) -> None:
    """Delete a name but keep its document, because replays refer to it; raises `NotFound`."""
    with transaction.atomic():
        removed, _ = DocumentName.objects.filter(kind=kind, name=name).delete()
        if not removed:
            raise NotFound(f"no {kind} is named “{name}”")
        audit_log.append(AuditAction.NAME_REMOVED, name, by=author, kind=kind)


def _name(kind: Kind, name: str, digest: str, author: str) -> str:
    DocumentName.objects.update_or_create(kind=kind, name=name, defaults={"digest": digest, "by": author})
    audit_log.append(AuditAction.NAME_SET, name, by=author, kind=kind, digest=digest)
    return digest
