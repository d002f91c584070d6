"""Reading stored override profiles and policies, by name, digest or the beginning of one."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, Final

from django.db.models import Count, QuerySet

from replay.models import DocumentName, OverrideProfile, ReplayPolicy
from replay.saved_profiles.schemas import SHORTEST_DIGEST, Kind, PolicyList, ProfileList, StoredPolicy, StoredProfile
from traces.core.json_types import JSONObject, JSONValue
from traces.errors import NotFound

_HEX: Final = re.compile(rf"[0-9a-f]{{{SHORTEST_DIGEST},64}}")
_CALLED: Final[Mapping[Kind, str]] = {"profile": "override profile", "policy": "policy"}
# The fields of a request that may name what is stored.
_FIELDS: Final[Mapping[str, Kind]] = {"overrides": "profile", "policy": "policy"}


def insert_documents(body: JSONValue) -> JSONValue:
    """A request in which stored profiles and policies stand in the place of their names; raises `NotFound`."""
    if not isinstance(body, dict):
        return body
    named = {field: (kind, body[field]) for field, kind in _FIELDS.items() if isinstance(body.get(field), str)}
    return {**body, **{field: content(kind, str(ref), where=f"/{field}") for field, (kind, ref) in named.items()}}


def content(kind: Kind, ref: str, *, where: str = "") -> JSONObject:
    """The document behind a name or a digest."""
    row = _rows(kind).get(digest=find(kind, ref, where=where))
    held: JSONObject = row.profile if isinstance(row, OverrideProfile) else row.policy
    return held


def find(kind: Kind, ref: str, *, where: str = "") -> str:
    """The digest that a name, a digest or a unique beginning of one means; raises `NotFound`."""
    named = DocumentName.objects.filter(kind=kind, name=ref).values_list("digest", flat=True).first()
    if named is not None:
        return named
    begun = _rows(kind).filter(digest__startswith=ref) if _HEX.fullmatch(ref) else _rows(kind).none()
    found = list(begun.values_list("digest", flat=True)[:2])
    if len(found) == 1:
        return str(found[0])
    said = "several have a digest that begins with" if found else "there is none of the name or digest"
    raise NotFound(f"{_CALLED[kind]}: {said} {ref!r}", where=where)


def profile(ref: str) -> StoredProfile:
    """One stored profile; raises `NotFound`."""
    return _profiles([find("profile", ref)])[0]


def policy(ref: str) -> StoredPolicy:
    """One stored policy; raises `NotFound`."""
    return _policies([find("policy", ref)])[0]


def named_profiles() -> ProfileList:
    """Every profile with a name, by its first one."""
    return ProfileList(profiles=_profiles(_names("profile")))


def named_policies() -> PolicyList:
    """Every policy with a name, by its first one."""
    return PolicyList(policies=_policies(_names("policy")))


def _profiles(digests: Iterable[str]) -> list[StoredProfile]:
    return [StoredProfile(**columns, profile=row.profile) for row, columns in _described("profile", digests)]


def _policies(digests: Iterable[str]) -> list[StoredPolicy]:
    return [StoredPolicy(**columns, policy=row.policy) for row, columns in _described("policy", digests)]


def _described(kind: Kind, digests: Iterable[str]) -> list[tuple[Any, dict[str, Any]]]:
    """Rows with what their views have in common, in order of their names."""
    wanted = list(digests)
    names = _names(kind, wanted)
    rows = _rows(kind).filter(digest__in=wanted).annotate(used_by=Count("sessions"))
    described = [
        (
            row,
            {
                "digest": row.digest,
                "names": names.get(row.digest, []),
                "created_at": row.created_at,
                "used_by": row.used_by,
            },
        )
        for row in rows
    ]
    return sorted(described, key=lambda pair: (pair[1]["names"], pair[1]["digest"]))


def _names(kind: Kind, digests: Iterable[str] | None = None) -> dict[str, list[str]]:
    """Names in order, by digest."""
    rows = DocumentName.objects.filter(kind=kind)
    if digests is not None:
        rows = rows.filter(digest__in=list(digests))
    found: dict[str, list[str]] = defaultdict(list)
    for digest, name in rows.order_by("name").values_list("digest", "name"):
        found[digest].append(name)
    return found


def _rows(kind: Kind) -> QuerySet[Any]:
    return OverrideProfile.objects.all() if kind == "profile" else ReplayPolicy.objects.all()
